#pragma once // SPDX-License-Identifier: Apache-2.0

// Files of measurements, beside the printed tables.

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "bench/measure.hpp"

namespace octet::tools {

/// The files of --csv, made anew, and of --history, which keeps what it has. Opened before anything is timed.
class results_files {
public:
    /// An empty path is no file. Throws octet::error where a file cannot be written, and for a history with
    /// other columns.
    results_files(const std::string &csv, const std::string &history);

    /// One line each, at once.
    void add(const std::string &table, const std::vector<measurement> &measurements);

private:
    std::vector<output_stream> files_;
};

} // namespace octet::tools
