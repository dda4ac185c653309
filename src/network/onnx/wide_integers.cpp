// Follows INT64 from the inputs that have it, node by node, and marks sums, differences and products of it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/wide_integers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace octet::model {
namespace {

/// Whether a node gives INT64 if it gives integers: its own type, or that of the input whose elements it gives.
bool gives_wide(const node &n, const std::vector<bool> &is_wide) {
    constexpr std::int64_t int64 = 7; // among ONNX's types
    if (n.op == "Cast")
        return attribute_or(n, "to", std::int64_t{0}) == int64;
    if (n.op == "Shape" || n.op == "Size" || n.op == "ArgMax")
        return true;
    const std::size_t source = n.op == "Where" ? 1 : 0;
    return source < n.inputs.size() && n.inputs[source] >= 0 &&
           is_wide[static_cast<std::size_t>(n.inputs[source])];
}

bool is_at_limit(const tensor &t) {
    if (!t.is_constant || t.type != data_type::s32)
        return false;
    using limits = std::numeric_limits<std::int32_t>;
    const std::vector<std::int32_t> values = values_of<std::int32_t>(t);
    return std::any_of(values.begin(), values.end(),
                       [](std::int32_t v) { return v == limits::min() || v == limits::max(); });
}

/// How a node uses an input that may have been beyond 32 bits: its result may have been so, too, is right all the same, or is
/// wrong.
enum class use { passes_on, compares, computes };

use use_of(const node &n, std::size_t input) {
    static const std::set<std::string> moving = {"Concat",  "Expand",  "Flatten", "Gather",    "Identity",
                                                 "Reshape", "Squeeze", "Tile",    "Transpose", "Unsqueeze"},
                                       saturating = {"Add", "Sub"},
                                       comparing = {"Clip", "Equal",       "Greater", "GreaterOrEqual",
                                                    "Less", "LessOrEqual", "Max",     "Min"};
    constexpr std::int64_t int32 = 6, int64 = 7; // among ONNX's types
    if (n.op == "Slice")
        return input == 0 ? use::passes_on : use::compares;
    if (n.op == "Cast") {
        const auto to = attribute_or(n, "to", std::int64_t{0});
        return to == int32 || to == int64 ? use::passes_on : use::computes;
    }
    if (saturating.count(n.op) != 0 || (moving.count(n.op) != 0 && (input == 0 || n.op == "Concat")))
        return use::passes_on;
    return comparing.count(n.op) != 0 ? use::compares : use::computes;
}

/// Constants of INT64 at the ends of 32 bits may have been beyond, and were brought to the end. That is right for bounds, such
/// as the end of a Slice, and wrong for elements.
void check_limits(const graph &g, const std::vector<bool> &is_wide) {
    std::vector<bool> is_beyond(g.tensors.size());
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        is_beyond[t] = is_wide[t] && is_at_limit(g.tensors[t]);
    const auto refuse_use = [&](int t, const std::string &who) {
        refuse_as_unimplemented(
            who + " '" + g.tensors[static_cast<std::size_t>(t)].name +
            "', an INT64 at the ends of 32 bits or beyond; allowed are bounds of Slice, Clip, "
            "Max and Min, and operands of comparisons");
    };
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        for (std::size_t k = 0; k < n.inputs.size(); k++) {
            const int t = n.inputs[k];
            if (t < 0 || !is_beyond[static_cast<std::size_t>(t)])
                continue;
            const use u = use_of(n, k);
            if (u == use::computes)
                refuse_use(t, node_text(g, i) + " computes with");
            if (u == use::passes_on && !n.outputs.empty() && n.outputs[0] >= 0)
                is_beyond[static_cast<std::size_t>(n.outputs[0])] = true;
        }
    }
    for (const int t : g.outputs)
        if (t >= 0 && is_beyond[static_cast<std::size_t>(t)])
            refuse_use(t, "an output of the network is");
}

} // namespace

void mark_wide_integers(graph &g, std::vector<bool> is_wide) {
    static const std::set<std::string> arithmetic = {"Add", "Sub", "Mul"};
    is_wide.resize(g.tensors.size());
    check_limits(g, is_wide);
    for (node &n : g.nodes) {
        if (!gives_wide(n, is_wide))
            continue;
        for (const int t : n.outputs)
            if (t >= 0)
                is_wide[static_cast<std::size_t>(t)] = true;
        if (arithmetic.count(n.op) != 0)
            n.attributes[of_wide_integers] = std::int64_t{1};
    }
}

} // namespace octet::model
