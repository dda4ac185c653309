// A function for each operator that computes with sizes, and a walk over the nodes in order.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/known_shapes.hpp"

#include <optional>

#include "network/graph/strided_slice.hpp"

namespace octet::model {
namespace {

using integers = std::vector<std::int32_t>;

/// The integers of a constant, or those known of a computed tensor.
std::optional<integers> known(const graph &g, const node &n, std::size_t i) {
    if (i >= n.inputs.size() || n.inputs[i] < 0)
        return {};
    const tensor &t = g.tensors[static_cast<std::size_t>(n.inputs[i])];
    if (t.type != data_type::s32 || t.data.empty())
        return {};
    return values_of<std::int32_t>(t);
}

std::vector<std::int64_t> wide(const integers &values) { return {values.begin(), values.end()}; }

std::optional<integers> shape(const graph &g, const node &n) {
    if (n.inputs.empty() || n.inputs[0] < 0)
        return {};
    const memory::dims &dims = g.tensors[static_cast<std::size_t>(n.inputs[0])].dims;
    return integers(dims.begin(), dims.end());
}

/// A slice of a list.
std::optional<integers> slice(const graph &g, const node &n) {
    const auto x = known(g, n, 0), begin = known(g, n, 1), end = known(g, n, 2), strides = known(g, n, 3);
    if (!x || !begin || !end || !strides)
        return {};
    const auto mask = [&](const char *name) { return attribute_or<std::int64_t>(n, name, 0); };
    const strided_slice s =
        strided_slice_of({static_cast<dim_t>(x->size())}, wide(*begin), wide(*end), wide(*strides),
                         {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
                          mask("shrink_axis_mask")});
    integers result;
    for (dim_t i = 0; i < s.sizes[0]; i++)
        result.push_back((*x)[static_cast<std::size_t>(s.begin[0] + i * s.stride[0])]);
    return result;
}

/// Lists or numbers, one behind the other.
std::optional<integers> join(const graph &g, const node &n) {
    integers result;
    for (std::size_t i = 0; i < n.inputs.size(); i++) {
        const auto part = known(g, n, i);
        if (!part)
            return {};
        result.insert(result.end(), part->begin(), part->end());
    }
    return result;
}

std::optional<integers> result_of(const graph &g, const node &n) {
    if (n.op == "SHAPE")
        return shape(g, n);
    if (n.op == "STRIDED_SLICE")
        return slice(g, n);
    if (n.op == "PACK" || n.op == "CONCATENATION")
        return join(g, n);
    return {};
}

} // namespace

void follow_shapes(graph &g, const node &n) {
    if (n.outputs.size() != 1 || n.outputs[0] < 0)
        return;
    tensor &y = g.tensors[static_cast<std::size_t>(n.outputs[0])];
    if (y.type != data_type::s32 || y.dims.size() > 1)
        return;
    y.data = {};
    const auto values = result_of(g, n);
    if (values && static_cast<std::int64_t>(values->size()) == element_count(y.dims))
        y.data = bytes_of(*values);
}

void follow_shapes(graph &g) {
    for (const node &n : g.nodes)
        follow_shapes(g, n);
}

} // namespace octet::model
