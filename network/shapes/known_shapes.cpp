// Reads the integers of a node's inputs and asks the function of its operator (known_values.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_shapes.hpp"

#include "network/shapes/known_values.hpp"

namespace octet::model {
namespace {

/// Integers of an input: a constant's, or those known of a computed tensor.
std::optional<known_values> integers_of(const graph &g, tensor_id input) {
    const tensor *t = input ? &tensor_at(g, input) : nullptr;
    if (!t || t->type != data_type::s32 || t->data.empty())
        return {};
    const std::vector<std::int32_t> integers = values_of<std::int32_t>(*t);
    return known_values(integers.begin(), integers.end());
}

} // namespace

void follow_shapes(graph &g, const node &n, const operator_facts &facts) {
    if (n.outputs.size() != 1 || !output_of(n))
        return;
    tensor &y = tensor_at(g, output_of(n));
    if (y.type != data_type::s32 || y.dims.size() > 1)
        return;
    y.data = {};
    if (!input_of(n, 0))
        return;
    const auto values = known_result(g, n, facts, [&](tensor_id t) { return integers_of(g, t); });
    if (!values || static_cast<std::int64_t>(values->size()) != element_count(y.dims))
        return;
    std::vector<std::int32_t> integers;
    for (const double v : *values)
        integers.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(v)));
    y.data = bytes_of(integers);
}

} // namespace octet::model
