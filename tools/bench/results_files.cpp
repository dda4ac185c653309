// A file of results is begun anew, a history is appended to, and refused if its columns are others.
// SPDX-License-Identifier: Apache-2.0
#include "bench/results_files.hpp"

#include <filesystem>

#include "bench/results.hpp"
#include "octet/error.hpp"

namespace octet::tools {
namespace {

/// Whether the history has its header already.
bool is_begun(const std::string &path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0)
        return false;
    const std::vector<std::uint8_t> bytes = read_file(path);
    const std::string header = csv_header();
    if (std::string(bytes.begin(), bytes.end()).compare(0, header.size(), header) != 0)
        throw error(status::invalid_arguments,
                    path + ":1: has other columns than this version of Octet writes; name another file");
    return true;
}

} // namespace

results_files::results_files(const std::string &csv, const std::string &history) {
    if (!csv.empty()) {
        files_.emplace_back(csv);
        files_.back().write(csv_header());
    }
    if (history.empty())
        return;
    const bool has_header = is_begun(history);
    files_.emplace_back(history, output_stream::start::end);
    if (!has_header)
        files_.back().write(csv_header());
}

void results_files::add(const std::string &table, const std::vector<measurement> &measurements) {
    for (output_stream &file : files_)
        for (const measurement &m : measurements)
            file.write(csv_row(table, m));
}

} // namespace octet::tools
