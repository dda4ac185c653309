// Inputs get their dimensions, then the shape functions of the operators find all others.
// SPDX-License-Identifier: Apache-2.0
#include "octet/network.hpp"

#include <algorithm>

#include "network/dialect.hpp"
#include "network/graph/file.hpp"
#include "network/graph/graph.hpp"
#include "network/graph/node_marks.hpp"
#include "network/run/sizes.hpp"
#include "network/shapes/known_shapes.hpp"

namespace octet::model {
namespace {

/// Names are kept as they are printed, and can be given so or as the file has them.
bool is_called(const tensor &t, const std::string &name) {
    return t.name == name || t.name == printable(name);
}

tensor_id output_named(const graph &g, const std::string &name) {
    for (const tensor_id t : outputs_of(g))
        if (is_called(tensor_at(g, t), name))
            return t;
    return {};
}

/// The node that computes the output of this name; none of another name.
node *writer_of(graph &g, const std::string &name) {
    if (const tensor_id t = output_named(g, name))
        for (node &n : g.nodes)
            if (any_of(outputs_of(n), [&](tensor_id written) { return written == t; }))
                return &n;
    return nullptr;
}

tensor &input_named(graph &g, const std::string &name) {
    std::string names;
    for (const tensor_id t : inputs_of(g)) {
        tensor &input = tensor_at(g, t);
        if (is_called(input, name))
            return input;
        names += (names.empty() ? "'" : ", '") + input.name + "'";
    }
    refuse("shape of " + quoted(name) + ": the network's inputs are " + (names.empty() ? "none" : names));
}

void set_dims(tensor &input, const memory::dims &dims) {
    const std::string who = "shape " + to_text(dims) + " of input '" + input.name + "': ";
    if (dims.size() != input.dims.size())
        refuse(who + "it has " + std::to_string(dims.size()) + " dimensions, allowed is " +
               std::to_string(input.dims.size()));
    if (std::any_of(dims.begin(), dims.end(), [](dim_t d) { return d < 0; }))
        refuse(who + "allowed are dimensions of 0 or more");
    input.dims = dims;
}

void set_dimension(graph &g, const std::string &name, dim_t size) {
    bool is_known = false;
    for (const tensor_id t : inputs_of(g)) {
        tensor &input = tensor_at(g, t);
        for (std::size_t d = 0; d < input.dim_names.size(); d++)
            if (input.dim_names[d] == name || input.dim_names[d] == printable(name)) {
                input.dims[d] = size;
                is_known = true;
            }
    }
    if (!is_known)
        refuse("dimension " + quoted(name) + ": no input has a dimension of this name");
    if (size < 0)
        refuse("dimension '" + name + "' is " + std::to_string(size) + ", allowed is 0 or more");
}

/// A shape must not contradict the size that its dimension's name has.
void require_dimension(const graph &g, const std::string &name, dim_t size) {
    for (const tensor_id t : inputs_of(g)) {
        const tensor &input = tensor_at(g, t);
        for (std::size_t d = 0; d < input.dim_names.size(); d++)
            if (input.dim_names[d] == name && input.dims[d] != size)
                refuse("dimension '" + name + "' is " + std::to_string(size) + ", but shape " +
                       to_text(input.dims) + " of input '" + input.name + "' has " +
                       std::to_string(input.dims[d]) + " there");
    }
}

/// Whether nodes compute shapes, from which those of others follow.
bool computes_shapes(const graph &g) {
    return any_of(g.nodes, [&](const node &n) {
        return any_of(outputs_of(n), [&](tensor_id t) { return t && tensor_at(g, t).data.size() != 0; });
    });
}

/// Shapes that were given for outputs are what the inputs' give.
void check_outputs(const graph &g, const network_sizes &sizes) {
    for (const auto &[name, dims] : sizes.shapes)
        if (const tensor_id t = output_named(g, name); t && tensor_at(g, t).dims != dims)
            refuse("shape " + to_text(dims) + " of output '" + name + "' is given, the inputs' shapes give " +
                   to_text(tensor_at(g, t).dims));
}

memory::dims &input_dims(graph &g, tensor_id t) { return tensor_at(g, t).dims; }

void infer_with_batch(graph &g, dim_t batch) {
    for (const tensor_id t : inputs_of(g))
        if (!input_dims(g, t).empty())
            input_dims(g, t).front() = batch;
    infer_shapes(g);
}

bool is_first_open(const graph &g, tensor_id t) {
    const memory::dims &dims = tensor_at(g, t).dims;
    return !dims.empty() && dims.front() < 0;
}

bool has_open_first_dimension(const graph &g) {
    return any_of(inputs_of(g), [&](tensor_id t) { return is_first_open(g, t); });
}

template <typename Change> bool succeeds(graph &g, const Change &change) {
    graph changed = g;
    try {
        change(changed);
    } catch (const error &) {
        return false;
    }
    g = std::move(changed);
    return true;
}

/// Shapes that constants name have the old batch in them, or the one that is wanted; those that are computed follow
/// the inputs.
void change_batch(graph &g, dim_t batch) {
    const auto set = [&](graph &of) { set_batch(of, batch); };
    if (!dialect_of(g.framework).infers_all) {
        set(g);
        return follow_shapes(g);
    }
    const auto infer = [&](graph &of) { infer_with_batch(of, batch); };
    if (batch >= 1 && (computes_shapes(g) || has_open_first_dimension(g)))
        return infer(g);
    if (batch >= 1 && (succeeds(g, set) || succeeds(g, infer)))
        return;
    set(g);
}

} // namespace

bool has_open_sizes(const graph &g) {
    return any_of(inputs_of(g), [&](tensor_id t) {
        const memory::dims &dims = tensor_at(g, t).dims;
        return std::any_of(dims.begin(), dims.end(), [](dim_t d) { return d < 0; });
    });
}

void set_input_sizes(graph &g, const network_sizes &sizes) {
    for (const auto &[name, size] : sizes.dimensions)
        set_dimension(g, name, size);
    for (const auto &[name, dims] : sizes.shapes)
        if (node *const n = writer_of(g, name))
            set_mark(*n, &node_marks::declared, dims);
        else
            set_dims(input_named(g, name), dims);
    for (const auto &[name, size] : sizes.dimensions)
        require_dimension(g, name, size);
    for (const tensor_id t : inputs_of(g))
        if (sizes.batch != 0 && is_first_open(g, t))
            input_dims(g, t).front() = sizes.batch;
}

void require_first_dimensions(const graph &g) {
    if (!has_open_first_dimension(g))
        return;
    graph one = g;
    for (const tensor_id t : inputs_of(g))
        if (is_first_open(g, t))
            input_dims(one, t).front() = 1;
    std::string reason;
    try {
        infer_shapes(one);
    } catch (const error &e) {
        reason = std::string("; with 1, ") + e.what();
    }
    refuse("the first dimension of an input has no fixed size, and none is given; options batch, shapes and "
           "dimensions "
           "give one" +
           reason);
}

} // namespace octet::model

void octet::model::set_sizes(graph &g, const network_sizes &sizes) {
    set_input_sizes(g, {0, sizes.shapes, sizes.dimensions});
    if (!sizes.dimensions.empty() || !sizes.shapes.empty()) {
        infer_shapes(g);
        check_outputs(g, sizes);
    }
    if (sizes.batch != 0)
        change_batch(g, sizes.batch);
}
