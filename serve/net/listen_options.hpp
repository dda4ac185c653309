#pragma once // SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace octet::serve {

struct listen_options {
    std::string address = "127.0.0.1:8000"; ///< port 0: any that is free
    int threads = 1;
    std::size_t most_connections = 1024;
    std::size_t bytes_of_connection = 0; ///< memory of an idle connection; counts in the memory for requests
    std::string full;                    ///< reply, without TLS, to a connection beyond `most_connections`
    std::string protocol;                ///< protocol that TLS announces: http/1.1 or h2
    std::size_t most_header_bytes = 16 << 10, most_body_bytes = std::size_t(64) << 20;
    std::chrono::milliseconds idle{60'000}; ///< without a request
    /// Bounds for a whole request and a whole reply: slow clients.
    std::chrono::milliseconds receive{30'000}, send{30'000};
    std::string certificate, key; ///< files in PEM: TLS
    /// Authority of clients' certificates, which are required then.
    std::string client_authority;
    std::function<void(int)> count = [](int) {}; ///< is told of connections: 1 more, or -1
};

} // namespace octet::serve
