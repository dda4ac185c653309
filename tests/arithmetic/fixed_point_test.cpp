// Fixed-point functions: published check values at compile time, real exp, logistic and tanh within a few
// units, and symmetry and range over the whole domain. gemmlowp_test.cpp compares every bit with the
// original.
// SPDX-License-Identifier: Apache-2.0
#include "common/fixed_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/expect_same.hpp"
#include "support/inputs.hpp"

using namespace octet::impl;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::landmarks;
using octet::test::saturated;
using octet::test::wide;

namespace {

struct check_value {
    std::int32_t x, y;
};
using function = std::int32_t (*)(std::int32_t);

template <std::size_t n> constexpr bool holds(function f, const check_value (&values)[n]) {
    for (const check_value &v : values)
        if (f(v.x) != v.y)
            return false;
    return true;
}

constexpr std::int32_t exp_q5_26(std::int32_t x) { return exp_on_negative_values(x, 5); }
constexpr std::int32_t logistic_q4_27(std::int32_t x) { return logistic(x, 4); }
constexpr std::int32_t tanh_q4_27(std::int32_t x) { return octet::impl::tanh(x, 4); }

constexpr check_value exp_values[] = {
    {0, 2147483647},         {-1, 2147483124},       {-1048576, 2114189749},  {-16777216, 1672462419},
    {-33554432, 1302515042}, {-67108864, 790015308}, {-201326592, 106916946}, {-134217728, 290630390},
    {-123456789, 341177383}, {-268435456, 39332546}, {-536870912, 720401},    {-1073741824, 242},
    {-1610612736, 0},        {int32_min, 0},
};
static_assert(holds(exp_q5_26, exp_values));

constexpr check_value logistic_values[] = {
    {0, 1073741824},         {1, 1073741948},          {-1, 1073741699},        {1048576, 1077936196},
    {-1048576, 1069547451},  {134217728, 1569936226},  {-134217728, 577547421}, {268435456, 1891497262},
    {-268435456, 255986385}, {123456789, 1535464548},  {-123456789, 612019099}, {1073741824, 2146763492},
    {-1073741824, 720155},   {2147483647, 2147483406}, {-2147483647, 241},
};
static_assert(holds(logistic_q4_27, logistic_values));

constexpr check_value tanh_values[] = {
    {0, 0},
    {1, 260},
    {-1, -260},
    {1048576, 16776996},
    {134217728, 1635510876},
    {268435456, 2070233436},
    {-268435456, -2070233436},
    {123456789, 1558674772},
    {-123456789, -1558674772},
    {1073741824, 2147483164},
    {2147483647, 2147483647},
    {-2147483647, -2147483647},
};
static_assert(holds(tanh_q4_27, tanh_values));

constexpr check_value one_over_one_plus_x_values[] = {
    {0, 2147483647},          {1, 2147483647},          {1048576, 2146435584},    {536870912, 1717986914},
    {1073741824, 1431655762}, {1610612736, 1227133516}, {2147483646, 1073741820}, {2147483647, 1073741820},
};
static_assert(holds(one_over_one_plus_x, one_over_one_plus_x_values));

constexpr check_value one_minus_x_over_one_plus_x_values[] = {
    {0, 2147483647},         {1, 2147483647},         {1048576, 2145387520}, {536870912, 1288490180},
    {1073741824, 715827876}, {1610612736, 306783384}, {2147483646, -8},      {2147483647, -8},
};
static_assert(holds(one_minus_x_over_one_plus_x, one_minus_x_over_one_plus_x_values));

constexpr bool is_reciprocal(std::int32_t x, std::int32_t value, int bits) {
    const reciprocal r = reciprocal_of(x, 12);
    return r.value == value && r.bits_over_unit == bits;
}
static_assert(is_reciprocal(524288, 2147483647, 0) && is_reciprocal(524289, 2147479552, 0));
static_assert(is_reciprocal(1048576, 2147483647, 1) && is_reciprocal(1572864, 1431655762, 1));
static_assert(is_reciprocal(33554432, 2147483647, 6) && is_reciprocal(123456789, 1167333038, 7));
static_assert(is_reciprocal(1073741824, 2147483647, 11) && is_reciprocal(2147483647, 1073741820, 11));

TEST(fixed_point, shift_left_saturates) {
    inputs in(21);
    for (int k = 0; k <= 30; k++) {
        const auto check = [k](std::int32_t x) {
            // The published threshold is symmetric, so -2^31 itself is reached by saturation and not by the
            // shift.
            expect_same(saturating_shift_left(x, k), saturated(wide{x} * octet::test::power_of_two(k)), x,
                        " << ", k);
        };
        for (const std::int32_t x : landmarks())
            check(x);
        for (int i = 0; i < 10'000; i++)
            check(in.any_magnitude());
    }
}

TEST(fixed_point, half_sum_rounds_away_from_zero) {
    inputs in(22);
    for (int i = 0; i < 200'000; i++) {
        const std::int32_t a = in.any_magnitude(), b = in.s32();
        // gemmlowp adds 1 to sums of 0 and above before halving, as "ties away" does; a sum of -1 gives -1.
        expect_same(rounding_half_sum(a, b), octet::test::nearest(wide{a} + b, 1, octet::test::ties::away), a,
                    ", ", b);
    }
}

constexpr double q31 = 2147483648.;
double real(std::int32_t x, int integer_bits) {
    return std::ldexp(static_cast<double>(x), integer_bits - 31);
}

/// Largest |f(x) - exact(x)| in units of 2^-31 over a walk of the whole domain [low, high].
template <typename Function, typename Exact>
double worst_error(Function f, Exact exact, std::int32_t low, std::int32_t high) {
    double worst = 0;
    for (std::int64_t x = low; x <= high; x += 40009) // a prime: all low bits occur
        worst = std::max(
            worst, std::abs(f(static_cast<std::int32_t>(x)) - exact(static_cast<std::int32_t>(x)) * q31));
    return worst;
}

// The Taylor polynomial of degree 4 over [-1/8, 1/8] leaves at most (1/8)^5 / 120, 546 units; products round.
// logistic is 1 / (1 + e) with a slope of at most 1 in e = exp(-|x|), tanh (1 - e) / (1 + e) with one of 2.
TEST(fixed_point, is_close_to_the_real_functions) {
    for (const int m : {0, 1, 2, 3, 4, 5, 6, 8, 12}) {
        const auto exp = [m](std::int32_t x) { return exp_on_negative_values(x, m); };
        const double error = worst_error(
            exp, [m](std::int32_t x) { return std::exp(real(x, m)); }, int32_min, 0);
        EXPECT_LT(error, 560) << "exp, integer bits " << m;
    }
    for (const int m : {1, 3, 4, 6}) {
        const auto f = [m](std::int32_t x) { return logistic(x, m); };
        const auto exact = [m](std::int32_t x) { return 1 / (1 + std::exp(-real(x, m))); };
        EXPECT_LT(worst_error(f, exact, -int32_max, int32_max), 580) << "logistic, integer bits " << m;
        const auto g = [m](std::int32_t x) { return octet::impl::tanh(x, m); };
        EXPECT_LT(worst_error(
                      g, [m](std::int32_t x) { return std::tanh(real(x, m)); }, -int32_max, int32_max),
                  1160)
            << "tanh, integer bits " << m;
    }
    const auto inverse = [](std::int32_t x) { return 1 / (1 + x / q31); };
    EXPECT_LT(worst_error(one_over_one_plus_x, inverse, 0, int32_max), 16);
}

TEST(fixed_point, tanh_is_odd_and_logistic_sums_to_one) {
    inputs in(23);
    for (int i = 0; i < 200'000; i++) {
        const std::int32_t x = std::max(in.any_magnitude(), -int32_max);
        if (x == 0)
            continue;
        for (const int m : {0, 3, 4, 6}) {
            expect_same(octet::impl::tanh(x, m), -octet::impl::tanh(-x, m), "tanh ", x, ", integer bits ", m);
            expect_same(wide{logistic(x, m)} + logistic(-x, m) == int32_max, true, "logistic ", x,
                        ", integer bits ", m);
        }
    }
}

TEST(fixed_point, reciprocal_is_normalised) {
    inputs in(24);
    for (int i = 0; i < 200'000; i++) {
        const std::int32_t x = std::max(std::abs(std::max(in.any_magnitude(), -int32_max)), 1);
        const reciprocal r = reciprocal_of(x, 12);
        const double exact = 1 / real(x, 12), value = std::ldexp(r.value / q31, -r.bits_over_unit);
        expect_same(std::abs(value - exact) <= exact * 1e-8, true, "1 / ", x);
        expect_same(r.value >= (1 << 30) - 4, true, "mantissa of 1 / ", x);
    }
}

} // namespace
