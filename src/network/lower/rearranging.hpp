#pragma once // SPDX-License-Identifier: Apache-2.0

// A step for operators whose outputs take elements of input 0 by a rule for each dimension alone.

#include <vector>

#include "network/lower/lowering.hpp"

namespace octet::model {

/// For each dimension of the output an offset into the input per index; offsets of all dimensions add up.
using offsets = std::vector<std::vector<dim_t>>;
inline constexpr dim_t outside = -1; ///< instead of an offset: what is filled in

/// Offsets of indices into one dimension of the output.
template <typename F> std::vector<dim_t> offsets_of(dim_t count, const F &offset_at) {
    std::vector<dim_t> result(static_cast<std::size_t>(count));
    for (dim_t i = 0; i < count; i++)
        result[static_cast<std::size_t>(i)] = offset_at(i);
    return result;
}

/// `fill`: the bytes of an element that is outside.
std::unique_ptr<step> rearranged(const lowering &l, offsets from, std::vector<std::uint8_t> fill = {});

/// The same where `dst` is the output's buffer under other dimensions, those of `from`.
std::unique_ptr<step> rearranged_as(const lowering &l, const buffer &dst, offsets from,
                                    std::vector<std::uint8_t> fill = {});

/// An image whose channels become blocks of neighbours, or the other way around: dimensions and strides in the order
/// {N, C, H, W}, in whichever it lies.
struct blocked_image {
    memory::dims dims, strides;
    dim_t block;

    memory::dims wide_dims() const; ///< with channels as neighbours; refuses numbers that do not divide
    memory::dims deep_dims() const; ///< with neighbours as channels
};
/// Offsets in the same order. `channels_outside`: a channel's places are neighbours (CRD), not a place's channels (DCR).
offsets depth_to_space(const blocked_image &x, bool channels_outside);
offsets space_to_depth(const blocked_image &x);

/// Repeats input 0 along each dimension, as often as it fits into the output.
std::unique_ptr<step> make_tile(const lowering &l);

/// Elements of input 0 in a mode of ONNX's Pad, or "symmetric", with negative numbers where some are cut off.
std::unique_ptr<step> make_any_padding(const lowering &l, const memory::dims &before,
                                       const memory::dims &after, const std::string &mode,
                                       const std::vector<std::uint8_t> &element);

} // namespace octet::model
