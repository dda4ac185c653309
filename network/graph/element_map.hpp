#pragma once // SPDX-License-Identifier: Apache-2.0

// Describes operators that only move elements: for each dimension of the output, an offset into the input for
// each index. The same map gives the dimensions of the output, its elements if they are known when a file is
// read (shapes/known_integers.cpp), and the step that moves them (ops/element_map_step.hpp). A map cannot
// tell whether an operator keeps the rows of a batch apart, because at a batch of 1 a transposition looks
// like a copy (node_rows.cpp).

#include <string>
#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// For each dimension of the output an offset into the input per index; offsets of all dimensions add up.
using element_map = std::vector<std::vector<dim_t>>;
inline constexpr dim_t outside = -1; ///< instead of an offset: what is filled in

/// Offsets of indices into one dimension of the output.
template <typename F> std::vector<dim_t> offsets_of(dim_t count, const F &offset_at) {
    std::vector<dim_t> result(static_cast<std::size_t>(count));
    for (dim_t i = 0; i < count; i++)
        result[static_cast<std::size_t>(i)] = offset_at(i);
    return result;
}

memory::dims dims_of(const element_map &map);

/// Dimensions of a tensor and the distances between its elements, in elements.
struct placed_dims {
    memory::dims dims, strides;

    placed_dims(memory::dims d, memory::dims s) : dims(std::move(d)), strides(std::move(s)) {}
    explicit placed_dims(const memory::dims &row_major);
};

/// Slice: `sizes` elements of each dimension, from `begin` on every stride-th. Throws where one is outside.
///@{
void check_slice(const memory::dims &x, const memory::dims &begin, const memory::dims &stride,
                 const memory::dims &sizes);
element_map sliced(const placed_dims &x, const memory::dims &begin, const memory::dims &stride,
                   const memory::dims &sizes);
///@}
/// Transpose: `permutation` names the source of each output dimension.
element_map transposed(const placed_dims &x, const std::vector<std::int64_t> &permutation);
/// Expand: dimensions of 1, and missing leading ones, are repeated. Throws where they do not broadcast to `y`.
element_map expanded(const memory::dims &x, const memory::dims &y);
/// Tile: each dimension is repeated as often as it fits into `y`.
element_map tiled(const placed_dims &x, const memory::dims &y);
/// Reverse: the dimensions that are named, from their ends.
element_map reversed(const placed_dims &x, const std::vector<bool> &is_reversed);

/// Returns `dims` with `before` and `after` elements added at each end; negative numbers cut elements off.
/// Throws if a sum would wrap around.
memory::dims padded(memory::dims dims, const memory::dims &before, const memory::dims &after);
/// Pad: a mode of ONNX's Pad, or "symmetric", with negative numbers where elements are cut off before others
/// are repeated.
element_map padded(const placed_dims &x, const memory::dims &before, const memory::dims &after,
                   const std::string &mode);

/// An image whose channels become blocks of neighbours, or the other way around: dimensions and strides in the order
/// {N, C, H, W}, in whichever it lies.
struct blocked_image {
    placed_dims x;
    dim_t block;

    memory::dims wide_dims() const; ///< with channels as neighbours; refuses numbers that do not divide
    memory::dims deep_dims() const; ///< with neighbours as channels
};
/// Offsets in the same order. With `channels_outside` the places of a channel are neighbours (CRD), otherwise
/// the channels of a place (DCR).
element_map depth_to_space(const blocked_image &image, bool channels_outside);
element_map space_to_depth(const blocked_image &image);

/// Returns the strides with which a dense tensor of dimensions `of` is read at indices of `to`: 0 along
/// broadcast dimensions. Throws if `of` does not broadcast to `to`.
memory::dims broadcast_strides(const memory::dims &of, const memory::dims &to);

} // namespace octet::model
