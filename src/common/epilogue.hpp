#pragma once // SPDX-License-Identifier: Apache-2.0

// The epilogue: what happens between an accumulator and the destination. An attribute is lowered once into
// this value; common/bound_epilogue.hpp is its meaning for one element (doc/arithmetic.md has the formulas), and a
// JIT kernel emits the same steps for a tile, by functions of the same names (jit/epilogue/epilogue.cpp,
// post_ops.cpp and store.cpp). Order: bias and requantization → post-ops → destination zero point → saturating store.

#include <vector>

#include "common/layout/layout.hpp"
#include "common/post_ops.hpp"
#include "octet/primitive_attr.hpp"

namespace octet::impl {

struct epilogue {
    requantization_rule rule = requantization_rule::none; ///< never `automatic`
    memory_desc dst;
    memory_desc bias; ///< in dst's rank, broadcast; ndims 0 without bias

    // Masks of all values below select dimensions of dst.
    masked_values<float> output_scales;
    masked_values<float> src_scales, weights_scales, dst_scales; ///< the per-argument form of the same
    /// f32_v3: (acc * s_src) * s_weights, as oneDNN's matmul does, instead of acc * (s_src * s_weights).
    bool scale_src_first = false;
    masked_values<fixed_point_multiplier> multipliers;
    masked_values<double> real_scales; ///< caffe_double_round, f64_scale
    bool real_scales_are_f32 = false;
    std::vector<post_op_entry> post_ops;
    /// x + scale * y as one fused multiply-add; oneDNN's reorder rounds the product first.
    bool fused_sum = true;
    masked_values<std::int32_t> dst_zero_points;
};

/// True if some post-op reads the destination.
bool reads_dst(const epilogue &e);

/// Layout of prelu weights: dense f32, one per index of the masked dimensions of dst, dimension 1 innermost
/// as oneDNN reads them.
memory_desc prelu_weights(int mask, const memory_desc &dst);

/// The descriptor of the tensor that a post-op has as its operand.
memory_desc operand_desc(const post_op_entry &entry, const memory_desc &dst);

} // namespace octet::impl
