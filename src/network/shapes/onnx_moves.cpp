// Shapes of what moves elements and computes nothing. New dimensions come out of a file, so each size is checked
// against the elements that there are.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/onnx.hpp"

#include "network/graph/element_map.hpp"

namespace octet::model::shape {
namespace {

using dims = memory::dims;

void join(node_shapes &n, std::size_t first, std::size_t step) {
    dims result = n.dims_of_rank(first, 1);
    if (!n.has_attribute("axis"))
        refuse("attribute 'axis' is missing");
    const std::size_t axis = n.axis(n.integer("axis", 0), result.size());
    for (std::size_t i = first + step; i < n.input_count(); i += step) {
        dims d = n.dims_of_rank(i, 1);
        const dim_t size = d.size() == result.size() ? d[axis] : 0;
        if (d.size() == result.size())
            d[axis] = result[axis];
        if (d != result || n.input(i).type != n.input(first).type)
            refuse("input " + std::to_string(i) + " (" + to_text(n.dims(i)) +
                   ") differs from the first in more than axis " + std::to_string(axis));
        result[axis] += size;
    }
    n.set_output(n.input(first).type, result);
}

/// An attribute in older operator sets, an input in newer ones.
std::vector<std::int64_t> axes_of(const node_shapes &n) {
    return n.has_input(1) ? n.constant(1) : n.integers("axes", {});
}

/// An image whose strides nobody asks for.
blocked_image image_in_blocks(const node_shapes &n) { return {{n.dims(0), {}}, n.integer("blocksize", 0)}; }

} // namespace

void concat(node_shapes &n) { join(n, 0, 1); }

void qlinear_concat(node_shapes &n) { join(n, 2, 3); }

void flatten(node_shapes &n) {
    const dims x = n.dims(0);
    const std::size_t axis = n.axis(n.integer("axis", 1), x.size(), 1);
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(axis);
    n.set_output(n.input(0).type,
                 {element_count(dims(x.begin(), middle)), element_count(dims(middle, x.end()))});
}

/// 0 keeps a dimension, -1 takes what is left.
void reshape(node_shapes &n) {
    const dims x = n.dims(0);
    const bool zero_is_zero = n.integer("allowzero", 0) != 0;
    dims result = n.constant(1);
    std::int64_t known = 1, unknown = -1;
    if (result.size() > max_ndims)
        refuse("the shape has " + std::to_string(result.size()) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    for (std::size_t i = 0; i < result.size(); i++) {
        if (result[i] == 0 && !zero_is_zero && i < x.size())
            result[i] = x[i];
        if (result[i] == -1 && unknown < 0) {
            unknown = static_cast<std::int64_t>(i);
            continue;
        }
        if (result[i] < 0 || (result[i] > 0 && known > max_size / result[i]))
            refuse("the shape " + to_text(n.constant(1)) + " is none");
        known *= result[i];
    }
    if (unknown >= 0)
        result[static_cast<std::size_t>(unknown)] = known > 0 ? element_count(x) / known : 0;
    if (element_count(result) != element_count(x))
        refuse("input " + to_text(x) + " cannot take the shape " + to_text(n.constant(1)));
    n.set_output(n.input(0).type, result);
}

void squeeze(node_shapes &n) {
    const dims x = n.dims(0);
    std::vector<bool> drops(x.size());
    const bool drops_all = !n.has_input(1) && !n.has_attribute("axes");
    for (std::size_t i = 0; i < x.size(); i++)
        drops[i] = drops_all && x[i] == 1;
    for (const std::int64_t given : axes_of(n)) {
        const std::size_t axis = n.axis(given, x.size());
        if (x[axis] != 1)
            refuse("axis " + std::to_string(given) + " of " + to_text(x) + " is not 1");
        drops[axis] = true;
    }
    dims result;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!drops[i])
            result.push_back(x[i]);
    n.set_output(n.input(0).type, result);
}

void unsqueeze(node_shapes &n) {
    const std::vector<std::int64_t> axes = axes_of(n);
    const std::size_t rank = n.dims(0).size() + axes.size();
    if (rank > max_ndims)
        refuse("the output has " + std::to_string(rank) + " dimensions, allowed are up to " +
               std::to_string(max_ndims));
    std::vector<bool> is_new(rank);
    for (const std::int64_t given : axes) {
        const std::size_t axis = n.axis(given, rank);
        if (is_new[axis])
            refuse("axis " + std::to_string(given) + " is named twice");
        is_new[axis] = true;
    }
    dims result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; i++)
        result.push_back(is_new[i] ? 1 : n.dims(0)[next++]);
    n.set_output(n.input(0).type, result);
}

