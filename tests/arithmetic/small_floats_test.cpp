// f16 and bf16: every code against the formula of its format, and roundings against the nearest of all codes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/small_floats.hpp"

#include "common/bits.hpp"

namespace octet::impl {
namespace {

struct format {
    const char *name;
    int exponent_bits, mantissa_bits;
    std::uint16_t (*round)(float);
    float (*widen)(std::uint16_t);
};
const format formats[] = {{"f16", 5, 10, to_f16, from_f16}, {"bf16", 8, 7, to_bf16, from_bf16}};

/// (-1)^sign * 2^(exponent - bias) * 1.mantissa, as IEEE 754 says.
double value_of(const format &f, unsigned code) {
    const int bias = (1 << (f.exponent_bits - 1)) - 1, all = (1 << f.exponent_bits) - 1;
    const int exponent = static_cast<int>(code >> f.mantissa_bits) & all;
    const unsigned mantissa = code & ((1u << f.mantissa_bits) - 1);
    const double sign = code & 0x8000 ? -1 : 1;
    if (exponent == all)
        return mantissa ? std::nan("") : sign * HUGE_VAL;
    const double fraction = std::ldexp(mantissa, -f.mantissa_bits);
    return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                         : sign * std::ldexp(1 + fraction, exponent - bias);
}

/// Nearest finite code, ties to the even one; infinity from half a step beyond the last.
unsigned nearest(const format &f, double magnitude) {
    const unsigned infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
    unsigned low = 0, high = infinity; // values ascend with codes
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (value_of(f, middle) <= magnitude ? low : high) = middle;
    }
    const double below = value_of(f, low);
    const double above = high == infinity ? 2 * below - value_of(f, low - 1) : value_of(f, high);
    if (magnitude - below != above - magnitude)
        return magnitude - below < above - magnitude ? low : high;
    return low % 2 == 0 ? low : high;
}

TEST(SmallFloats, EveryCodeHasItsValue) {
    for (const format &f : formats)
        for (unsigned code = 0; code < 0x10000; code++) {
            const double expected = value_of(f, code);
            const float got = f.widen(static_cast<std::uint16_t>(code));
            if (std::isnan(expected)) {
                ASSERT_TRUE(std::isnan(got)) << f.name << " " << code;
                continue;
            }
            ASSERT_EQ(expected, static_cast<double>(got)) << f.name << " " << code;
            ASSERT_EQ(code, f.round(got)) << f.name;
        }
}

TEST(SmallFloats, RoundToNearestEven) {
    for (const format &f : formats) {
        std::uint32_t state = 1;
        for (int i = 0; i < 200000; i++) {
            state = state * 1664525 + 1013904223;
            // Any number; or one close to a code or to the middle of two.
            std::uint32_t b = state;
            if (i % 2)
                b = bits(f.widen(static_cast<std::uint16_t>(state >> 16))) + (state % 5 - 2) +
                    (state & 0x100 ? 0x1000u << (f.mantissa_bits == 7 ? 3 : 0) : 0u);
            const float x = from_bits(b);
            if (std::isnan(x))
                continue;
            const unsigned expected =
                (b >> 16 & 0x8000) | (std::isinf(x) ? ((1u << f.exponent_bits) - 1) << f.mantissa_bits
                                                    : nearest(f, std::fabs(static_cast<double>(x))));
            ASSERT_EQ(expected, f.round(x)) << f.name << " of " << x << ", bits " << b;
        }
    }
}

TEST(SmallFloats, NansStayNans) {
    for (const format &f : formats)
        for (const std::uint32_t b : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu, 0x7fffffffu}) {
            const std::uint16_t code = f.round(from_bits(b));
            EXPECT_TRUE(std::isnan(value_of(f, code))) << f.name << " " << b;
            EXPECT_EQ(code >> 15, b >> 31) << f.name << " " << b;
            EXPECT_TRUE(code >> (f.mantissa_bits - 1) & 1) << "quiet: " << f.name << " " << b;
        }
}

} // namespace
} // namespace octet::impl
