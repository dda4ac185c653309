// The float element-wise functions, as THE definition: each is a fixed sequence of IEEE operations on one
// lane.
//
// Every step is one vector instruction of AVX2+FMA and of AVX-512 (add, multiply, divide, square root, fused
// multiply-add, compare and select, min, max, floor, conversion, integer operations on the bits, a table
// look-up), so generated code that performs the same steps gives the same bits on every ISA. Nothing is
// contracted, reassociated or flushed to zero.
//
// The sequences and their polynomial coefficients are those oneDNN 2.6 (Apache-2.0) executes on AVX-512,
// including its behaviour at NaN and at the ends of the range: a network moved to Octet keeps its bytes. The
// exceptions are pow, for which oneDNN calls the C library, and the functions of common/eltwise_ort.hpp.
// Errors and special values of each function: doc/eltwise.md.
//
// NaNs follow x86 too: an invalid operation gives 0xffc00000, an operand that is NaN goes on, quieted, and of two
// the first as written here. Where both operands of a sum or product may be NaN, lane::add and lane::mul say so,
// as compilers may exchange them.
// Start reading at eltwise_exp, then eltwise at the end of the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/bits.hpp"
#include "common/eltwise_ort.hpp"
#include "common/lane.hpp"
#include "octet/types.hpp"

