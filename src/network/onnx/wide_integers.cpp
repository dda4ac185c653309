// Follows INT64 from the inputs that have it, node by node, and marks sums, differences and products of it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/wide_integers.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

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

} // namespace

void mark_wide_integers(graph &g, std::vector<bool> is_wide) {
    static constexpr std::string_view arithmetic[] = {"Add", "Sub", "Mul"};
    is_wide.resize(g.tensors.size());
    for (node &n : g.nodes) {
        if (!gives_wide(n, is_wide))
            continue;
        for (const int t : n.outputs)
            if (t >= 0)
                is_wide[static_cast<std::size_t>(t)] = true;
        if (std::find(std::begin(arithmetic), std::end(arithmetic), n.op) != std::end(arithmetic))
            n.attributes[of_wide_integers] = std::int64_t{1};
    }
}

} // namespace octet::model
