#pragma once // SPDX-License-Identifier: Apache-2.0

// Convolutions of floats with weights of codes, where each image becomes codes of one scale.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV with a quantizer and an order (octet/source_quantization.hpp).
std::unique_ptr<step> hybrid_convolution(const lowering &l, const source_quantization &q, combination order);

/// Of a fused activation on floats.
struct real_interval {
    float low, high;
};
real_interval interval_of_activation(const std::string &activation);

/// Throws unless weights have one scale, or one per column, and zero points of 0.
void check_hybrid_weights(const tensor &w, dim_t columns, std::int32_t column_axis);

} // namespace octet::model
