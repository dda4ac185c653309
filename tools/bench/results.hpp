#pragma once

// Measured layers as people and programs read them. doc/bench.md explains the columns.

#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "commands/json.hpp"

namespace octet::tools {

/// One line per layer, then their share of the peak, weighted by count: what a network of them would reach.
std::string results_text(const std::vector<measurement> &results);

/// "geomean R min R": of the peer's times / Octet's.
std::string ratios_text(const std::vector<measurement> &results);

extern const char *const csv_header;
/// One line, with the name of the shape table that the layer is from.
std::string csv_row(const std::string &table, const measurement &m);

/// {"table", "peak_gops", "layers"}: the columns of the CSV, null where they are empty there.
json table_json(const std::string &table, const std::vector<measurement> &results);
/// {"geomean", "minimum"}
json ratios_json(const std::vector<measurement> &results);

} // namespace octet::tools