void transpose(node_shapes &n) {
    const dims x = n.dims(0);
    dims reversed(x.size());
    for (std::size_t i = 0; i < x.size(); i++)
        reversed[i] = static_cast<dim_t>(x.size() - 1 - i);
    const dims permutation = n.integers("perm", reversed);
    n.set_attribute("perm", permutation);
    std::vector<bool> is_used(x.size());
    dims result;
    for (const std::int64_t from : permutation) {
        const std::size_t axis = n.axis(from, x.size());
        if (from < 0 || is_used[axis])
            refuse("attribute 'perm' is not a permutation of " + std::to_string(x.size()) + " dimensions");
        is_used[axis] = true;
        result.push_back(x[axis]);
    }
    n.set_output(n.input(0).type, result);
}

/// Writes the padding of all dimensions as attribute `pads`.
void pad(node_shapes &n) {
    const std::string mode = n.text("mode", "constant");
    if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
        refuse("attribute 'mode' is '" + mode + "', allowed: constant, reflect, edge, wrap");
    dims result = n.dims(0);
    const std::size_t rank = result.size();
    const std::vector<std::int64_t> given = n.has_input(1) ? n.constant(1) : n.integers("pads", {});
    dims axes(rank);
    for (std::size_t i = 0; i < rank; i++)
        axes[i] = static_cast<dim_t>(i);
    if (n.has_input(3))
        axes = n.constant(3);
    if (given.size() != 2 * axes.size())
        refuse("the padding has " + std::to_string(given.size()) + " values, " + std::to_string(axes.size()) +
               " dimensions need " + std::to_string(2 * axes.size()));
    dims pads(2 * rank);
    std::vector<bool> is_named(rank);
    for (std::size_t i = 0; i < axes.size(); i++) {
        const std::size_t axis = n.axis(axes[i], rank);
        if (is_named[axis])
            refuse("axis " + std::to_string(axes[i]) + " is named twice");
        is_named[axis] = true;
        pads[axis] = given[i];
        pads[rank + axis] = given[axes.size() + i];
        result[axis] += pads[axis] + pads[rank + axis];
        if (result[axis] < 0)
            refuse("padding " + std::to_string(pads[axis]) + " and " + std::to_string(pads[rank + axis]) +
                   " leaves nothing of dimension " + std::to_string(axis) + " of " + to_text(n.dims(0)));
    }
    n.set_attribute("pads", pads);
    n.set_output(n.input(0).type, result);
}

void tile(node_shapes &n) {
    dims result = n.dims(0);
    const std::vector<std::int64_t> repeats = n.constant(1);
    if (repeats.size() != result.size())
        refuse(std::to_string(repeats.size()) + " repeats for " + std::to_string(result.size()) +
               " dimensions");
    for (std::size_t i = 0; i < repeats.size(); i++) {
        if (repeats[i] < 0 || repeats[i] > max_size)
            refuse("a dimension is repeated " + std::to_string(repeats[i]) + " times");
        result[i] *= repeats[i];
    }
    n.set_output(n.input(0).type, result);
}

void depth_to_space(node_shapes &n) {
    const std::string mode = n.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD")
        refuse("attribute 'mode' is '" + mode + "', allowed: DCR, CRD");
    n.set_output(n.input(0).type, image_in_blocks(n).wide_dims());
}

void space_to_depth(node_shapes &n) { n.set_output(n.input(0).type, image_in_blocks(n).deep_dims()); }

/// The second output, what was kept, is all; nobody can read it while nothing is dropped.
void dropout(node_shapes &n) {
    n.set_output_like(0);
    n.set_output(data_type::u8, n.dims(0), 1);
}

} // namespace octet::model::shape
