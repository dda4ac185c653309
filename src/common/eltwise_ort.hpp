// ONNX Runtime's float functions as THE definition, in the manner of common/eltwise_math.hpp: a fixed sequence of IEEE
// operations on one lane, so that every instruction set gives the same bits.
//
// Sequences and coefficients are those of MLAS in ONNX Runtime 1.30 on x86 with AVX-512 (its folder
// onnxruntime/core/mlas/lib: erf, gelu_avx512f, tanh, logistic, compute and their kernels), each checked on a
// million values. An operand that is NaN goes on, quieted. Start reading at eltwise_ort_exp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/lane.hpp"
#include "common/rounding.hpp"

namespace octet::impl {

namespace eltwise_constants {

// x = m ln2 + r, m whole: the sum with the first constant has no room for a fraction; ln2 in two parts.
inline constexpr float ort_whole = 12582912.f; // 1.5 * 2^23
inline constexpr float ort_log2_e = 1.44269504f, ort_minus_ln2_high = -6.93145752e-1f,
                       ort_minus_ln2_low = -1.42860677e-6f;

inline constexpr float ort_exp_min = -103.972084f, ort_exp_max = 104.f; // 0 and ∞
inline constexpr float ort_exp_coefficients[] = {
    1.f, 1.f, 0x1.fffff6p-2f, 0x1.555450p-3f, 0x1.555b5ap-5f, 0x1.125edcp-7f, 0x1.694000p-10f};

inline constexpr float ort_erf_limit = 3.925f, ort_erf_split = 0.921875f;
inline constexpr float ort_erf_small[] = {1.28379151e-1f,  -3.76124859e-1f, 1.12818025e-1f,
                                          -2.67667342e-2f, 4.99339588e-3f,  -5.99104969e-4f};
inline constexpr float ort_erf_large[] = {1.28717512e-1f, 6.34846687e-1f,  1.06777847e-1f, -2.42545605e-2f,
                                          3.88393435e-3f, -3.83208680e-4f, 1.72948930e-5f};
inline constexpr float ort_erf_exp_coefficients[] = {
    1.f, 1.f, 4.99999851e-1f, 1.66664466e-1f, 4.16689515e-2f, 8.37550033e-3f, 1.38319808e-3f};

inline constexpr float ort_sqrt_half = 0.707106769f;
inline constexpr float ort_gelu_linear = 0.797884583f,
                       ort_gelu_cubic = 0.0356774069f; // coefficients of sqrt(2/π) (x + 0.044715 x³)

inline constexpr float ort_tanh_limit = 9.f;
inline constexpr float ort_tanh_odd[] = {4.89352455891786e-03f, 6.37261928875436e-04f,  1.48572235717979e-05f,
                                         5.12229709037114e-08f, -8.60467152213735e-11f, 2.00018790482477e-13f,
                                         -2.76076847742355e-16f};
inline constexpr float ort_tanh_even[] = {4.89352518554385e-03f, 2.26843463243900e-03f, 1.18534705686654e-04f,
                                          1.19825839466702e-06f};

inline constexpr float ort_logistic_limit = 18.f;
inline constexpr float ort_logistic_odd[] = {2.48287947061529e-01f, 8.51377133304701e-03f,
                                             6.08574864600143e-05f, 1.15627324459942e-07f,
                                             4.37031012579801e-11f};
inline constexpr float ort_logistic_even[] = {9.93151921023180e-01f, 1.16817656904453e-01f,
                                              1.70198817374094e-03f, 6.29106785017040e-06f,
                                              5.76102136993427e-09f, 6.10247389755681e-13f};

} // namespace eltwise_constants

namespace lane {

/// x * 2^n for a whole n from -252 to 254, rounded once: only the second product may leave the normal numbers.
inline float scale(float x, float n) {
    const std::int32_t whole = convert_to_s32(n), first = whole >> 1;
    const auto factor = [](std::int32_t exponent) {
        return from_bits((static_cast<std::uint32_t>(exponent) + 127) << 23);
    };
    return mul(mul(x, factor(first)), factor(whole - first));
}

} // namespace lane

/// With the limits first, a NaN and a zero of either sign stay what they are, and a limit that is NaN is none.
inline float eltwise_ort_clip(float x, float low, float high) { return lane::min(high, lane::max(low, x)); }

/// A slope of 0 is not multiplied by: it would make a NaN of -∞.
inline float eltwise_ort_relu(float x, float alpha) {
    return alpha == 0.f ? lane::max(0.f, x) : x >= 0.f ? x : lane::mul(x, alpha);
}

inline float eltwise_ort_exp(float x) {
    using namespace eltwise_constants;
    const float clamped = lane::min(ort_exp_max, lane::max(ort_exp_min, x));
    const float m = lane::fma(clamped, ort_log2_e, ort_whole) - ort_whole;
    const float r = std::fma(m, ort_minus_ln2_low, std::fma(m, ort_minus_ln2_high, clamped));
    return lane::scale(lane::polynomial(r, ort_exp_coefficients), m);
}

/// Small: x + x P(x²). Large: 1 - exp(-(x + x P(x))).
inline float eltwise_ort_erf(float x) {
    using namespace eltwise_constants;
    const float a = lane::min(ort_erf_limit, lane::abs(x));
    float y = lane::fma(a, lane::polynomial(a * a, ort_erf_small), a);
    if (a > ort_erf_split) {
        const float t = -std::fma(lane::polynomial(a, ort_erf_large), a, a);
        const float m = std::fma(t, ort_log2_e, ort_whole) - ort_whole;
        const float r = std::fma(m, ort_minus_ln2_low, std::fma(m, ort_minus_ln2_high, t));
        y = 1.f - lane::polynomial(r, ort_erf_exp_coefficients) * lane::pow2(m);
    }
    return from_bits(bits(y) | lane::sign(x));
}

inline float eltwise_ort_gelu_erf(float x) {
    using namespace eltwise_constants;
    return lane::mul(x * 0.5f, eltwise_ort_erf(x * ort_sqrt_half) + 1.f);
}

/// An odd polynomial over an even one.
inline float eltwise_ort_tanh(float x) {
    using namespace eltwise_constants;
    const float v = lane::min(ort_tanh_limit, lane::max(-ort_tanh_limit, x)), square = v * v;
    return lane::mul(v, lane::polynomial(square, ort_tanh_odd)) / lane::polynomial(square, ort_tanh_even);
}

inline float eltwise_ort_gelu_tanh(float x) {
    using namespace eltwise_constants;
    const float inner = lane::mul(x, x * ort_gelu_cubic * x + ort_gelu_linear);
    return lane::mul(x * 0.5f, eltwise_ort_tanh(inner) + 1.f);
}

/// 1/2 + an odd polynomial over an even one, at least 0.
inline float eltwise_ort_logistic(float x) {
    using namespace eltwise_constants;
    const float v = lane::min(ort_logistic_limit, lane::max(-ort_logistic_limit, x)), square = v * v;
    const float odd = lane::mul(v, lane::polynomial(square, ort_logistic_odd));
    return lane::max(0.f, odd / lane::polynomial(square, ort_logistic_even) + 0.5f);
}

inline float eltwise_ort_swish(float x, float alpha) { return lane::mul(x, eltwise_ort_logistic(x * alpha)); }

} // namespace octet::impl
