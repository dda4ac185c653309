#pragma once // SPDX-License-Identifier: Apache-2.0

// The numeric contracts and how each framework gets their parameters from real scales. Two frameworks that
// agree on a formula may differ in the last bit of a multiplier, so derivations are named, too.

#include <cstdint>
#include <vector>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// The numeric contract: how an int32 accumulator becomes a destination code. Chosen per primitive by its
/// attributes, never by a build flag and never by the CPU. Every formula: doc/arithmetic.md.
///
/// SRDHM(a, b) = floor((a*b + 2^30) / 2^31), saturated; RDP(x, e) = x / 2^e, ties away from zero;
/// rne / rha = nearest, ties to even / away from zero.
enum class requantization_rule {
    /// `none` for an s32 destination without scales, post-ops and f32 bias; `f32_v3` if per-argument scales
    /// are set; else `f32`.
    automatic,
    /// dst = acc, true s32 without a float in between (needs an s32 destination, or saturates to 8 bits).
    none,
    /// oneDNN 2.x: rne(clamp(post_ops((f32(acc) + bias) * scale) + zp)). The default with output scales.
    f32,
    /// oneDNN 3.x: bias after the scale s_src*s_wei, reciprocal of the destination scale after the post-ops.
    f32_v3,
    /// ONNX Runtime: rne(clamp(f32(acc + bias) * scale, qmin - zp, qmax - zp)) + zp. Bias is s32.
    ort_f32,
    /// TFLite's reference kernels and TFLite Micro (default build), not XNNPACK: RDP(SRDHM(acc << max(e,0),
    /// q), max(-e,0)) + zp.
    tflite_2step,
    /// TFLite built with TFLITE_SINGLE_ROUNDING: (acc*q + 2^(30-e)) >> (31-e).
    tflite_single_rounding,
    /// The formula of tflite_single_rounding in ruy and SNPS-Caffe's per-channel convolution.
    tflite_1step,
    /// Caffe2, QNNPACK: as tflite_2step, with a right shift and multipliers below 1.
    caffe2_2step,
    /// gemmlowp QuantizeDownInt32ByFixedPoint: RDP(SRDHM(acc, q), r) + zp.
    gemmlowp_fixedpoint,
    /// gemmlowp ScaleInt32ByFixedPointAndExponent: left shift saturates, then as tflite_2step.
    gemmlowp_fixedpoint_exponent,
    /// gemmlowp QuantizeDownInt32ToUint8Scale: RDP((acc + offset) * q, r).
    gemmlowp_legacy_scale,
    /// Fixed-point reciprocal with one rounded shift: (acc*q + 2^(s-1)) >> s.
    rounded_shift,
    /// SNPS-Caffe InnerProduct and Deconvolution: rha(rha(acc*m) / 2^r) in floating point.
    caffe_double_round,
    /// Caffe2/QNNPACK average pooling: 24-bit multiplier, ties away from zero.
    qnnpack_avgpool,
    /// SNPS-Caffe in EV mode: 15-bit multiplier, ties to even.
    ev_rte15,
    /// SNPS-Caffe InnerProduct with the methods ONNX and Caffe2: rne(f64(acc) * scale) + zp, in double.
    f64_scale,
    /// XNNPACK on x86, LiteRT's default. Products as ort_f32; other operators: octet/binary.hpp,
    /// octet/resampling.hpp.
    xnnpack_f32,
    /// XNNPACK's products of u8 codes and its MUL on Arm ("rndnu"): (acc*q + 2^(s-1)) >> s, where q is the
    /// 24-bit mantissa of an f32 factor.
    xnnpack_rndnu,
    /// ruy on x86, for what LiteRT does not delegate: as tflite_2step, but ties of both roundings go up.
    ruy_2step,
    /// One rounding of the exact product of accumulator and Q31 multiplier, ties away from zero.
    half_away_1step,
    /// LiteRT's FULLY_CONNECTED with real scales: rha(f64(acc) * scale) + zp, in double.
    f64_half_away,
    /// FBGEMM with an f32 bias, in units of the accumulator: rne((f32(acc) + bias) * scale) + zp.
    fbgemm_f32,
    /// ONNX's specification of QLinearConv and QLinearMatMul, as its reference evaluator computes it:
    /// rne(f64(acc) * scale + zp), in double. The tie falls after the zero point is added.
    onnx_f64,
};

