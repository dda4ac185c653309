#pragma once // SPDX-License-Identifier: Apache-2.0

// THE definition of the fixed-point requantization rules: int32 accumulator and multiplier in, int32 out
// (before the destination zero point). The JIT emits the same functions in vectors; tests hold both against
// the check values and against gemmlowp. Float rules live in bound_epilogue.cpp, where their scales, bias and
// post-ops meet.

#include "common/rounding.hpp"
#include "common/rules.hpp"
#include "octet/requantization.hpp"

namespace octet::impl {

/// TFLite (default build): two roundings, the first ties up, the second away from zero. `shift` is a left
/// shift. M = 0.25, acc = 1 gives 1: SRDHM(1, 2^30) = 1 (from 0.5), RDP(1, 1) = 1 (from 0.5).
constexpr std::int32_t tflite_2step(std::int32_t acc, fixed_point_multiplier m) {
    const int left = m.shift > 0 ? m.shift : 0, right = m.shift > 0 ? 0 : -m.shift;
    const std::int32_t shifted =
        wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(std::int64_t{acc}) << left));
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, m.multiplier), right);
}

/// TFLite with single rounding, ruy and SNPS-Caffe per channel: one rounding, ties up; the low 32 bits are
/// kept.
constexpr std::int32_t tflite_1step(std::int32_t acc, fixed_point_multiplier m) {
    return wrap(rounded_shift_right(std::int64_t{acc} * m.multiplier, 31 - m.shift));
}

/// ruy on x86: both roundings of tflite_2step with ties up, as one of the exact product.
constexpr std::int32_t ruy_2step(std::int32_t acc, fixed_point_multiplier m) {
    const int left = m.shift > 0 ? m.shift : 0, right = m.shift > 0 ? 0 : -m.shift;
    const std::int32_t shifted =
        wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(std::int64_t{acc}) << left));
    const std::int64_t high = rounded_shift_right(std::int64_t{shifted} * m.multiplier, 31);
    return static_cast<std::int32_t>(rounded_shift_right(high, right));
}

/// One rounding, ties away from zero; the low 32 bits are kept.
constexpr std::int32_t half_away_1step(std::int32_t acc, fixed_point_multiplier m) {
    return wrap(rounded_shift_right(std::int64_t{acc} * m.multiplier - (acc < 0 ? 1 : 0), 31 - m.shift));
}

/// gemmlowp QuantizeDownInt32ByFixedPoint; caffe2_2step is the same function of its own (multiplier, right
/// shift).
constexpr std::int32_t gemmlowp_fixedpoint(std::int32_t acc, fixed_point_multiplier m) {
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(acc, m.multiplier), m.shift);
}

/// gemmlowp ScaleInt32ByFixedPointAndExponent (scalar code): the left shift saturates.
constexpr std::int32_t gemmlowp_fixedpoint_exponent(std::int32_t acc, fixed_point_multiplier m) {
    const int left = m.shift > 0 ? m.shift : 0, right = m.shift > 0 ? 0 : -m.shift;
    const std::int32_t shifted = saturate_s32(std::int64_t{acc} * (std::int64_t{1} << left));
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, m.multiplier), right);
}

/// gemmlowp QuantizeDownInt32ToUint8Scale: offset first; sum and product wrap; ties away from zero.
constexpr std::int32_t gemmlowp_legacy_scale(std::int32_t acc, fixed_point_multiplier m) {
    return rounding_divide_by_pot(wrap(std::int64_t{wrapping_add(acc, m.offset)} * m.multiplier), m.shift);
}

/// One rounded shift of the exact 64-bit product, ties up; a negative shift is a left shift.
constexpr std::int64_t rounded_shift(std::int32_t acc, fixed_point_multiplier m) {
    const std::int64_t product = std::int64_t{acc} * m.multiplier;
    if (m.shift >= 0)
        return rounded_shift_right(product, m.shift);
    const std::int64_t limit = std::numeric_limits<std::int64_t>::max() >> -m.shift;
    return clamp(product, -limit, limit) * (std::int64_t{1} << -m.shift);
}

/// Caffe2/QNNPACK average pooling: 24-bit multiplier, ties away from zero, low 32 bits.
constexpr std::int32_t qnnpack_avgpool(std::int32_t acc, fixed_point_multiplier m) {
    return wrap(rounded_shift_right(std::int64_t{acc} * m.multiplier - (acc < 0 ? 1 : 0), m.shift));
}

