// A chain of fused operators as post-ops of the primitive that accumulates. A function of single codes is a clip
// or a table of its 256 results, which the operator itself computes when the network is made, so no function is
// written twice; a sum is the framework's own, on the codes that lie in the output's buffer.
// SPDX-License-Identifier: Apache-2.0
#include "network/ops/fused.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

namespace octet::model {
namespace {

std::int32_t lowest_code(data_type type) { return type == data_type::s8 ? -128 : 0; }

/// Output codes of a function for all input codes, lowest first.
std::vector<std::int32_t> table_of(const lowering &l, const node &f, data_type type) {
    std::vector<std::uint8_t> codes(256);
    std::iota(codes.begin(), codes.end(), static_cast<std::uint8_t>(lowest_code(type)));
    const std::vector<std::uint8_t> results =
        l.get_evaluator()(l.get_graph(), f, 0, codes, memory::dims{256});
    if (results.size() != codes.size())
        refuse("fused " + f.op + " is no function of single codes");
    std::vector<std::int32_t> table;
    for (const std::uint8_t byte : results)
        table.push_back(type == data_type::s8 ? static_cast<std::int8_t>(byte) : byte);
    return table;
}

/// The interval that a table clips to, if that is all it does.
std::optional<std::pair<std::int32_t, std::int32_t>> limits_of(const std::vector<std::int32_t> &table,
                                                               std::int32_t lowest) {
    const auto [low, high] = std::minmax_element(table.begin(), table.end());
    for (std::size_t i = 0; i < table.size(); i++)
        if (table[i] != std::clamp(lowest + static_cast<std::int32_t>(i), *low, *high))
            return {};
    return std::pair{*low, *high};
}

/// A function of single codes is a clip, or a table behind which codes are themselves.
void append_function(fused_codes &codes, const lowering &l, const node &f) {
    const data_type type = l.result().type;
    const std::vector<std::int32_t> table = table_of(l, f, type);
    if (const auto limits = limits_of(table, lowest_code(type))) {
        codes.ops.append_clip(limits->first - codes.zero_point, limits->second - codes.zero_point);
        return;
    }
    codes.ops.append_add(codes.zero_point);
    codes.zero_point = 0;
    std::array<std::uint8_t, 256> entries;
    std::transform(table.begin(), table.end(), entries.begin(),
                   [](std::int32_t code) { return static_cast<std::uint8_t>(code); });
    codes.ops.append_table({type, entries});
}

} // namespace

void append_fused(primitive_attr &attr, const lowering &l, fused_sum append_sum) {
    const node &host = l.get_node();
    if (host.fused.empty())
        return;
    const auto given = attr.zero_points().find(OCTET_ARG_DST);
    fused_codes codes{attr.get_post_ops(),
                      given == attr.zero_points().end() ? 0 : given->second.values.at(0)};
    for (const node &f : host.fused) {
        if (f.stored_input < 0) {
            append_function(codes, l, f);
            continue;
        }
        const tensor_id stored = input_of(f, static_cast<std::size_t>(f.stored_input));
        const tensor_ids inputs = inputs_of(host);
        const auto place = std::find(inputs.begin(), inputs.end(), stored);
        l.overwrite_input(static_cast<std::size_t>(place - inputs.begin()));
        append_sum(codes, l.of(f));
    }
    attr.set_post_ops(codes.ops);
    attr.set_zero_points(OCTET_ARG_DST, 0, {codes.zero_point});
}

} // namespace octet::model
