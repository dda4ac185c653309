#pragma once // SPDX-License-Identifier: Apache-2.0

// When LiteRT's delegate gives a node to XNNPACK, as its source says: types, scales, constants. Each condition has the
// words with which it is told.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// `holds` is null where nothing is asked.
struct named_condition {
    const char *text;
    bool (*holds)(const lowering &);
};

namespace conditions {

bool product(const lowering &l);
bool u8_product(const lowering &l);
bool matmul(const lowering &l);
bool hybrid(const lowering &l);
bool delegated_hybrid(const lowering &l);
bool few_bits(const lowering &l);
bool delegated_few_bits(const lowering &l);
bool sum(const lowering &l);
bool mul(const lowering &l);
bool from_floats(const lowering &l);
bool floats_to_floats(const lowering &l);
bool requantize(const lowering &l);
bool leaky_relu(const lowering &l);
bool codes(const lowering &l);
bool s8_codes(const lowering &l);
bool s8_result(const lowering &l);
bool of_8_bits(const lowering &l);
bool spatial_mean(const lowering &l);
bool spatial_mean_of_s8(const lowering &l);
bool constant_axes(const lowering &l);
bool max_pool(const lowering &l);
bool constant_size(const lowering &l);
bool u8_of_other_scales(const lowering &l);

} // namespace conditions

inline constexpr named_condition delegated_product{
    "constant filter and bias, the bias quantized along dimension 0; s8: filter zero points 0, one scale or "
    "one per output channel; u8: one scale; "
    "CONV_2D, DEPTHWISE_CONV_2D: with a bias",
    conditions::product},
    delegated_u8_product{"u8, constant filter and bias, the bias quantized along dimension 0, one scale; "
                         "CONV_2D, DEPTHWISE_CONV_2D: with a bias",
                         conditions::u8_product},
    delegated_matmul{"both s8, zero point of the right one 0", conditions::matmul},
    hybrid{"f32 with weights of codes", conditions::hybrid},
    delegated_hybrid{"f32 with constant s8 weights, but for CONV_2D also s4 in rows of an even length, zero "
                     "points 0, constant "
                     "bias",
                     conditions::delegated_hybrid},
    few_bits{"s8 with s4 weights", conditions::few_bits},
    delegated_few_bits{"s8 with constant s4 weights in rows of an even length, zero points 0, constant bias, "
                       "quantized along dimension 0",
                       conditions::delegated_few_bits},
    delegated_sum{"2^-10 <= s_i / s_y < 2^8 for both", conditions::sum},
    delegated_mul{"2^-16 <= s_1 s_2 / s_y < 2^8", conditions::mul},
    from_floats{"f32 to s8, u8", conditions::from_floats},
    floats_to_floats{"f32 to f32", conditions::floats_to_floats},
    delegated_requantize{"s8 to s8, u8 to u8, 2^-8 <= s_x / s_y <= 2^7", conditions::requantize},
    delegated_leaky_relu{"alpha normal and not 0, 2^-8 <= s_x / s_y <= 2^7, -127.996 <= alpha s_x / s_y <= "
                         "128 and at least 2^-8 in "
                         "magnitude",
                         conditions::leaky_relu},
    delegated_codes{"one scale per tensor", conditions::codes}, delegated_s8{"s8", conditions::s8_codes},
    to_s8{"s8 result", conditions::s8_result}, of_8_bits{"s8, u8 to s8, u8", conditions::of_8_bits},
    spatial_mean{"4 dimensions, axes 1 and 2, kept", conditions::spatial_mean},
    spatial_mean_of_s8{"s8, 4 dimensions, axes 1 and 2, kept", conditions::spatial_mean_of_s8},
    constant_axes{"constant axes", conditions::constant_axes},
    delegated_max_pool{"equal quantization, strides not above the kernel", conditions::max_pool},
    constant_size{"equal quantization, constant size", conditions::constant_size},
    u8_of_other_scales{"u8, not all of one quantization", conditions::u8_of_other_scales};

/// Whether the delegate takes a node that XNNPACK then refuses, with which the delegation of the whole graph fails: an
/// effective scale of 256 and more, BATCH_MATMUL of u8.
bool fails_in_xnnpack(const lowering &l);

} // namespace octet::model
