// octet bench --compare: what two files of results say of each other. Nothing is timed.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "bench/compare.hpp"
#include "commands/bench.hpp"

namespace octet::tools {
namespace {

csv_table table_of(const std::string &path) {
    const std::vector<std::uint8_t> bytes = read_file(path);
    return {path, std::string(bytes.begin(), bytes.end())};
}

} // namespace

void bench_compare(const bench_options &options) {
    const comparison c = compare(table_of(options.compared.at(0)), table_of(options.compared.at(1)),
                                 static_cast<double>(options.tolerance) / 100, options.by);
    if (options.json)
        print(to_json(c));
    else
        std::cout << comparison_text(c);
    if (c.is_slower())
        throw CLI::RuntimeError(1);
}

} // namespace octet::tools
