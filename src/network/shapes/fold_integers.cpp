// Shapes that a network computes are known once the sizes of its inputs are: `infer_shapes` has left their values in the
// tensors. Here they become constants, and the nodes that gave them go.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/fold_integers.hpp"

#include <algorithm>

namespace octet::model {

namespace {

bool is_any(const std::vector<int> &inputs, std::size_t first, const std::set<int> &tensors) {
    return inputs.size() > first && std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                                inputs.end(), [&](int t) { return tensors.count(t) != 0; });
}

/// Axes of a Slice, if they are constant; it cuts all that starts and ends have otherwise.
std::vector<std::int64_t> axes_of_slice(const graph &g, const node &n, std::size_t rank) {
    std::vector<std::int64_t> axes;
    const int given = n.inputs.size() > 3 ? n.inputs[3] : -1;
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

std::vector<bool> dims_from_values(const graph &g, const node &n, const sized_constants &sized) {
    static const std::map<std::string, std::size_t> first_input_of_values = {
        {"ConstantOfShape", 0}, {"Expand", 1}, {"Pad", 1}, {"Range", 0},
        {"Resize", 1},          {"Slice", 1},  {"Tile", 1}};
    const std::size_t rank = g.tensors[static_cast<std::size_t>(n.outputs.at(0))].dims.size();
    std::vector<bool> open(rank, false);
    for (const int t : n.inputs)
        if (const auto found = sized.open_dims.find(t); found != sized.open_dims.end()) {
            if (found->second.size() != rank)
                return std::vector<bool>(rank, true);
            for (std::size_t d = 0; d < rank; d++)
                open[d] = open[d] || found->second[d];
        }
    const auto first = first_input_of_values.find(n.op);
    if (first == first_input_of_values.end() || !is_any(n.inputs, first->second, sized.tensors))
        return open;
    if (n.op != "Slice")
        return std::vector<bool>(rank, true);
    const auto all = static_cast<std::int64_t>(rank);
    for (const std::int64_t axis : axes_of_slice(g, n, rank))
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
        std::vector<bool> open = dims_from_values(g, n, folded);
        if (n.op != "Shape" && std::count(open.begin(), open.end(), true) != 0)
            folded.open_dims.emplace(n.outputs[0], std::move(open));
        folded.tensors.insert(n.outputs[0]);
        return true;
    });
    g.nodes.erase(last, g.nodes.end());
    return folded;
}

} // namespace octet::model
