#pragma once // SPDX-License-Identifier: Apache-2.0

// The options of `octet bench`, and the things that it times.

#include <string>
#include <vector>

#include "base/options.hpp"
#include "bench/measure.hpp"
#include "commands/network_file.hpp"

namespace octet::tools {

struct bench_options {
    std::vector<std::string> shapes, problems, networks, compared; ///< one of them has elements
    bool conv = false, inner_product = false, matrix = false, skip_depthwise = false;
    std::string only;
    std::string rule = "f32", types = "u8:s8:u8", dynamic, baseline, through, csv, history;
    network_file_options network; ///< options of all networks; its model is unused
    std::string node_modules;
    bench_machine_options machine;
    int samples = 11;
    std::int64_t batch = 1;
    bool cold = false, json = false;
    std::string by;
    float tolerance = 5; ///< percent
};

/// Layers of shape tables, and problems of verbose mode.
///@{
void bench_tables(const bench_options &options);
void bench_problems(const bench_options &options);
///@}
/// Whole networks and their layers.
void bench_networks(const bench_options &options);
/// Two files of results. Throws CLI::RuntimeError(1) if the second one is slower.
void bench_compare(const bench_options &options);

} // namespace octet::tools
