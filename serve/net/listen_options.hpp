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
    std::size_t bytes_of_connection = 0; ///< that an idle one takes; they count in the memory for requests
    std::string full;                    ///< what one more is told, in clear
    std::string protocol;                ///< of TLS: http/1.1 or h2
    std::size_t most_header_bytes = 16 << 10, most_body_bytes = std::size_t(64) << 20;
    std::chrono::milliseconds idle{60'000};                  ///< without a request
    std::chrono::milliseconds receive{30'000}, send{30'000}; ///< of a whole request and reply: slow clients
    std::string certificate, key;                            ///< files in PEM: TLS
    std::string client_authority;                            ///< of clients, which need a certificate then
    std::function<void(int)> count = [](int) {};             ///< how many connections more, or -1
};

} // namespace octet::serve