/// SNPS-Caffe EV mode: round(acc * m / 2^s), ties to even.
constexpr std::int64_t ev_rte15(std::int32_t acc, fixed_point_multiplier m) {
    const std::int64_t x = std::int64_t{acc} * m.multiplier;
    return (x + ((x >> m.shift) & 1) + (std::int64_t{1} << (m.shift - 1)) - 1) >> m.shift;
}

/// SNPS-Caffe: scale = m * 2^-r with m in [0.5, 1); codes are floats, each step is rounded to float. The
/// product is taken in the type of the scale: double for InnerProduct, float for Deconvolution.
template <typename Scale> float caffe_double_round(std::int32_t acc, Scale scale) {
    int exponent = 0;
    const Scale mantissa = std::frexp(scale, &exponent);
    const float power = std::ldexp(1.f, -exponent);
    const float first =
        static_cast<float>(round_half_away(static_cast<Scale>(static_cast<float>(acc)) * mantissa));
    return round_half_away(first / power);
}

/// SNPS-Caffe's InnerProduct with the methods ONNX and Caffe2.
inline std::int32_t f64_scale(std::int32_t acc, double scale) {
    const double x = round_to_even(static_cast<double>(acc) * scale);
    return static_cast<std::int32_t>(clamp(x, double{int32_min}, double{int32_max}));
}

/// LiteRT's FULLY_CONNECTED with real scales.
inline std::int32_t f64_half_away(std::int32_t acc, double scale) {
    const double x = round_half_away(static_cast<double>(acc) * scale);
    return static_cast<std::int32_t>(clamp(x, double{int32_min}, double{int32_max}));
}

/// ONNX's reference evaluator: the zero point is added in double before the one rounding. The result is
/// without it again.
inline std::int32_t onnx_f64(std::int32_t acc, double scale, std::int32_t zero_point) {
    const double shifted = static_cast<double>(acc) * scale + static_cast<double>(zero_point);
    const double x = round_to_even(shifted) - static_cast<double>(zero_point);
    return static_cast<std::int32_t>(clamp(x, double{int32_min}, double{int32_max}));
}

/// Rules with a (multiplier, shift); saturates the wide results of rounded_shift and ev_rte15.
constexpr std::int32_t requantize(requantization_rule rule, std::int32_t acc, fixed_point_multiplier m) {
    switch (rule) {
    case requantization_rule::tflite_2step:
        return tflite_2step(acc, m);
    case requantization_rule::tflite_single_rounding:
    case requantization_rule::tflite_1step:
        return tflite_1step(acc, m);
    case requantization_rule::caffe2_2step:
    case requantization_rule::gemmlowp_fixedpoint:
        return gemmlowp_fixedpoint(acc, m);
    case requantization_rule::gemmlowp_fixedpoint_exponent:
        return gemmlowp_fixedpoint_exponent(acc, m);
    case requantization_rule::gemmlowp_legacy_scale:
        return gemmlowp_legacy_scale(acc, m);
    case requantization_rule::ruy_2step:
        return ruy_2step(acc, m);
    case requantization_rule::half_away_1step:
        return half_away_1step(acc, m);
    case requantization_rule::rounded_shift:
    case requantization_rule::xnnpack_rndnu:
        return saturate_s32(rounded_shift(acc, m));
    case requantization_rule::qnnpack_avgpool:
        return qnnpack_avgpool(acc, m);
    case requantization_rule::ev_rte15:
        return saturate_s32(ev_rte15(acc, m));
    default:
        return acc;
    }
}

/// Rules with a real scale; `is_f32`: given as float. `zero_point`: the destination's, for the rule that adds
/// it before it rounds.
inline std::int32_t requantize(requantization_rule rule, std::int32_t acc, double scale, bool is_f32,
                               std::int32_t zero_point = 0) {
    switch (rule) {
    case requantization_rule::caffe_double_round:
        return round_to_s32(is_f32 ? caffe_double_round(acc, static_cast<float>(scale))
                                   : caffe_double_round(acc, scale));
    case requantization_rule::f64_scale:
        return f64_scale(acc, scale);
    case requantization_rule::f64_half_away:
        return f64_half_away(acc, scale);
    case requantization_rule::onnx_f64:
        return onnx_f64(acc, scale, zero_point);
    default:
        return acc;
    }
}

/// A negative multiplier of LEAKY_RELU: TFLite applies its magnitude and negates the result.
constexpr std::int32_t requantize_signed(requantization_rule rule, std::int32_t x, fixed_point_multiplier m) {
    if (m.multiplier >= 0)
        return requantize(rule, x, m);
    m.multiplier = wrap(-std::int64_t{m.multiplier});
    return wrap(-std::int64_t{requantize(rule, x, m)});
}

} // namespace octet::impl
