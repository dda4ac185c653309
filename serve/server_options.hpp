#pragma once // SPDX-License-Identifier: Apache-2.0

// The options that an operator chooses; nothing of the server's own parts.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "core/model_source.hpp"

namespace octet::serve {

struct server_options {
    std::string models;                ///< folder; "" for none
    std::vector<model_source> sources; ///< models that stay
    std::string http = "127.0.0.1:8000", grpc = "127.0.0.1:8001",
                metrics = "127.0.0.1:8002"; ///< "off": not that one
    int workers = 0;                        ///< batches at once; 0: a core each
    int io_threads = 0;                     ///< 0: one for two cores
    bool is_pinned = false;
    std::chrono::milliseconds poll{5000};    ///< 0: the folder is read on SIGHUP only
    std::chrono::milliseconds load{300'000}; ///< bound of the time that loading a model takes
    std::string trial_program;               ///< that tries a model first (core/trial.hpp); "": none does
    std::string profile;         ///< of .tflite models that name none; "": the framework's arithmetic
    bool rows_alike = true;      ///< default for .onnx models that do not say
    std::string model_name;      ///< the folder is that of one model
    bool saves_findings = false; ///< beside each model
    bool may_be_empty = false;   ///< a folder that has become empty ends its models
    bool is_explicit = false;    ///< clients load models; the folder is not looked at by itself
    bool is_lax = false;         ///< ready although some models could not be loaded
    std::size_t most_connections = 1024, most_body_bytes = std::size_t(64) << 20,
                most_header_bytes = 16 << 10;
    std::size_t most_total_bytes = 0; ///< 0: a quarter of the memory there is, 1 GiB at most
    std::chrono::milliseconds idle{60'000}, receive{30'000};
    std::string certificate, key, token_file, access_log;
    std::vector<std::string> cors_origins; ///< of pages that may use the server from a browser; "*": all
    std::string client_authority;          ///< certificates that clients need are signed by it
    bool are_metrics_open = true;          ///< without a token
    bool is_check = false;                 ///< loads everything, says what is wrong, and serves nothing
    bool may_change_models = false, may_profile = false;
    std::chrono::milliseconds leave{0}; ///< after SIGTERM: not ready, but serving, while balancers notice
    std::chrono::milliseconds most_drain{30'000}; ///< then: until what was accepted is finished
};

} // namespace octet::serve
