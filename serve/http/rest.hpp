#pragma once // SPDX-License-Identifier: Apache-2.0

// The paths of the Open Inference Protocol's REST form, as functions from a request to a reply: no sockets here.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/service.hpp"
#include "core/token.hpp"

namespace octet::serve {

struct http_request {
    /// Fields of the header, "" where there is none; and the client's address.
    std::string_view method, target, authorization, json_size, trace, peer;
    std::string_view body;
    std::shared_ptr<const void> keep;      ///< owner of the body's bytes
    receive_budget::share *held = nullptr; ///< the body's share of memory; null: there is no body
};

struct http_reply {
    int status = 200;
    std::string type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string text;
    std::vector<byte_range> parts; ///< follow the text
    std::shared_ptr<const void> keep;
};

/// {"error": "…"} with the status of the outcome, and with 503 the seconds after which to try again.
http_reply metrics_reply(std::string text);
http_reply error_reply(const refusal &r, int retry_after = 1);

class rest {
public:
    rest(service &s, const token &t) : service_(s), token_(t) {}

    /// Returns the largest allowed body of a request of which only the header has arrived: an inference's is
    /// bounded by the server's limit, others are small. Throws refusal for a request that needs a token and
    /// has none.
    std::size_t most_body_bytes(const http_request &head) const;

    /// The receivers of a reply.
    struct answering {
        std::function<void(http_reply &&)> done;
        /// An inference that was read elsewhere waits or runs from now on.
        std::function<void(std::shared_ptr<const service::call>)> begun;
        /// Runs a function where replies are written: there the others are called.
        std::function<void(std::function<void()>)> later;
    };
    /// Calls `done` once: now, or through `later`; then what it waits for is returned.
    std::shared_ptr<const service::call> handle(const http_request &request, const answering &to) const;
    /// For a request that was never complete.
    http_reply refuse(const http_request &request, const refusal &r) const;

private:
    std::shared_ptr<const service::call> infer(const http_request &request, const std::string &model,
                                               const std::string &version, const answering &to) const;
    /// Does what throws, and replies if it throws.
    template <typename Function>
    std::shared_ptr<const service::call> guarded(const http_request &request, const std::string &model,
                                                 const answering &to, const Function &work) const;
    void require_token(const http_request &request, const std::vector<std::string> &path) const;
    http_reply model(const http_request &request, const std::vector<std::string> &path) const;
    http_reply answer(const http_request &request, const std::vector<std::string> &path) const;
    http_reply repository(const http_request &request, const std::vector<std::string> &path) const;

    service &service_;
    const token &token_;
};

} // namespace octet::serve