namespace octet::impl {

namespace eltwise_constants {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

inline constexpr float ln2 = 0.693147182f;
inline constexpr float log2_e = 1.44269502f;
inline constexpr float exp_max = 88.7228394f;  // ln(FLT_MAX)
inline constexpr float exp_min = -87.3365479f; // ln(FLT_MIN)
inline constexpr float exp_coefficients[] = {1.f,          0.999999702f,  0.499991506f,
                                             0.166676521f, 0.0418978222f, 0.00828929059f};

// ln(1 + x) for x in [-1/2, 0)
inline constexpr float ln1p_coefficients[] = {-2.09999996e-08f, 0.999993205f,  -0.500356257f,
                                              0.32621789f,      -0.320005387f, -0.177845061f,
                                              -1.31988215f,     -1.76489472f,  -1.53769088f};

// log splits the significand into 32 intervals. log_reciprocal is 1/centre rounded to 5 bits, for centres in
// [1, 1.5) and, halved, in [0.75, 1); log_offset is -ln(log_reciprocal) - 127 ln2, so the biased exponent can
// be used as it is.
inline constexpr float log_reciprocal[32] = {
    1.f,     0.96875f, 0.9375f,  0.90625f, 0.875f,  0.84375f, 0.84375f, 0.8125f, 0.78125f, 0.78125f, 0.75f,
    0.75f,   0.71875f, 0.71875f, 0.6875f,  0.6875f, 1.3125f,  1.3125f,  1.25f,   1.25f,    1.25f,    1.1875f,
    1.1875f, 1.125f,   1.125f,   1.125f,   1.125f,  1.0625f,  1.0625f,  1.0625f, 1.f,      1.f};
inline constexpr std::uint32_t log_offset[32] = {
    0xc2b00f34, 0xc2affef2, 0xc2afee29, 0xc2afdccd, 0xc2afcad6, 0xc2afb837, 0xc2afb837, 0xc2afa4e4,
    0xc2af90cf, 0xc2af90cf, 0xc2af7be9, 0xc2af7be9, 0xc2af661e, 0xc2af661e, 0xc2af4f5c, 0xc2af4f5c,
    0xc2b09a6f, 0xc2b09a6f, 0xc2b08174, 0xc2b08174, 0xc2b08174, 0xc2b06731, 0xc2b06731, 0xc2b04b82,
    0xc2b04b82, 0xc2b04b82, 0xc2b04b82, 0xc2b02e3e, 0xc2b02e3e, 0xc2b02e3e, 0xc2b00f34, 0xc2b00f34};
inline constexpr float ln1p_small_coefficients[] = {1.f, -0.5f, 0.333333343f, -0.250035614f, 0.199984118f};

inline constexpr std::uint32_t tanh_interval_mask = 0xffc00000;
inline constexpr std::uint32_t tanh_first_interval = 0x39800000; // 2^-12
inline constexpr float tanh_linear_below = 0.000422863959f;
inline constexpr float tanh_one_above = 9.0109129f;

// tanh_coefficients[d][i] belongs to the power d on interval i; the intervals are the halves of the binades
// from 2^-12 up.
inline constexpr std::uint32_t tanh_coefficients[7][32] = {
    {0x00000000, 0x39bfffff, 0x39ffffff, 0x3a3ffffe, 0x3a7ffffb, 0x3abffff7, 0x3affffeb, 0x3b3fffdc,
     0x3b7fffab, 0x3bbfff70, 0x3bfffeab, 0x3c3ffdc0, 0x3c7ffaab, 0x3cbff701, 0x3cffeaad, 0x3d3fdc08,
     0x3d7faacd, 0x3dbf7081, 0x3dfeacc9, 0x3e3dc7fd, 0x3e7acbf5, 0x3eb77a9f, 0x3eec9a9f, 0x3f22991f,
     0x3f42f7d6, 0x3f67b7cc, 0x3f76ca83, 0x3f7ebbe9, 0x3f7fd40c, 0x3f7fff32, 0x3f7ffffc, 0x3f800000},
    {0x3f800000, 0x3f800018, 0x3f7fffe8, 0x3f7fffda, 0x3f7fffdc, 0x3f7fffdc, 0x3f7fffac, 0x3f7fff70,
     0x3f7ffeec, 0x3f7ffdc0, 0x3f7ffbed, 0x3f7ff704, 0x3f7feff5, 0x3f7fdbca, 0x3f7fbfff, 0x3f7f7041,
     0x3f7f009b, 0x3f7dc36c, 0x3f7c0aa8, 0x3f7734b8, 0x3f70a4de, 0x3f5f1fd8, 0x3f495493, 0x3f18b9ec,
     0x3ed706cb, 0x3e390b06, 0x3d90b11f, 0x3c21a053, 0x3aaf7fdb, 0x37ccc1a3, 0x355c6733, 0x00000000},
    {0x00000000, 0xbe4e0ff1, 0x3d25b1b1, 0x3d6b6dab, 0x3c9fb1d5, 0xbabff06f, 0x3c07b3f6, 0xbb3fc1bc,
     0x3a9f5921, 0xbbbf06f2, 0xbbb0f402, 0xbc47db9e, 0xbc73d5e7, 0xbca25bda, 0xbcfca780, 0xbd40e07c,
     0xbd7dab03, 0xbdbe4a0f, 0xbdfb14a5, 0xbe36cc8d, 0xbe6bd102, 0xbe9fe7c5, 0xbeba0f10, 0xbec206a8,
     0xbea3c388, 0xbe277d62, 0xbd8b7960, 0xbc209f49, 0xbaad44ca, 0xb7c6eeac, 0xb663aa41, 0x00000000},
    {0x00000000, 0x45b3ae96, 0xc414eb20, 0xc450e02e, 0xc3152b4e, 0xbead2f56, 0xc2162e02, 0xbeb4bd5a,
     0xc11a59a4, 0xbed2f507, 0xc020d32c, 0x3dd0f506, 0xbf2a75e2, 0xbff950e3, 0xbed47334, 0xbe809b8c,
     0xbeb64532, 0xbe961a5b, 0xbe9b63ac, 0xbea0d4b2, 0xbe828a77, 0xbe378612, 0xbdc20908, 0x3d2d3957,
     0x3dd46e89, 0x3db3f629, 0x3d2c5e7b, 0x3bd20403, 0x3a59dfae, 0x3770af45, 0x372cc014, 0x00000000},
    {0x00000000, 0xcc981a1b, 0x4a7edd3d, 0x4ab1007c, 0x48fedd9c, 0x41a557b5, 0x477ee32a, 0x422557f5,
     0x45ff3ce4, 0x42a55641, 0x446e0867, 0xc33dc19a, 0x42915214, 0x43af4fad, 0x4110fe88, 0xc1099b75,
     0x3fc8a8dc, 0xbfbeaef5, 0xbe365aad, 0x3f4d9652, 0x3ddfa08f, 0x3e34e9b8, 0x3e2d07a6, 0x3dc63567,
     0x3cdaeb78, 0xbcd17537, 0xbc92829c, 0xbb43ab99, 0xb9b471dd, 0xb6baad5a, 0xb78bafc7, 0x00000000},
    {0x00000000, 0x52f688d5, 0xd0505c72, 0xd08f98e3, 0xce505cc9, 0xc7162b8a, 0xcc5061d6, 0xc7162bdf,
     0xca50b37f, 0xc7162a3a, 0xc8422086, 0x471a714e, 0xc5ece1f1, 0xc70e3d90, 0xc3eba94a, 0x43e0c424,
     0xc21f4552, 0x42217cc8, 0x405e7dc4, 0xc10dd401, 0x3e96b602, 0xbd1a6d2f, 0xbd393883, 0xbd674682,
     0xbd310016, 0xb961e269, 0x3ba32495, 0x3a7680d5, 0x38b3173c, 0x35a9deea, 0x375c3f2a, 0x00000000},
    {0x00000000, 0xd8995ed1, 0x558285ea, 0x55b2cd69, 0x53028625, 0x4bc9991f, 0x5082898a, 0x4b4999b3,
     0x4e02c07c, 0x4ac99764, 0x4b72c822, 0xca40c0e1, 0x489413e4, 0x49b12224, 0x46134c4e, 0xc60c2d57,
     0x43c83910, 0xc3c872d1, 0xc186bc9e, 0x42325bc3, 0xbf2ffa4a, 0x3d9a203c, 0xbc545a43, 0xbae08fee,
     0x3c80225d, 0x3b1fd1df, 0xba36b9d1, 0xb91de544, 0xb71f100f, 0xb408e2ed, 0xb685fec8, 0x00000000},
};

inline constexpr float sqrt_2_over_pi = 0.797884583f;
inline constexpr float gelu_cubic = 0.044714998f;

// Abramowitz and Stegun 7.1.26: erf(z) = 1 - t·P(t)·e^(-z²), t = 1/(1 + p z)
inline constexpr float sqrt_half = 0.707106769f;
inline constexpr float erf_p = 0.327591091f;
inline constexpr float erf_coefficients[] = {0.254829586f, -0.284496725f, 1.42141378f, -1.45315206f,
                                             1.06140542f};

inline constexpr float mish_max = 44.3614159f; // above it (e^x + 1)² overflows, and mish(x) = x

} // namespace eltwise_constants

// exp(x) = 2^n e^r,  n = floor(x log2(e) + 1/2),  r = x - n ln2
inline float eltwise_exp(float x) {
    using namespace eltwise_constants;
    const float clamped = lane::max(lane::min(x, exp_max), exp_min);
    const float n = std::floor(clamped * log2_e + 0.5f);
    const float r = std::fma(-n, ln2, clamped);
    // 2^n overflows a little before e^x does: multiply by 2^(n-1), then by 2.
    const float scale = x < exp_min ? 0.f : lane::pow2(n - 1.f);
    return lane::polynomial(r, exp_coefficients) * scale * 2.f;
}

// logistic(x) = e^x / (e^x + 1) computed for -|x|; the other half is 1 - that.
inline float eltwise_logistic(float x) {
    const float e = eltwise_exp(lane::negative_abs(x));
    const float negative_side = e / (e + 1.f);
    return lane::sign(x) ? negative_side : 1.f - negative_side;
}

// A polynomial in |x| - (start of the interval), the interval chosen by the exponent and the top bit of the
// significand.
inline float eltwise_tanh(float x) {
    using namespace eltwise_constants;
    const float a = lane::abs(x);
    const std::uint32_t interval = (bits(a) - tanh_first_interval) >> 22 & 31;
    const float r = a - from_bits(bits(a) & tanh_interval_mask);
    float y = from_bits(tanh_coefficients[6][interval]);
    for (int d = 5; d >= 0; d--)
        y = std::fma(y, r, from_bits(tanh_coefficients[d][interval]));
    y = tanh_one_above <= a ? 1.f : y;
    y = tanh_linear_below <= a ? y : a;
    return lane::flip_sign(y, lane::sign(x));
}

// soft_relu(x) = ln(1 + e^x) = n ln2 + ln(e^r + 2^-n), n and r as in exp; above ln(FLT_MAX) it is x.
inline float eltwise_soft_relu(float x) {
    using namespace eltwise_constants;
    const float clamped = lane::max(lane::min(x, exp_max), exp_min);
    const float n = std::floor(clamped * log2_e + 0.5f);
    const float n_ln2 = n * ln2;
    const float exp_r = lane::polynomial(clamped - n_ln2, exp_coefficients);
    const float y = (exp_r * 2.f + lane::pow2(1.f - n)) * 0.5f; // 2^-n itself is out of range at n = 128

    // y = 2^k m, m in [1/2, 1)
    const float k = static_cast<float>(bits(y) >> 23) - 126.f;
    const float m = from_bits((bits(y) & 0x007fffff) | 0x3f000000);
    const float ln_y = k * ln2 + lane::polynomial(m - 1.f, ln1p_coefficients);
    return x <= exp_max ? ln_y + n_ln2 : x;
}

// log(x) = k ln2 + ln(m), m in [0.75, 1.5), and with c = log_reciprocal: ln(m) = ln1p(c m - 1) - ln(c).
// The early returns are selects.
inline float eltwise_log(float x) {
    using namespace eltwise_constants;
    const std::uint32_t interval = bits(x) >> 18 & 31, upper_half = interval >> 4;
    const float biased_k = static_cast<float>((bits(x) >> 23) + upper_half);
    const float m = from_bits((bits(x) & 0x007fffff) | (127 - upper_half) << 23);
    const float f = std::fma(log_reciprocal[interval], m, -1.f);
    const float ln1p_f = lane::polynomial(f, ln1p_small_coefficients) * f;
    const float offset = std::fma(biased_k, ln2, from_bits(log_offset[interval]));
    const float sum = ln1p_f + offset;
    const float y = sum + (sum - offset - ln1p_f);
    if (x == 0.f)
        return -infinity;
    if (x < 0.f)
        return nan;
    if (x == infinity)
        return infinity;
    return x != x ? nan : y;
}

namespace eltwise_pow_detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr std::uint64_t one_bits = 0x3ff0000000000000, sqrt_half_bits = 0x3fe6a09e667f3bcd;
inline constexpr double two_over_ln2 = 2.8853900817779268, ln2 = 0.69314718055994531;
inline constexpr double atanh_coefficients[] = {1.,      1. / 3,  1. / 5,  1. / 7,  1. / 9,
                                                1. / 11, 1. / 13, 1. / 15, 1. / 17, 1. / 19};
inline constexpr double inverse_factorials[] = {
    1.,        1.,         1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
    1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
inline constexpr double exp2_limit = 300.; // far outside binary32, and 2^n is still a normal binary64

inline bool is_integer(float y) { return std::floor(y) == y; }
inline bool is_odd(float y) { return is_integer(y) && std::floor(y * 0.5f) != y * 0.5f; }

// log2|x| to about 2^-50: log2(m 2^k) = k + 2/ln2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2))
inline double log2_abs(float x) {
    const std::uint64_t u = bits(static_cast<double>(lane::abs(x)));
    const std::uint64_t biased_k = (u - sqrt_half_bits + one_bits) >> 52;
    const double k = static_cast<int>(biased_k) - 1023;
    const double m = from_bits(u - (biased_k << 52) + one_bits);
    const double s = (m - 1.) / (m + 1.);
    const double log2_m = s * two_over_ln2 * lane::polynomial(s * s, atanh_coefficients);
    const float a = lane::abs(x);
    if (a == 0.f)
        return -infinity;
    return a == eltwise_constants::infinity ? infinity : k + log2_m;
}

// 2^t for |t| <= exp2_limit, to about 2^-50: 2^n e^g, n = rint(t), g = (t - n) ln2
inline double exp2(double t) {
    const double n = std::nearbyint(t);
    const double scale = from_bits(static_cast<std::uint64_t>(static_cast<int>(n) + 1023) << 52);
    return lane::polynomial((t - n) * ln2, inverse_factorials) * scale;
}

// x^y in binary64, rounded once; exceptional cases as C's pow.
inline float power(float x, float y) {
    const double log2_x = log2_abs(x);
    const double t = log2_x == 0. ? 0. : static_cast<double>(y) * log2_x; // 1 to any power is 1
    const float magnitude = static_cast<float>(exp2(lane::max(lane::min(t, exp2_limit), -exp2_limit)));
    const float result = lane::flip_sign(magnitude, is_odd(y) ? lane::sign(x) : 0);
    const bool invalid = x < 0.f && x != -eltwise_constants::infinity && !is_integer(y);
    return invalid || x != x || (y != y && x != 1.f) ? eltwise_constants::nan : result;
}

} // namespace eltwise_pow_detail

/// alpha x^beta. The short cuts are oneDNN's, and visible: pow(-0, 0.5) is -0, pow(NaN, 0) is alpha.
inline float eltwise_pow(float x, float alpha, float beta) {
    if (beta == 0.f)
        return alpha;
    if (beta == 1.f)
        return x * alpha;
    if (beta == 2.f)
        return x * x * alpha;
    if (beta == 0.5f)
        return std::sqrt(x) * alpha;
    if (beta == -1.f)
        return alpha / x;
    return eltwise_pow_detail::power(x, beta) * alpha;
}

inline float eltwise_relu(float x, float alpha) {
    if (alpha == 0.f)
        return lane::max(x, 0.f);
    // Selected by bits: compilers make x * (x <= 0 ? alpha : 1) of it, which quiets a NaN that goes through.
    return from_bits(x <= 0.f ? bits(x * alpha) : bits(x));
}

inline float eltwise_elu(float x, float alpha) { return x <= 0.f ? (eltwise_exp(x) - 1.f) * alpha : x; }
inline float eltwise_square(float x) { return x * x; }
inline float eltwise_abs(float x) { return lane::abs(x); }
inline float eltwise_sqrt(float x) { return std::sqrt(x); }
inline float eltwise_linear(float x, float alpha, float beta) { return std::fma(x, alpha, beta); }
inline float eltwise_clip(float x, float low, float high) { return lane::min(lane::max(x, low), high); }
inline float eltwise_bounded_relu(float x, float alpha) { return eltwise_clip(x, 0.f, alpha); }
inline float eltwise_round(float x) { return std::nearbyint(x); }
inline float eltwise_logsigmoid(float x) { return -eltwise_soft_relu(-x); }
inline float eltwise_soft_relu_v2(float x, float alpha) { return eltwise_soft_relu(x * alpha) / alpha; }
inline float eltwise_swish(float x, float alpha) { return lane::mul(eltwise_logistic(x * alpha), x); }
inline float eltwise_hardswish(float x) { return x * (eltwise_clip(x + 3.f, 0.f, 6.f) / 6.f); }

// gelu_tanh(x) = x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2
inline float eltwise_gelu_tanh(float x) {
    using namespace eltwise_constants;
    const float inner = std::fma(x * x, gelu_cubic, 1.f) * x * sqrt_2_over_pi;
    return (eltwise_tanh(inner) + 1.f) * 0.5f * x;
}

// gelu_erf(x) = x (1 + erf(x/√2)) / 2
inline float eltwise_gelu_erf(float x) {
    using namespace eltwise_constants;
    const float z = x * sqrt_half;
    const float t = 1.f / std::fma(erf_p, lane::abs(z), 1.f);
    const float exp_t = -eltwise_exp(-(z * z)) * t;
    const float erf_abs = std::fma(lane::polynomial(t, erf_coefficients), exp_t, 1.f);
    const float half_x = x * 0.5f;
    return std::fma(half_x, lane::flip_sign(erf_abs, lane::sign(x)), half_x);
}

// mish(x) = x tanh(ln(1 + e^x)) = x (q - 1) / (q + 1), q = (e^x + 1)²
inline float eltwise_mish(float x) {
    const float e1 = eltwise_exp(lane::min(x, eltwise_constants::mish_max)) + 1.f;
    const float q = e1 * e1;
    return (q - 1.f) / (q + 1.f) * x;
}

/// Meaning of alpha and beta: oneDNN's. NaN for an algorithm of another family.
inline float eltwise(algorithm alg, float alpha, float beta, float x) {
    switch (alg) {
    case algorithm::eltwise_relu:
        return eltwise_relu(x, alpha);
    case algorithm::eltwise_tanh:
        return eltwise_tanh(x);
    case algorithm::eltwise_elu:
        return eltwise_elu(x, alpha);
    case algorithm::eltwise_square:
        return eltwise_square(x);
    case algorithm::eltwise_abs:
        return eltwise_abs(x);
    case algorithm::eltwise_sqrt:
        return eltwise_sqrt(x);
    case algorithm::eltwise_linear:
        return eltwise_linear(x, alpha, beta);
    case algorithm::eltwise_bounded_relu:
        return eltwise_bounded_relu(x, alpha);
    case algorithm::eltwise_soft_relu:
        return eltwise_soft_relu(x);
    case algorithm::eltwise_logistic:
        return eltwise_logistic(x);
    case algorithm::eltwise_exp:
        return eltwise_exp(x);
    case algorithm::eltwise_gelu_tanh:
        return eltwise_gelu_tanh(x);
    case algorithm::eltwise_swish:
        return eltwise_swish(x, alpha);
    case algorithm::eltwise_log:
        return eltwise_log(x);
    case algorithm::eltwise_clip:
    case algorithm::eltwise_clip_v2:
        return eltwise_clip(x, alpha, beta);
    case algorithm::eltwise_pow:
        return eltwise_pow(x, alpha, beta);
    case algorithm::eltwise_gelu_erf:
        return eltwise_gelu_erf(x);
    case algorithm::eltwise_round:
        return eltwise_round(x);
    case algorithm::eltwise_logsigmoid:
        return eltwise_logsigmoid(x);
    case algorithm::eltwise_mish:
        return eltwise_mish(x);
    case algorithm::eltwise_hardswish:
        return eltwise_hardswish(x);
    case algorithm::eltwise_soft_relu_v2:
        return eltwise_soft_relu_v2(x, alpha);
    case algorithm::eltwise_ort_clip:
        return eltwise_ort_clip(x, alpha, beta);
    case algorithm::eltwise_ort_erf:
        return eltwise_ort_erf(x);
    case algorithm::eltwise_ort_exp:
        return eltwise_ort_exp(x);
    case algorithm::eltwise_ort_gelu_erf:
        return eltwise_ort_gelu_erf(x);
    case algorithm::eltwise_ort_gelu_tanh:
        return eltwise_ort_gelu_tanh(x);
    case algorithm::eltwise_ort_logistic:
        return eltwise_ort_logistic(x);
    case algorithm::eltwise_ort_relu:
        return eltwise_ort_relu(x, alpha);
    case algorithm::eltwise_ort_tanh:
        return eltwise_ort_tanh(x);
    case algorithm::eltwise_ort_swish:
        return eltwise_ort_swish(x, alpha);
    default:
        return eltwise_constants::nan;
    }
}

} // namespace octet::impl
