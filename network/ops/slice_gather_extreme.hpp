#pragma once // SPDX-License-Identifier: Apache-2.0

// Steps that take parts of a tensor, for the operators of every framework.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Takes `sizes` elements of each dimension of input 0, from `begin` on every stride-th. The output may have
/// other dimensions, with as many elements.
std::unique_ptr<step> make_slice(const lowering &l, const memory::dims &begin, const memory::dims &stride,
                                 const memory::dims &sizes);

/// Parts of an input along an axis, one behind the other, one for each output; where `drops_axis`, of one element each,
/// without that dimension.
std::unique_ptr<step> make_split(const lowering &l, std::size_t input, std::size_t axis, bool drops_axis);

/// Blocks of input 0 along an axis, in the order of the indices in input 1.
std::unique_ptr<step> make_gather(const lowering &l, std::size_t axis);

/// Throws if one of `count` indices is none of a dimension of that size, from its end if it is negative.
void check_indices(const std::int32_t *index, dim_t count, dim_t size);

/// Input 0 under the dimensions of the output, to which it broadcasts.
std::unique_ptr<step> make_expand(const lowering &l);

/// Computes the index of the largest or smallest element along an axis of input 0, codes or floats, as s32.
/// Among equal elements it takes the first or the last.
struct arg_extreme {
    bool is_smallest, takes_last;
    bool stops_at_nan = false; ///< the first NaN is it; otherwise only one at the beginning
};
std::unique_ptr<step> make_arg_extreme(const lowering &l, std::size_t axis, const arg_extreme &which);

/// An index into `rank` dimensions; negative ones count from the end.
std::size_t axis_among(std::int64_t given, std::size_t rank);

} // namespace octet::model
