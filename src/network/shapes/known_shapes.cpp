// Reads the integers of a node's inputs and asks the function of its operator (known_values.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_shapes.hpp"

#include "network/graph/operator_facts.hpp"
#include "network/shapes/known_values.hpp"

namespace octet::model {
namespace {

/// Integers of all inputs: constants, or those known of computed tensors; nothing where one is not known.
std::optional<std::vector<known_values>> known_inputs(const graph &g, const node &n) {
    std::vector<known_values> inputs;
    for (const int i : n.inputs) {
        const tensor *t = i < 0 ? nullptr : &g.tensors[static_cast<std::size_t>(i)];
        if (!t || t->type != data_type::s32 || t->data.empty())
            return {};
        const std::vector<std::int32_t> integers = values_of<std::int32_t>(*t);
        inputs.emplace_back(integers.begin(), integers.end());
    }
    return inputs;
}

std::optional<known_values> integers_of_result(const graph &g, const node &n, const operator_facts &facts) {
    if (!facts.known || n.inputs.empty() || n.inputs[0] < 0)
        return {};
    if (facts.is_known_from_dims)
        return facts.known(known_node(g, n, {}));
    auto inputs = known_inputs(g, n);
    return inputs ? facts.known(known_node(g, n, std::move(*inputs))) : std::nullopt;
}

} // namespace

void follow_shapes(graph &g, const node &n, const operator_facts &facts) {
    if (n.outputs.size() != 1 || n.outputs[0] < 0)
        return;
    tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
    if (y.type != data_type::s32 || y.dims.size() > 1)
        return;
    y.data = {};
    const auto values = integers_of_result(g, n, facts);
    if (!values || static_cast<std::int64_t>(values->size()) != element_count(y.dims))
        return;
    std::vector<std::int32_t> integers;
    for (const double v : *values)
        integers.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(v)));
    y.data = bytes_of(integers);
}

} // namespace octet::model
