#pragma once // SPDX-License-Identifier: Apache-2.0

// Binary operations, and whose arithmetic combines the operands.

#include "common/problem.hpp"

namespace octet::impl {

/// The arithmetic that combines two operands: octet/binary.hpp has the formulas.
enum class binary_form {
    f32,         ///< (s_0 * src_0) op (s_1 * src_1)
    scaled_sum,  ///< TFLite: the out stage's rule on the sum or difference of rescaled operands
    product,     ///< TFLite: the out stage's rule on the product
    qlinear_sum, ///< ONNX Runtime: raw codes, zero points folded into one constant
    qlinear_product,
    qnnpack_sum, ///< Caffe2: integer multipliers for both operands, one rounded shift, ties away from zero
    xnnpack_sum, ///< the same with ties up
    dequantized, ///< real operands; then divided by the destination's scale
};

struct binary_problem {
    memory_desc src0, src1, dst;
    algorithm alg = algorithm::undef;
    binary_form form = binary_form::f32;
    float scale0 = 1.f, scale1 = 1.f, dst_scale = 1.f;
    /// scaled_sum: applied after a left shift by 20; qnnpack_sum, xnnpack_sum: the shift is common to both.
    fixed_point_multiplier multiplier0, multiplier1;
    zero_points zero_points0{{}, OCTET_ARG_SRC_0}, zero_points1{{}, OCTET_ARG_SRC_1};
    /// qlinear forms: part of the arithmetic, not of out_stage.
    zero_points dst_zero_point{{}, OCTET_ARG_DST};
    epilogue out_stage;
};

} // namespace octet::impl
