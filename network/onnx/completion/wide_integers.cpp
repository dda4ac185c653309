// Follows INT64 from the inputs that have it, node by node, and marks sums, differences and products of it.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/completion/wide_integers.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "network/graph/node_marks.hpp"
#include "network/onnx/completion/facts.hpp"

namespace octet::model {
namespace {

// Among ONNX's types.
constexpr std::int64_t int32 = 6, int64 = 7;

/// The type of integers that the node's attribute names; 0 for an operator without one.
std::int64_t named_type(const node &n, const integer_facts &facts) {
    return facts.type_attribute ? attribute_or(n, facts.type_attribute, std::int64_t{0}) : 0;
}

/// Whether a node gives INT64 if it gives integers: its own type, or that of the input whose elements it gives.
bool gives_wide(const node &n, const std::vector<bool> &is_wide) {
    const integer_facts &facts = onnx_facts(n.op).integers;
    if (facts.type_attribute)
        return named_type(n, facts) == int64;
    return facts.gives_int64 || (input_of(n, facts.elements) && is_wide[input_of(n, facts.elements).index()]);
}

bool is_at_limit(const tensor &t) {
    if (!t.is_constant || t.type != data_type::s32)
        return false;
    using limits = std::numeric_limits<std::int32_t>;
    const std::vector<std::int32_t> values = values_of<std::int32_t>(t);
    return std::any_of(values.begin(), values.end(),
                       [](std::int32_t v) { return v == limits::min() || v == limits::max(); });
}

integer_use use_of(const node &n, std::size_t input) {
    const integer_facts &facts = onnx_facts(n.op).integers;
    const std::int64_t type = named_type(n, facts);
    if (type == int32 || type == int64)
        return integer_use::passes_on;
    return input == 0 ? facts.first : facts.others;
}

/// Constants of INT64 at the ends of 32 bits may have been beyond, and were brought to the end. That is right
/// for bounds, such as the end of a Slice, and wrong for elements.
void check_limits(const graph &g, const std::vector<bool> &is_wide) {
    std::vector<bool> is_beyond(g.tensors.size());
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        is_beyond[t] = is_wide[t] && is_at_limit(g.tensors[t]);
    const auto refuse_use = [&](tensor_id t, const std::string &who) {
        refuse_as_unimplemented(
            who + " '" + tensor_at(g, t).name +
            "', an INT64 at the ends of 32 bits or beyond; allowed are bounds of Slice, Clip, "
            "Max and Min, and operands of comparisons");
    };
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        for (std::size_t k = 0; k < n.inputs.size(); k++) {
            const tensor_id t = input_of(n, k);
            if (!t || !is_beyond[t.index()])
                continue;
            const integer_use u = use_of(n, k);
            if (u == integer_use::computes)
                refuse_use(t, node_text(g, i) + " computes with");
            if (u == integer_use::passes_on && output_of(n))
                is_beyond[output_of(n).index()] = true;
        }
    }
    for (const tensor_id t : outputs_of(g))
        if (t && is_beyond[t.index()])
            refuse_use(t, "an output of the network is");
}

} // namespace

void mark_wide_integers(graph &g, std::vector<bool> is_wide) {
    is_wide.resize(g.tensors.size());
    check_limits(g, is_wide);
    for (node &n : g.nodes) {
        if (!gives_wide(n, is_wide))
            continue;
        for (const tensor_id t : outputs_of(n))
            if (t)
                is_wide[t.index()] = true;
        if (onnx_facts(n.op).integers.is_arithmetic)
            set_mark(n, &node_marks::is_wide, true);
    }
}

} // namespace octet::model
