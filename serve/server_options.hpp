#pragma once

// What an operator can choose, without what the server is made of.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "core/model_source.hpp"

namespace octet::serve {

struct server_options {
    std::string models;                ///< folder; "" for none
    std::vector<model_source> sources; ///< models that stay
    std::string http = "0.0.0.0:8000", grpc = "0.0.0.0:8001",
                metrics = "0.0.0.0:8002"; ///< "off": not that one
    int workers = 0;                      ///< batches at once; 0: a core each
    int io_threads = 0;                   ///< 0: one for two cores
    bool is_pinned = false;
    std::chrono::milliseconds poll{5000}; ///< 0: the folder is read on SIGHUP only
    std::size_t most_connections = 1024, most_body_bytes = std::size_t(64) << 20,
                most_header_bytes = 16 << 10;
    std::size_t most_total_bytes = 0; ///< 0: a quarter of the memory there is, 1 GiB at most
    std::chrono::milliseconds idle{60'000}, receive{30'000};
    std::string certificate, key, token_file, access_log;
    bool may_change_models = false, may_profile = false;
    std::chrono::milliseconds leave{0}; ///< after SIGTERM: not ready, but serving, while balancers notice
    std::chrono::milliseconds most_drain{30'000}; ///< then: until what was accepted is finished
};

} // namespace octet::serve
