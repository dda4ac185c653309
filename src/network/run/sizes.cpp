// Inputs get their dimensions, then the shape functions of the operators find all others.

#include "octet/network.hpp"

#include <algorithm>

#include "network/graph/graph.hpp"

namespace octet::model {
namespace {

tensor &input_named(graph &g, const std::string &name) {
    std::string names;
    for (const int t : g.inputs) {
        tensor &input = g.tensors[static_cast<std::size_t>(t)];
        if (input.name == name)
            return input;
        names += (names.empty() ? "'" : ", '") + input.name + "'";
    }
    refuse("shape of '" + name + "': the network's inputs are " + (names.empty() ? "none" : names));
}

void set_dims(tensor &input, const memory::dims &dims) {
    const std::string who = "shape " + to_text(dims) + " of input '" + input.name + "': ";
    if (dims.size() != input.dims.size())
        refuse(who + "it has " + std::to_string(dims.size()) + " dimensions, allowed is " +
               std::to_string(input.dims.size()));
    if (std::any_of(dims.begin(), dims.end(), [](dim_t d) { return d < 1; }))
        refuse(who + "allowed are dimensions of 1 or more");
    input.dims = dims;
}

void set_dimension(graph &g, const std::string &name, dim_t size) {
    bool is_known = false;
    for (const int t : g.inputs) {
        tensor &input = g.tensors[static_cast<std::size_t>(t)];
        for (std::size_t d = 0; d < input.dim_names.size(); d++)
            if (input.dim_names[d] == name) {
                input.dims[d] = size;
                is_known = true;
            }
    }
    if (!is_known)
        refuse("dimension '" + name + "': no input has a dimension of this name");
    if (size < 1)
        refuse("dimension '" + name + "' is " + std::to_string(size) + ", allowed is 1 or more");
}

/// Whether nodes compute shapes, from which those of others follow.
bool computes_shapes(const graph &g) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const node &n) {
        return std::any_of(n.outputs.begin(), n.outputs.end(), [&](int t) {
            return t >= 0 && g.tensors[static_cast<std::size_t>(t)].data.size() != 0;
        });
    });
}

/// Shapes that constants name have the old batch in them, those that are computed follow the inputs.
void change_batch(graph &g, dim_t batch) {
    if (!computes_shapes(g) || batch < 1)
        return set_batch(g, batch);
    for (const int t : g.inputs)
        if (!g.tensors[static_cast<std::size_t>(t)].dims.empty())
            g.tensors[static_cast<std::size_t>(t)].dims.front() = batch;
    infer_shapes(g);
}

} // namespace

void set_sizes(graph &g, const network_sizes &sizes) {
    for (const auto &[name, size] : sizes.dimensions)
        set_dimension(g, name, size);
    for (const auto &[name, dims] : sizes.shapes)
        set_dims(input_named(g, name), dims);
    if (!sizes.dimensions.empty() || !sizes.shapes.empty())
        infer_shapes(g);
    if (sizes.batch != 0)
        change_batch(g, sizes.batch);
}

} // namespace octet::model
