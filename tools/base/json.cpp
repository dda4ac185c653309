// Members that the JSON of several commands has in common.
// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

#include "octet/octet.hpp"

namespace octet::tools {
namespace {

/// One value as itself, several as a list, none as null.
template <typename T> json one_or_list(const std::vector<T> &values) {
    if (values.size() == 1)
        return values[0];
    return values.empty() ? json() : json(values);
}

} // namespace

void add_json_option(CLI::App &command, bool &is_json) {
    command.add_flag("--json", is_json, "One JSON object on standard output instead of text");
}

void reserve_standard_output() {
    set_log([](const std::string &row) { std::cerr << row << '\n'; });
}

void print(const json &object) {
    // Names of tensors come from files and may hold any bytes.
    std::cout << object.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

json to_json(const model::graph &g, int tensor) {
    const model::tensor &t = g.tensors.at(static_cast<std::size_t>(tensor));
    return {{"index", tensor},
            {"name", t.name},
            {"type", model::type_text(t)},
            {"dims", t.dims},
            {"scale", one_or_list(t.quant.scales)},
            {"zero_point", one_or_list(t.quant.zero_points)}};
}

json to_json(const time_summary &times) {
    return {{"minimum_ms", times.minimum * 1e3},
            {"median_ms", times.median * 1e3},
            {"p90_ms", times.p90 * 1e3},
            {"p99_ms", times.p99 * 1e3}};
}

} // namespace octet::tools
