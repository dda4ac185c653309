#pragma once // SPDX-License-Identifier: Apache-2.0

// HTTP/1.1 on a listener: limits, time limits and framing. What a request means is rest.hpp's.

#include <functional>
#include <memory>

#include "http/cors.hpp"
#include "http/rest.hpp"
#include "net/listener.hpp"

namespace octet::serve {

struct http_handlers {
    /// How many bytes the body of a request with this header may have. Throws refusal where it may not be asked.
    std::function<std::size_t(const http_request &)> most_body_bytes;
    std::function<std::shared_ptr<const service::call>(const http_request &, const rest::answering &)> handle;
    std::function<http_reply(const http_request &, const refusal &)> refuse;
    std::function<void(const service::call &, bool is_expired)>
        give_up;    ///< the client has left, or its time is over
    cors origins{}; ///< of pages that may use the server
};

/// Listens and serves. Throws std::exception with a sentence.
std::unique_ptr<listener> listen_http(listen_options options, receive_budget &budget, http_handlers h);

} // namespace octet::serve
