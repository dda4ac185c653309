// Rounding primitives against the definition of rounding, at every shift, on ties and at the extremes.
// SPDX-License-Identifier: Apache-2.0
#include "common/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_same.hpp"
#include "support/inputs.hpp"

using namespace octet::impl;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::landmarks;
using octet::test::nearest;
using octet::test::saturated;
using octet::test::ties;
using octet::test::wide;
using octet::test::wrapped;

namespace {

constexpr int random_cases = 1'000'000;

// Published check values; constexpr, so that tables of constants can be made with these functions.
constexpr std::int32_t min32 = int32_min, max32 = int32_max;
static_assert(saturating_rounding_doubling_high_mul(1, 1 << 30) == 1, "a tie goes up");
static_assert(saturating_rounding_doubling_high_mul(-1, 1 << 30) == 0, "a negative tie goes up");
static_assert(saturating_rounding_doubling_high_mul(3, 1 << 30) == 2);
static_assert(saturating_rounding_doubling_high_mul(-3, 1 << 30) == -1);
static_assert(saturating_rounding_doubling_high_mul(min32, min32) == max32,
              "the only product that saturates");
static_assert(saturating_rounding_doubling_high_mul(min32, max32) == -max32);
static_assert(saturating_rounding_doubling_high_mul(max32, max32) == max32 - 1);
static_assert(saturating_rounding_doubling_high_mul(12345, 1717986918) == 9876);
static_assert(saturating_rounding_doubling_high_mul(-12345, 1717986918) == -9876);
static_assert(saturating_rounding_doubling_high_mul(min32, -1) == 1);
static_assert(saturating_rounding_doubling_high_mul(1, min32) == -1);
static_assert(rounding_divide_by_pot(1, 1) == 1 && rounding_divide_by_pot(-1, 1) == -1,
              "ties go away from zero");
static_assert(rounding_divide_by_pot(5, 1) == 3 && rounding_divide_by_pot(-5, 1) == -3);
static_assert(rounding_divide_by_pot(6, 2) == 2 && rounding_divide_by_pot(-6, 2) == -2);
static_assert(rounding_divide_by_pot(7, 3) == 1 && rounding_divide_by_pot(-7, 3) == -1);
static_assert(rounding_divide_by_pot(max32, 31) == 1 && rounding_divide_by_pot(min32, 31) == -1);
static_assert(rounding_divide_by_pot(1 << 30, 31) == 1 && rounding_divide_by_pot(-(1 << 30), 31) == -1);
static_assert(rounding_divide_by_pot(min32, 0) == min32 && rounding_divide_by_pot(max32, 32) == 0);
static_assert(wrap(std::int64_t{1} << 31) == min32 && wrap(-(std::int64_t{1} << 31) - 1) == max32);
static_assert(wrapping_add(max32, 1) == min32 && wrapping_add(min32, min32) == 0);
static_assert(saturate_s32(std::int64_t{1} << 40) == max32 &&
              saturate_s32(-(std::int64_t{1} << 40)) == min32);

void check_high_mul(std::int32_t a, std::int32_t b) {
    const wide product = wide{a} * b;
    expect_same(saturating_rounding_doubling_high_mul(a, b), saturated(nearest(product, 31, ties::up)), a,
                " * ", b);
}

TEST(rounding, high_mul_at_landmarks) {
    for (const std::int32_t a : landmarks())
        for (const std::int32_t b : landmarks())
            check_high_mul(a, b);
}

TEST(rounding, high_mul_at_random_and_on_ties) {
    inputs in(1);
    for (int i = 0; i < random_cases; i++) {
        check_high_mul(in.s32(), in.s32());
        check_high_mul(in.any_magnitude(), in.multiplier());
        const inputs::pair tie = in.tied_product(30);
        check_high_mul(tie.a, tie.b);
    }
}

void check_divide_by_pot(std::int32_t x, int e) {
    expect_same(rounding_divide_by_pot(x, e), nearest(x, e, ties::away), x, " / 2^", e);
}

TEST(rounding, divide_by_pot_at_every_shift) {
    inputs in(2);
    for (int e = 0; e <= 31; e++) {
        for (const std::int32_t x : landmarks())
            check_divide_by_pot(x, e);
        for (std::int32_t x = -1000; x <= 1000; x++)
            check_divide_by_pot(x, e);
        for (int i = 0; i < random_cases / 32; i++) {
            check_divide_by_pot(in.s32(), e);
            if (e > 0)
                check_divide_by_pot(in.tied_dividend(e), e);
        }
    }
}

void check_shift_right(std::int64_t x, int s) {
    expect_same(rounded_shift_right(x, s), nearest(x, s, ties::up), x, " >> ", s);
}

TEST(rounding, shift_right_at_every_shift) {
    inputs in(3);
    constexpr std::int64_t product_limit = std::int64_t{1} << 62; // bound of a product of two s32
    for (int s = 0; s <= 62; s++) {
        for (const std::int32_t a : landmarks())
            for (const std::int32_t b : {1, 3, 1 << 30, max32, min32})
                check_shift_right(std::int64_t{a} * b, s);
        for (int i = 0; i < random_cases / 63; i++) {
            check_shift_right(in.between(-product_limit, product_limit), s);
            check_shift_right(in.between(-product_limit, product_limit) >> in.between(0, 62), s);
            if (s >= 1 && s <= 61) {
                const inputs::pair tie = in.tied_product(s - 1);
                check_shift_right(std::int64_t{tie.a} * tie.b, s);
            }
        }
    }
}

TEST(rounding, low_32_bits_and_saturation) {
    inputs in(4);
    for (int i = 0; i < random_cases; i++) {
        const std::int64_t x =
            in.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()) >>
            in.between(0, 40);
        expect_same(wrap(x), wrapped(x), x);
        expect_same(saturate_s32(x), saturated(x), x);
        const std::int32_t a = in.s32(), b = in.s32();
        expect_same(wrapping_add(a, b), wrapped(wide{a} + b), a, " + ", b);
    }
}

/// Nearest integer of a real number, from its floor; exact for the multiples of 2^-10 used here.
double nearest_real(double x, ties t) {
    return static_cast<double>(static_cast<std::int64_t>(nearest(static_cast<wide>(x * 1024), 10, t)));
}

TEST(rounding, real_numbers_to_even_and_away) {
    for (std::int64_t i = -5000; i <= 5000; i++) {
        const double x = static_cast<double>(i) / 4; // every fourth is a tie
        EXPECT_EQ(round_to_even(x), nearest_real(x, ties::even)) << x;
        EXPECT_EQ(round_half_away(x), nearest_real(x, ties::away)) << x;
        EXPECT_EQ(round_to_even(static_cast<float>(x)), static_cast<float>(nearest_real(x, ties::even))) << x;
        EXPECT_EQ(round_half_away(static_cast<float>(x)), static_cast<float>(nearest_real(x, ties::away)))
            << x;
    }
    EXPECT_EQ(round_half_away(0.49999997f), 0.f); // x + 0.5f would round up to 1
    EXPECT_EQ(round_to_even(8388609.f), 8388609.f);
    EXPECT_EQ(round_half_away(-8388607.5f), -8388608.f);
    EXPECT_TRUE(std::isnan(round_to_even(std::numeric_limits<float>::quiet_NaN())));
}

} // namespace
