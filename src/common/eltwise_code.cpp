// TFLite Micro's integer functions, one by one, then functions of real values between dequantization and quantization.
// SPDX-License-Identifier: Apache-2.0
#include "common/eltwise_code.hpp"

#include <algorithm>
#include <cmath>

#include "common/eltwise_math.hpp"
#include "common/fixed_point.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"

namespace octet::impl {

namespace {

// ---- TFLite Micro

constexpr int sigmoid_input_integer_bits = 4; // the argument of logistic and tanh: Q4.27

/// |code - zero point| from which on a result is its limit: 15 in real numbers.
double sigmoid_input_radius(fixed_point_multiplier m) {
    const double highest = (1 << sigmoid_input_integer_bits) - 1;
    return std::floor(std::ldexp(highest, 31 - sigmoid_input_integer_bits - m.shift));
}

/// Codes relative to the zero point: 0 … 255 in 1/256.
std::int32_t tflite_logistic(const eltwise_problem &p, std::int32_t d) {
    const double radius = sigmoid_input_radius(p.multiplier);
    if (d <= -radius)
        return 0;
    if (d >= radius)
        return 255;
    const std::int32_t x = requantize(p.out_stage.rule, d, p.multiplier);
    return rounding_divide_by_pot(logistic(x, sigmoid_input_integer_bits), 23);
}

/// -128 … 127 in 1/128.
std::int32_t tflite_tanh(const eltwise_problem &p, std::int32_t d) {
    const double radius = sigmoid_input_radius(p.multiplier);
    if (d <= -radius)
        return -128;
    if (d >= radius)
        return 127;
    const std::int32_t x = requantize(p.out_stage.rule, d, p.multiplier);
    return rounding_divide_by_pot(tanh(x, sigmoid_input_integer_bits), 24);
}

std::int32_t tflite_relu(const eltwise_problem &p, std::int32_t d) {
    if (p.has_negative_multiplier)
        return requantize_signed(p.out_stage.rule, d, d >= 0 ? p.multiplier : p.negative_multiplier);
    return std::max(requantize(p.out_stage.rule, d, p.multiplier), 0);
}

std::int32_t tflite_clip(const eltwise_problem &p, std::int32_t d) {
    const std::int32_t x = p.rescales ? requantize(p.out_stage.rule, d, p.multiplier) : d;
    return clamp(x, p.low, p.high);
}

/// x / 2^n; halves go away from zero, in vectors of AArch64 up.
std::int32_t shifted_hard_swish(const eltwise_problem &p, std::int32_t x, int n) {
    return is_litert_neon(p.out_stage.rule) ? static_cast<std::int32_t>(rounded_shift_right(x, n))
                                            : rounding_divide_by_pot_s16(x, n);
}

/// x * clamp((x + 3) / 6, 0, 1) in 16 bits, as TFLite's HardSwish computes it.
std::int32_t tflite_hard_swish(const eltwise_problem &p, std::int32_t d) {
    constexpr std::int32_t low = -32768, high = 32767;
    const std::int32_t x = d * 128; // 16 bits
    const std::int32_t rescaled = saturating_rounding_doubling_high_mul_s16(x, p.multiplier.multiplier);
    // The gate from -1 to 1: left shifts saturate, the last of them behind the product.
    const int shift = p.gate_multiplier.shift;
    std::int32_t gate = x;
    if (shift > 0)
        gate = clamp(saturate_s32(gate * (std::int64_t{1} << std::min(shift - 1, 31))), low, high);
    gate = saturating_rounding_doubling_high_mul_s16(gate, p.gate_multiplier.multiplier);
    gate = shift > 0 ? clamp(gate * 2, low, high) : shifted_hard_swish(p, gate, -shift);
    gate = (gate + (1 << 15)) >> 1; // from 0 to 1
    const std::int32_t product =
        is_litert_neon(p.out_stage.rule) ? gate * rescaled >> 15 : gate * rescaled / (1 << 15); // towards 0
    return shifted_hard_swish(p, product, -p.multiplier.shift);
}

/// TFLite's table of a real function, for one code.
std::int32_t tflite_elu(const eltwise_problem &p, std::int32_t d) {
    const float x = p.src_scale * static_cast<float>(d);
    const float y = x < 0.f ? static_cast<float>(std::exp(static_cast<double>(x))) - 1.f : x;
    return static_cast<std::int32_t>(clamp(round_half_away(y * (1.f / p.dst_scale)), -0x1p30f, 0x1p30f));
}

std::int32_t fixed_point_function(const eltwise_problem &p, std::int32_t d) {
    switch (p.alg) {
    case algorithm::eltwise_logistic:
        return tflite_logistic(p, d);
    case algorithm::eltwise_tanh:
        return tflite_tanh(p, d);
    case algorithm::eltwise_relu:
        return tflite_relu(p, d);
    case algorithm::eltwise_hardswish:
        return tflite_hard_swish(p, d);
    case algorithm::eltwise_elu:
        return tflite_elu(p, d);
    case algorithm::eltwise_abs:
        return requantize(p.out_stage.rule, std::abs(d), p.multiplier);
    default:
        return tflite_clip(p, d);
    }
}

// ---- Real values

float real_function(const eltwise_problem &p, float x) {
    const requantization_rule rule = p.out_stage.rule;
    if (p.alg == algorithm::eltwise_logistic && is_ort(rule))
        return qlinear_logistic(x);
    if (p.alg == algorithm::eltwise_logistic && is_snps_caffe(rule))
        return eltwise_tanh(x * 0.5f) * 0.5f + 0.5f;
    // ONNX Runtime keeps a zero or positive value, oneDNN a positive one: they differ for -0 and NaN only.
    return eltwise(p.alg, p.alpha, p.beta, x);
}

number quantized(const eltwise_problem &p, float y) {
    if (is_ort(p.out_stage.rule))
        return y / p.dst_scale;
    return is_snps_caffe(p.out_stage.rule) ? round_half_away(y / p.dst_scale) : y;
}

} // namespace

number eltwise_of_code(const eltwise_problem &p, std::int32_t code, std::int32_t zero_point) {
    const std::int32_t d = wrap(std::int64_t{code} - zero_point);
    if (is_tflite(p.out_stage.rule) || is_litert_neon(p.out_stage.rule))
        return fixed_point_function(p, d);
    return quantized(p, real_function(p, p.src_scale * static_cast<float>(d)));
}

number eltwise_of_real(const eltwise_problem &p, float x, std::int32_t zero_point) {
    const float real = zero_point == 0 ? x : x - static_cast<float>(zero_point);
    const bool is_scaled = p.src_scale != 1.f; // else signaling NaNs would become quiet ones
    return quantized(p, real_function(p, is_scaled ? p.src_scale * real : real));
}

} // namespace octet::impl
