#pragma once // SPDX-License-Identifier: Apache-2.0

// HTTP/1.1 with Boost.Beast: connections, limits, time limits and TLS. What a request means is rest.hpp's.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "http/rest.hpp"

namespace octet::serve {

struct http_options {
    std::string address = "127.0.0.1:8000"; ///< port 0: any that is free
    int threads = 1;
    std::size_t most_connections = 1024;
    std::size_t most_header_bytes = 16 << 10, most_body_bytes = std::size_t(64) << 20;
    std::chrono::milliseconds idle{60'000};                  ///< between requests
    std::chrono::milliseconds receive{30'000}, send{30'000}; ///< of a whole request and reply: slow clients
    std::string certificate, key;                            ///< files in PEM: TLS
    std::string client_authority;                            ///< of clients, which need a certificate then
};

/// Throws octet::error where these are no certificate, its key and an authority.
void check_certificate(const std::string &certificate, const std::string &key,
                       const std::string &client_authority);

class http_server {
public:
    using handler =
        std::function<std::shared_ptr<const service::call>(const http_request &, const rest::answering &)>;
    struct handlers {
        /// How many bytes the body of a request with this header may have. Throws refusal where it may not be asked.
        std::function<std::size_t(const http_request &)> most_body_bytes;
        handler handle;
        std::function<http_reply(const http_request &, const refusal &)> refuse;
        std::function<void(const service::call &, bool is_expired)>
            give_up;                          ///< the client has left, or its time is over
        std::function<void(int)> connections; ///< how many more, or -1
    };

    /// Listens and serves. Throws std::exception with a sentence.
    http_server(const http_options &options, receive_budget &budget, handlers h);
    ~http_server();
    unsigned short port() const;
    /// The certificate's files are read anew, for connections from now on.
    void reload_certificate();
    /// From now on a reply is the last one of its connection.
    void leave();
    /// After `grace` no more connections are taken, and those are closed that wait for a request then, the others after their
    /// reply. What was received by then is answered.
    void drain(std::chrono::milliseconds grace);
    bool is_idle() const; ///< no connection is left, and none is taken

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace octet::serve
