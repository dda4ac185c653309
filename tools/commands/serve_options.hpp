#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "base/options.hpp"
#include "server_options.hpp"

namespace octet::tools {

/// The options of `octet serve`, as they are typed.
struct serve_options {
    serve::server_options server;
    std::vector<std::string> files;
    bool is_demo = false;
    long long poll = 5000, idle = 60'000, receive = 30'000, leave = 0, drain = 30'000, body_mib = 64,
              total_mib = 0, connections = 1024, load = 300'000;
    std::string model_control = "poll";
    machine_options machine;
};

} // namespace octet::tools
