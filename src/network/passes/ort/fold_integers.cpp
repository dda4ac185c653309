// Shapes that a network computes are known once the sizes of its inputs are: `infer_shapes` has left their values in the
// tensors. Here they become constants, and the nodes that gave them go.
// SPDX-License-Identifier: Apache-2.0
#include "network/passes/ort/fold_integers.hpp"

#include <algorithm>

#include "network/operators.hpp"

namespace octet::model {

namespace {

bool is_any(const std::vector<int> &inputs, std::size_t first, const std::set<int> &tensors) {
    return inputs.size() > first && std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                                inputs.end(), [&](int t) { return tensors.count(t) != 0; });
}

/// The axes that an input lists, if it is constant; all there are otherwise.
std::vector<std::int64_t> listed_axes(const graph &g, const node &n, std::size_t input, std::size_t rank) {
    std::vector<std::int64_t> axes;
    const int given = n.inputs.size() > input ? n.inputs[input] : -1;
    if (given >= 0 && g.tensors[static_cast<std::size_t>(given)].is_constant &&
        g.tensors[static_cast<std::size_t>(given)].type == data_type::s32) {
        const auto values = values_of<std::int32_t>(g.tensors[static_cast<std::size_t>(given)]);
        return {values.begin(), values.end()};
    }
    for (std::size_t d = 0; d < rank; d++)
        axes.push_back(static_cast<std::int64_t>(d));
    return axes;
}

} // namespace

std::vector<bool> open_dims(const graph &g, const node &n, const sized_constants &sized) {
    const std::size_t rank = g.tensors[static_cast<std::size_t>(n.outputs.at(0))].dims.size();
    std::vector<bool> open(rank, false);
    for (const int t : n.inputs)
        if (const auto found = sized.open_dims.find(t); found != sized.open_dims.end()) {
            if (found->second.size() != rank)
                return std::vector<bool>(rank, true);
            for (std::size_t d = 0; d < rank; d++)
                open[d] = open[d] || found->second[d];
        }
    const dims_from_values &facts = facts_of("onnx", n.op).dims;
    if (facts.first == dims_from_values::none || !is_any(n.inputs, facts.first, sized.tensors))
        return open;
    const auto all = static_cast<std::int64_t>(rank);
    for (const std::int64_t axis : listed_axes(g, n, facts.axes, rank))
        if (axis >= -all && axis < all)
            open[static_cast<std::size_t>(axis < 0 ? axis + all : axis)] = true;
    return open;
}

sized_constants fold_integers(graph &g) {
    sized_constants folded;
    const auto is_known = [&](int t) {
        const tensor &x = g.tensors.at(static_cast<std::size_t>(t));
        return !x.is_constant && !x.data.empty();
    };
    const auto last = std::remove_if(g.nodes.begin(), g.nodes.end(), [&](const node &n) {
        if (n.outputs.size() != 1 || !is_known(n.outputs[0]))
            return false;
        g.tensors[static_cast<std::size_t>(n.outputs[0])].is_constant = true;
        std::vector<bool> open = open_dims(g, n, folded);
        if (n.op != "Shape" && std::count(open.begin(), open.end(), true) != 0)
            folded.open_dims.emplace(n.outputs[0], std::move(open));
        folded.tensors.insert(n.outputs[0]);
        return true;
    });
    g.nodes.erase(last, g.nodes.end());
    return folded;
}

} // namespace octet::model
