// Shapes of what computes one number, or new ones, of a whole row.
// SPDX-License-Identifier: Apache-2.0
#include "network/shapes/onnx.hpp"

namespace octet::model::shape {
namespace {

using dims = memory::dims;

/// Without the reduced dimensions, or with 1 in their place.
dims reduced(const dims &x, const std::vector<bool> &is_reduced, bool keeps) {
    dims result;
    for (std::size_t i = 0; i < x.size(); i++)
        if (!is_reduced[i])
            result.push_back(x[i]);
        else if (keeps)
            result.push_back(1);
    return result;
}

/// ONNX Runtime takes 1 alone for yes.
bool keeps_dims(const node_shapes &n) { return n.integer("keepdims", 1) == 1; }

} // namespace

/// Writes `reduced`: x's dimensions with 1 where they are reduced.
void reduce(node_shapes &n) {
    const dims x = n.dims(0);
    const std::vector<std::int64_t> axes = n.has_input(1) ? n.constant(1) : n.integers("axes", {});
    const bool is_noop = axes.empty() && n.integer("noop_with_empty_axes", 0) != 0;
    std::vector<bool> is_reduced(x.size(), axes.empty() && !is_noop);
    for (const std::int64_t given : axes)
        is_reduced[n.axis(given, x.size())] = true;
    n.set_attribute("reduced", reduced(x, is_reduced, true));
    n.set_output(n.input(0).type, reduced(x, is_reduced, keeps_dims(n)));
}

void arg_max(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    std::vector<bool> is_reduced(x.size());
    is_reduced[n.axis(n.integer("axis", 0), x.size())] = true;
    n.set_output(data_type::s32, reduced(x, is_reduced, keeps_dims(n)));
}

/// Y, and where they are asked for mean and inverse deviation of each row.
void layer_normalization(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 1);
    const std::size_t axis = n.axis(n.integer("axis", -1), x.size());
    dims rows = x;
    std::fill(rows.begin() + static_cast<std::ptrdiff_t>(axis), rows.end(), 1);
    n.set_output(n.input(0).type, x);
    n.set_output(data_type::f32, rows, 1);
    n.set_output(data_type::f32, rows, 2);
}

/// Y, mean, inverse deviation, and the sum that was normalized.
void skip_layer_normalization(node_shapes &n) {
    const dims x = n.dims_of_rank(0, 2);
    dims rows = x;
    rows.back() = 1;
    n.set_output(n.input(0).type, x);
    n.set_output(data_type::f32, rows, 1);
    n.set_output(data_type::f32, rows, 2);
    n.set_output(n.input(0).type, x, 3);
}

/// Embeddings of batch x length words, how many elements of each mask are set, and the sums that were normalized.
void embed_layer_normalization(node_shapes &n) {
    dims y = n.dims_of_rank(0, 2);
    n.set_output(data_type::s32, {y[0]}, 1);
    y.push_back(n.dims_of_rank(2, 2)[1]);
    n.set_output(data_type::f32, y);
    n.set_output(data_type::f32, y, 2);
}

/// A penalty for each column of the scores: of a mask {batch, length}, or of the lengths {batch}.
void attention_mask(node_shapes &n) {
    const dims mask = n.dims_of_rank(0, 1), x = n.dims_of_rank(1, 3);
    if (mask.size() > 2 || mask[0] != x[0] || (mask.size() == 2 && mask[1] != x[1]))
        refuse_as_unimplemented("a mask " + to_text(mask) + " for " + to_text(x) + ", allowed are " +
                                to_text({x[0], x[1]}) + " and " + to_text({x[0]}));
    n.set_output(data_type::f32, {x[0], 1, 1, x[1]});
}

} // namespace octet::model::shape