/// The rule that a framework's operators have unless they say otherwise.
///@{
constexpr requantization_rule tflite_rule = requantization_rule::tflite_2step; ///< TFLite's reference kernels
constexpr requantization_rule onnxruntime_rule = requantization_rule::ort_f32; ///< ONNX Runtime
///@}

/// A real factor in fixed point. The meaning of `shift` is the framework's own, so that its numbers can be
/// handed over unchanged:
/// - tflite_2step, tflite_single_rounding, tflite_1step, ruy_2step, half_away_1step: multiplier * 2^(shift -
///   31), a left shift; multiplier >= 0, shift -31 … 30.
/// - gemmlowp_fixedpoint_exponent: multiplier * 2^(shift - 31), a left shift; shift -31 … 31.
/// - caffe2_2step, gemmlowp_fixedpoint: multiplier * 2^(-31 - shift), a right shift; shift 0 … 31.
/// - gemmlowp_legacy_scale: (acc + offset) * multiplier * 2^-shift; shift 0 … 31.
/// - rounded_shift: multiplier * 2^-shift; shift -31 … 62.
/// - qnnpack_avgpool, xnnpack_rndnu: multiplier * 2^-shift; multiplier 2^23 … 2^24 - 1, shift 16 … 55.
/// - ev_rte15: multiplier * 2^-shift; multiplier 0 … 32767, shift 1 … 62.
struct fixed_point_multiplier {
    std::int32_t multiplier = 0; ///< mantissa, in the range of the rule
    std::int32_t shift = 0;      ///< exponent, in the rule's own sense
    std::int32_t offset = 0;     ///< gemmlowp_legacy_scale only: added to the accumulator before the product

    /// Equal numbers, not equal factors: (2, 1) and (1, 0) differ.
    friend bool operator==(const fixed_point_multiplier &a, const fixed_point_multiplier &b) {
        return a.multiplier == b.multiplier && a.shift == b.shift && a.offset == b.offset;
    }
};

/// How a framework computes the real factor M = s_src * s_weights / s_dst: the precision of the product and
/// of the quotient changes the last bits of the multiplier.
enum class scale_derivation {
    tflite_f64, ///< f64(f64(s_src)*f64(s_w)) / f64(s_dst): TFLite convolutions, per-channel fully connected
    tflite_f32prod, ///< f64(f32(s_src*s_w)) / f64(s_dst): TFLite per-tensor fully connected, batch matmul
    caffe2_f32,     ///< f32(f32(s_src*s_w) / s_dst): Caffe2, QNNPACK
    ort_f32,        ///< f32(f32(s_src*s_w) / s_dst): ONNX Runtime
    snps_onnx_per_channel, ///< f32(f64(s_src*s_w) / s_dst), one final rounding
};

/// The name of an enumerator, as for those of octet/types.hpp.
OCTET_API const char *to_string(scale_derivation how);

/// M in the stated precision. Scales must be positive and finite (`invalid_arguments` otherwise).
OCTET_API double real_multiplier(scale_derivation how, float src_scale, float weights_scale, float dst_scale);
/// Real multipliers of several channels, each as `real_multiplier` computes it.
OCTET_API std::vector<double> real_multipliers(scale_derivation how, float src_scale,
                                               const std::vector<float> &weights_scales, float dst_scale);

/// Fixed-point form of a real factor, exactly as the rule's framework derives it: tflite_2step, tflite_1step,
/// ruy_2step, half_away_1step (0 <= M < 2^30), tflite_single_rounding (saturates at shift 30), caffe2_2step
/// (2^-32 <= M < 1, mantissa bits of f32), gemmlowp_fixedpoint (M < 1), gemmlowp_fixedpoint_exponent,
/// rounded_shift (32-bit signed), qnnpack_avgpool and xnnpack_rndnu (2^-32 <= M < 256), ev_rte15 (M <
/// 0.4999961). Throws `invalid_arguments` for M outside the rule's domain and for rules without a multiplier.
///@{
OCTET_API fixed_point_multiplier from_double(requantization_rule rule, double real);
OCTET_API fixed_point_multiplier from_float(requantization_rule rule, float real);
///@}

