#pragma once // SPDX-License-Identifier: Apache-2.0

// Measured layers as people and programs read them. doc/bench.md explains the columns.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "bench/measure.hpp"

namespace octet::tools {

/// One line per layer, with columns for each count of threads and for cold caches, then the shares of all layers,
/// weighted by count: what a network of them would reach.
std::string results_text(const std::vector<measurement> &results);

/// "geomean R min R": of the baseline's times / Octet's; a line for each count of threads and state of the caches.
std::string ratios_text(const std::vector<measurement> &results);

/// "1 thread", "1 and 2 threads"
std::string threads_text(const std::vector<int> &threads);
/// The peak of each count of threads: "1043 GOPS, 2075 GOPS"
std::string peaks_text(const std::vector<measurement> &results);

/// The columns by their names, null where nothing is known.
json columns_of(const measurement &m);

std::string csv_header();
/// One line, with the name of the shape table that the layer is from.
std::string csv_row(const std::string &table, const measurement &m);

/// {"table", "peak_gops", "layers"}: the columns of the CSV, null where they are empty there.
json table_json(const std::string &table, const std::vector<measurement> &results);
/// {"geomean", "minimum"}; with several counts of threads or states of the caches a list of such objects, which tell
/// their "threads" and "caches".
json ratios_json(const std::vector<measurement> &results);
/// The object that `octet bench --json` prints; `ratio` is left out if it is null.
json bench_json(const std::vector<int> &threads, const json &tables, const json &ratio = {});

} // namespace octet::tools
