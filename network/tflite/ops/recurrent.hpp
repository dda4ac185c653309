#pragma once // SPDX-License-Identifier: Apache-2.0

// TFLite's operators with state share this code. Their products are Octet's inner products with 32-bit
// results; the arithmetic between the products is in loops of their own (integers.hpp).

#include <optional>

#include "network/tflite/ops/operators.hpp"

namespace octet::model {

/// A tensor that keeps its contents from run to run and belongs to the node, with these dimensions.
const tensor &state_input(const lowering &l, std::size_t i, std::initializer_list<data_type> types,
                          const memory::dims &dims);

/// Constant s8 weights with one scale and zero point 0.
const tensor &symmetric_weights(const lowering &l, std::size_t i, const memory::dims &dims);

/// Sums of products: s32 [rows, outputs] = (src [rows, depth] - zero point) * weights + bias.
struct recurrent_product {
    dim_t rows;
    std::size_t weights;             ///< input [outputs, depth]
    std::optional<std::size_t> bias; ///< input [outputs]
    std::int32_t src_zero_point;
};
/// Appends it to `s`; the result is the scratch of the sums.
buffer add_product(primitive_step &s, const lowering &l, const recurrent_product &p, const buffer &src);

/// TFLite's multiplier of a real factor, which has to be below 2^30.
fixed_point_multiplier tflite_multiplier(double real);

} // namespace octet::model
