#pragma once // SPDX-License-Identifier: Apache-2.0

// A model is loaded by another process first. A small file can ask for more memory than there is, compute
// without end, or meet a defect of a parser: octet-serve starts itself with a limit of memory and a limit of
// time, and only a model that was loaded, planned and warmed there is loaded by the server. What the other
// process measured need not be measured again.

#include <chrono>
#include <functional>
#include <string>

#include "core/model.hpp"

namespace octet::serve {

constexpr const char *trial_option = "--try-model"; ///< first argument of the other process

struct trial_options {
    std::string program; ///< to start, as octet-serve; "": models are loaded without a trial
    std::chrono::milliseconds time{300'000}; ///< bound of the time that loading a model takes
    std::size_t reserve = 0;                 ///< bytes for requests, which a model must leave
};

/// Loads the file of `source` in another process. `config` is the text of its config.json, "" for none.
/// `stop` is asked now and then, and ends the work. What is `known` is checked instead of measured. Throws
/// octet::error with what that process said, or with how it ended.
model_findings try_model(const trial_options &options, const model_source &source, const std::string &config,
                         int workers, const std::function<bool()> &stop,
                         const std::optional<model_findings> &known = std::nullopt);

/// Runs the trial in the process that was started for it: `arguments` are those after `trial_option`. Returns
/// its exit code.
int run_trial(int count, char **arguments);

} // namespace octet::serve
