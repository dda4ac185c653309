#pragma once // SPDX-License-Identifier: Apache-2.0

// Rounding primitives of fixed-point arithmetic: the definitions on which every requantization rule rests.
// Names follow gemmlowp. All integer code is exact in 64 bits; wrapping is written out where a framework
// wraps.

#include <cmath>
#include <cstdint>
#include <limits>

namespace octet::impl {

constexpr std::int32_t int32_min = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t int32_max = std::numeric_limits<std::int32_t>::max();

/// Low 32 bits, two's complement: what int32 arithmetic does on every CPU Octet knows.
constexpr std::int32_t wrap(std::int64_t x) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x));
}
constexpr std::int32_t wrapping_add(std::int32_t a, std::int32_t b) { return wrap(std::int64_t{a} + b); }

template <typename T> constexpr T clamp(T x, T low, T high) { return x < low ? low : x > high ? high : x; }

constexpr std::int32_t saturate_s32(std::int64_t x) {
    return static_cast<std::int32_t>(clamp<std::int64_t>(x, int32_min, int32_max));
}

/// SRDHM: round(a * b / 2^31), ties up; only INT32_MIN * INT32_MIN saturates.
constexpr std::int32_t saturating_rounding_doubling_high_mul(std::int32_t a, std::int32_t b) {
    if (a == int32_min && b == int32_min)
        return int32_max;
    return static_cast<std::int32_t>((std::int64_t{a} * b + (std::int64_t{1} << 30)) >> 31);
}

/// SRDHM of 16-bit numbers.
constexpr std::int32_t saturating_rounding_doubling_high_mul_s16(std::int32_t a, std::int32_t b) {
    return clamp((a * b + (1 << 14)) >> 15, -32768, 32767);
}

/// RDP: round(x / 2^e), ties away from zero; 0 <= e <= 31, beyond that the natural extension 0.
constexpr std::int32_t rounding_divide_by_pot(std::int32_t x, int e) {
    if (e > 31)
        return 0;
    const std::int64_t mask = (std::int64_t{1} << e) - 1;
    const std::int64_t remainder = x & mask;
    const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> e) + (remainder > threshold ? 1 : 0);
}

/// rounding_divide_by_pot as gemmlowp computes it in 16 bits, where masks of 16 bits and more are -1: away
/// from zero to 1 or -1.
constexpr std::int32_t rounding_divide_by_pot_s16(std::int32_t x, int e) {
    return e <= 15 ? rounding_divide_by_pot(x, e) : x < 0 ? -1 : 1;
}

/// round(x / 2^s), ties up; 0 <= s <= 62, wrapping as int64 arithmetic does.
constexpr std::int64_t rounded_shift_right(std::int64_t x, int s) {
    if (s == 0)
        return x;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + (std::uint64_t{1} << (s - 1))) >> s;
}

/// Nearest integer, ties to even: the default rounding mode of SSE and of `vcvtps2dq`.
inline float round_to_even(float x) { return std::nearbyint(x); }
inline double round_to_even(double x) { return std::nearbyint(x); }
/// Nearest even, saturating; NaN gives what vcvtps2dq gives.
inline std::int32_t round_to_s32(float x) {
    if (std::isnan(x))
        return int32_min;
    return saturate_s32(static_cast<std::int64_t>(clamp(round_to_even(x), -2147483648.f, 2147483648.f)));
}
/// Nearest integer, ties away from zero.
inline float round_half_away(float x) { return std::round(x); }
inline double round_half_away(double x) { return std::round(x); }

/// cvtps2dq: rounds to even; what does not fit an int32, NaN included, is INT32_MIN.
inline std::int32_t convert_to_s32(float x) {
    const float rounded = round_to_even(x);
    return rounded >= -2147483648.f && rounded < 2147483648.f ? static_cast<std::int32_t>(rounded)
                                                              : int32_min;
}

} // namespace octet::impl
