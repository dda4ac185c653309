#pragma once // SPDX-License-Identifier: Apache-2.0

// Results for programs: with --json a command prints one JSON object and nothing else to standard output.
// doc/command.md lists the keys, which stay; new ones may be added.

#include <string>

#include <nlohmann/json.hpp>

#include "base/statistics.hpp"
#include "octet/graph.hpp"

namespace CLI {
class App;
}

namespace octet::tools {

using json = nlohmann::ordered_json;

void add_json_option(CLI::App &command, bool &is_json);

/// To be called before the work of a command with --json: rows of verbose mode go to stderr, too.
void reserve_standard_output();
void print(const json &object);

/// {"index", "name", "type", "dims", "scale", "zero_point"}; lists where channels have scales of their own, null
/// where there is none.
json to_json(const model::graph &g, int tensor);
/// Milliseconds: {"minimum_ms", "median_ms", "p90_ms", "p99_ms"}
json to_json(const time_summary &times);

} // namespace octet::tools
