#pragma once // SPDX-License-Identifier: Apache-2.0

// f16 and bf16, the 16-bit floats. To f32 they widen without loss; from f32 they round to nearest even. A NaN stays
// one, made quiet, with the upper bits of its payload: as vcvtps2ph and vcvtph2ps have it, which generated code uses
// for f16. Nothing is flushed to zero.

#include <cstdint>

#include "common/bits.hpp"
#include "octet/types.hpp"

namespace octet::impl {

constexpr bool is_small_float(data_type type) { return type == data_type::f16 || type == data_type::bf16; }

inline bool is_nan(std::uint32_t f32_bits) { return (f32_bits & 0x7fffffffu) > 0x7f800000u; }

inline std::uint16_t to_bf16(float x) {
    const std::uint32_t b = bits(x);
    if (is_nan(b))
        return static_cast<std::uint16_t>(b >> 16 | 0x40);
    return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

inline float from_bf16(std::uint16_t x) { return from_bits(std::uint32_t{x} << 16); }

inline std::uint16_t to_f16(float x) {
    constexpr std::uint32_t overflow = 0x477ff000u;     // 65520 and more round to infinity
    constexpr std::uint32_t least_normal = 0x38800000u; // 2^-14
    const std::uint32_t b = bits(x), magnitude = b & 0x7fffffffu, sign = b >> 16 & 0x8000u;
    std::uint32_t rounded;
    if (is_nan(b))
        rounded = 0x7e00u | (b >> 13 & 0x3ffu);
    else if (magnitude >= overflow)
        rounded = 0x7c00u;
    else if (magnitude >= least_normal) // the exponent's bias goes from 127 to 15
        rounded = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    else // the sum has units of 2^-24, which are those of subnormal numbers, and rounds
        rounded = bits(from_bits(magnitude) + 0.5f) - bits(0.5f);
    return static_cast<std::uint16_t>(sign | rounded);
}

inline float from_f16(std::uint16_t x) {
    const std::uint32_t sign = (x & 0x8000u) << 16, exponent = x >> 10 & 0x1f, mantissa = x & 0x3ffu;
    if (exponent == 0x1f)
        return from_bits(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
    if (exponent == 0)
        return from_bits(sign | bits(static_cast<float>(mantissa) * 0x1p-24f));
    return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

} // namespace octet::impl
