// One lane of the vector instructions that differ from the C++ operators, or have none: what the scalar definitions of
// element-wise functions are written in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/bits.hpp"

namespace octet::impl {

namespace lane {

// vminps and vmaxps give the second operand when one is NaN and when both are zeros.
template <typename T> T min(T a, T b) { return a < b ? a : b; }

template <typename T> T max(T a, T b) { return a > b ? a : b; }

// vaddps, vmulps and vfmadd…ps give the first operand that is NaN, quieted.
inline float quiet(float nan) { return nan + nan; }
inline float add(float a, float b) { return a != a ? quiet(a) : a + b; }
inline float mul(float a, float b) { return a != a ? quiet(a) : a * b; }
inline float fma(float a, float b, float c) {
    return a != a ? quiet(a) : b != b ? quiet(b) : std::fma(a, b, c);
}

inline constexpr std::uint32_t sign_bit = 0x80000000;

inline std::uint32_t sign(float x) { return bits(x) & sign_bit; }
inline float abs(float x) { return from_bits(bits(x) & ~sign_bit); }
inline float negative_abs(float x) { return from_bits(bits(x) | sign_bit); }
inline float flip_sign(float x, std::uint32_t sign) { return from_bits(bits(x) ^ sign); }

/// 2^n for an integer n in [-127, 127]; 2^-127, a denormal, becomes 0.
inline float pow2(float n) { return from_bits(static_cast<std::uint32_t>(static_cast<int>(n) + 127) << 23); }

/// c[0] + c[1] x + c[2] x² + ..., from the highest power down, each step one fused multiply-add.
template <typename T, std::size_t n> T polynomial(T x, const T (&c)[n]) {
    T sum = c[n - 1];
    for (std::size_t i = n - 1; i-- > 0;)
        sum = std::fma(sum, x, c[i]);
    return sum;
}

} // namespace lane

} // namespace octet::impl