/// rounded_shift with a mantissa of `bitwidth` bits (2 … 32), signed or unsigned.
OCTET_API fixed_point_multiplier rounded_shift_from_double(double real, int bitwidth, bool is_signed = true);

/// Multiplier of TFLite's integer MEAN and of any average over `count` elements: the factor divided by count.
OCTET_API fixed_point_multiplier divide_by_count(fixed_point_multiplier factor, std::int64_t count);

/// Scale and zero point of u8 codes: real = scale * (code - zero_point).
struct dynamic_quantization {
    float scale;             ///< positive; infinite or NaN where the range is
    std::int32_t zero_point; ///< 0 to 255
};
/// Scale and zero point of ONNX's DynamicQuantizeLinear for values between `lowest` and `highest`; the range
/// is widened to hold 0. As in ONNX Runtime, a NaN limit gives scale NaN and zero point 255, and lowest =
/// -inf gives zero point 255. Throws `invalid_arguments` for lowest > highest.
OCTET_API dynamic_quantization dynamic_quantization_of(float lowest, float highest);

/// TFLite's ADD under a tflite rule: rule(rule(a * 2^20, m_a) + rule(b * 2^20, m_b), m_dst) of the codes less
/// their zero points.
struct add_multipliers {
    fixed_point_multiplier a;   ///< m_a
    fixed_point_multiplier b;   ///< m_b
    fixed_point_multiplier dst; ///< m_dst
};
/// The multipliers that TFLite's Prepare derives, in f64: with t = 2 max(scale_a, scale_b), a from scale_a /
/// t, b from scale_b / t and dst from t / (2^20 dst_scale). Scales must be positive and finite
/// (`invalid_arguments` otherwise).
OCTET_API add_multipliers add_multipliers_of(requantization_rule rule, float scale_a, float scale_b,
                                             float dst_scale);

/// ONNX Runtime's QLinearAdd on the codes a and b, b entering first: fma(a, scale_a, fma(b, scale_b, shift)).
struct qlinear_add_factors {
    float scale_a; ///< f32(scale of a / scale of dst)
    float scale_b; ///< f32(scale of b / scale of dst)
    float shift;   ///< zero points' share of the sum
};
/// The factors that ONNX Runtime's x86 kernels derive. Scales must be positive and finite
/// (`invalid_arguments` otherwise).
OCTET_API qlinear_add_factors qlinear_add_factors_of(float scale_a, std::int32_t zero_point_a, float scale_b,
                                                     std::int32_t zero_point_b, float dst_scale,
                                                     std::int32_t dst_zero_point);

/// All rules, in the order of the enumeration.
OCTET_API const std::vector<requantization_rule> &all_requantization_rules();

/// The kind of parameter that a rule scales with.
enum class rule_parameters {
    none,        ///< nothing
    scales,      ///< f32: set_output_scales or set_scales
    multipliers, ///< fixed point: set_requantization, values of from_double
    real_scales, ///< set_requantization
};
/// Returns the kind of parameter that `rule` scales with.
OCTET_API rule_parameters parameters_of(requantization_rule rule);
/// The name of an enumerator, as for those of octet/types.hpp.
OCTET_API const char *to_string(rule_parameters parameters);

/// True if the value that enters the post-ops is, rounded, the code less the destination's zero point. `f32`
/// and `onnx_f64` round after they add the zero point, and `f32_v3` divides by the destination's scale after
/// the post-ops.
OCTET_API bool rounds_before_zero_point(requantization_rule rule);

/// True if the framework computes the factor in f32 and takes the multiplier from its bits, as `from_float`
/// does (`caffe2_f32`).
OCTET_API bool derives_from_f32(requantization_rule rule);

/// "tflite_2step", …; the inverse throws `invalid_arguments` and lists the names.
///@{
OCTET_API const char *to_string(requantization_rule rule);
OCTET_API requantization_rule requantization_rule_from_string(const char *name);
///@}

} // namespace v0
} // namespace octet
