// Every fixed-point rule against its formula in exact arithmetic: all shifts, extremes, ties of each rounding
// step; and a dozen published check values per rule. The float rules are tested through reorder
// (primitives/reorder_test.cpp).
// SPDX-License-Identifier: Apache-2.0
#include "common/requantize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/exact_rules.hpp"
#include "support/expect_same.hpp"
#include "support/inputs.hpp"

using namespace octet::impl;
using octet::fixed_point_multiplier;
using octet::requantization_rule;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::landmarks;
using octet::test::nearest;
using octet::test::power_of_two;
using octet::test::saturated;
using octet::test::ties;
using octet::test::wide;
using octet::test::wrapped;
using rule = octet::requantization_rule;

namespace {

namespace exact = octet::test::exact;

struct rule_case {
    rule id;
    int lowest_shift, highest_shift;
    std::int32_t lowest_multiplier, highest_multiplier;
    enum { left, right } shift_convention; ///< left: the product is shifted right by 31 - shift
    bool has_two_steps;                    ///< product / 2^31, then / 2^right shift

    int product_shift(int shift) const {
        return has_two_steps ? 31 : shift_convention == left ? 31 - shift : shift;
    }
    int second_shift(int shift) const { return shift_convention == left ? -shift : shift; }
};

constexpr rule_case rule_cases[] = {
    {rule::tflite_2step, -31, 30, 0, int32_max, rule_case::left, true},
    {rule::tflite_single_rounding, -31, 30, 0, int32_max, rule_case::left, false},
    {rule::tflite_1step, -31, 30, 0, int32_max, rule_case::left, false},
    {rule::caffe2_2step, 0, 31, int32_min, int32_max, rule_case::right, true},
    {rule::gemmlowp_fixedpoint, 0, 31, int32_min, int32_max, rule_case::right, true},
    {rule::gemmlowp_fixedpoint_exponent, -31, 31, int32_min, int32_max, rule_case::left, true},
    {rule::gemmlowp_legacy_scale, 0, 31, int32_min, int32_max, rule_case::right, false},
    {rule::rounded_shift, -31, 62, int32_min, int32_max, rule_case::right, false},
    {rule::qnnpack_avgpool, 16, 55, 1 << 23, (1 << 24) - 1, rule_case::right, false},
    {rule::ev_rte15, 1, 62, 0, 32767, rule_case::right, false},
    {rule::xnnpack_rndnu, 16, 55, 1 << 23, (1 << 24) - 1, rule_case::right, false},
    {rule::ruy_2step, -31, 30, 0, int32_max, rule_case::left, true},
    {rule::half_away_1step, -31, 30, 0, int32_max, rule_case::left, false},
};

class requantize_rule : public testing::TestWithParam<rule_case> {
protected:
    const rule_case &c = GetParam();

    void check(std::int32_t acc, fixed_point_multiplier m) const {
        expect_same(requantize(c.id, acc, m), exact::requantize(c.id, acc, m), to_string(c.id), ": acc ", acc,
                    ", multiplier ", m.multiplier, ", shift ", m.shift, ", offset ", m.offset);
    }

    std::int32_t multiplier(inputs &in) const {
        return static_cast<std::int32_t>(in.between(c.lowest_multiplier, c.highest_multiplier));
    }
    std::int32_t offset(inputs &in) const {
        return c.id == rule::gemmlowp_legacy_scale ? in.any_magnitude() : 0;
    }
};

TEST_P(requantize_rule, follows_its_formula_at_every_shift_and_extreme) {
    std::vector<std::int32_t> multipliers{c.lowest_multiplier, c.highest_multiplier};
    for (const std::int32_t q : {0, 1, -1, 3, 127, 32767, 1 << 23, 1 << 30, (1 << 30) + 1, 1717986918,
                                 int32_max - 1, -(1 << 30), -1717986918})
        if (q >= c.lowest_multiplier && q <= c.highest_multiplier)
            multipliers.push_back(q);
    const std::vector<std::int32_t> accumulators = landmarks();
    for (int shift = c.lowest_shift; shift <= c.highest_shift; shift++)
        for (const std::int32_t q : multipliers)
            for (const std::int32_t acc : accumulators)
                check(acc, {q, shift, 0});
}

TEST_P(requantize_rule, follows_its_formula_at_random) {
    inputs in(11);
    for (int i = 0; i < 500'000; i++) {
        const int shift = static_cast<int>(in.between(c.lowest_shift, c.highest_shift));
        check(in.s32(), {multiplier(in), shift, offset(in)});
        check(in.any_magnitude(), {multiplier(in), shift, offset(in)});
    }
}

TEST_P(requantize_rule, follows_its_formula_on_ties_of_the_product) {
    inputs in(12);
    for (int i = 0; i < 200'000; i++) {
        const int shift = static_cast<int>(in.between(c.lowest_shift, c.highest_shift));
        const int bits = c.product_shift(shift) - 1; // the product becomes an odd multiple of 2^bits
        const int bits_of_q = static_cast<int>(in.between(0, 13));
        if (bits < bits_of_q || bits - bits_of_q > 30)
            continue;
        const std::int32_t odd = multiplier(in) & ~((std::int32_t{2} << bits_of_q) - 1);
        const std::int32_t q = odd + (std::int32_t{1} << bits_of_q);
        const std::int32_t acc = in.odd_multiple_of_two_to(bits - bits_of_q);
        check(acc, {q, shift, 0});
        check(wrapped(wide{acc} + 1), {q, shift, 0});
        check(wrapped(wide{acc} - 1), {q, shift, 0});
    }
}

class two_step_rule : public requantize_rule {};

TEST_P(two_step_rule, follows_its_formula_on_ties_of_the_second_step) {
    inputs in(13);
    for (int i = 0; i < 200'000; i++) {
        const int shift = static_cast<int>(in.between(c.lowest_shift, c.highest_shift));
        const int e = c.second_shift(shift);
        if (e < 1)
            continue;
        const std::int32_t q = in.multiplier(), tie = in.tied_dividend(e);
        const wide acc =
            nearest(wide{tie} * power_of_two(62) / q, 31, ties::up); // high_mul(acc, q) is near the tie
        for (int neighbour = -1; neighbour <= 1; neighbour++)
            check(saturated(acc + neighbour), {q, shift, 0});
    }
}

std::vector<rule_case> cases_with_two_steps() {
    std::vector<rule_case> cases;
    std::copy_if(std::begin(rule_cases), std::end(rule_cases), std::back_inserter(cases),
                 [](const rule_case &c) { return c.has_two_steps; });
    return cases;
}

const auto name_of_rule = [](const auto &test) { return std::string(to_string(test.param.id)); };
INSTANTIATE_TEST_SUITE_P(all, requantize_rule, testing::ValuesIn(rule_cases), name_of_rule);
INSTANTIATE_TEST_SUITE_P(all, two_step_rule, testing::ValuesIn(cases_with_two_steps()), name_of_rule);

// ---- caffe_double_round

/// Nearest integer, ties away from zero; a long double holds every value here exactly.
long double away(long double x) { return x < 0 ? std::ceil(x - 0.5L) : std::floor(x + 0.5L); }

template <typename Scale> float exact_double_round(std::int32_t acc, Scale scale) {
    int exponent = 0;
    const auto mantissa = static_cast<long double>(std::frexp(scale, &exponent));
    const auto product = static_cast<Scale>(static_cast<long double>(static_cast<float>(acc)) * mantissa);
    const auto first = static_cast<float>(away(static_cast<long double>(product)));
    return static_cast<float>(away(std::ldexp(static_cast<long double>(first), exponent)));
}

TEST(caffe_double_round, follows_its_formula) {
    inputs in(14);
    for (int i = 0; i < 500'000; i++) {
        const double scale = std::ldexp(static_cast<double>(in.between(1ll << 52, (1ll << 53) - 1)),
                                        static_cast<int>(in.between(-82, -53)));
        for (const std::int32_t acc :
             {in.s32(), in.any_magnitude(), static_cast<std::int32_t>(in.between(-5000, 5000))}) {
            expect_same(caffe_double_round(acc, scale), exact_double_round(acc, scale), acc, " * ", scale);
            const auto scale_f32 = static_cast<float>(scale);
            if (scale_f32 < 1)
                expect_same(caffe_double_round(acc, scale_f32), exact_double_round(acc, scale_f32), acc,
                            " * ", scale_f32);
        }
    }
    for (int exponent = 0; exponent <= 30; exponent++) // both steps on ties: mantissa 1/2 and 3/4
        for (const double mantissa : {0.5, 0.75})
            for (const std::int32_t acc : landmarks()) {
                const double scale = std::ldexp(mantissa, -exponent);
                expect_same(caffe_double_round(acc, scale), exact_double_round(acc, scale), acc, " * ",
                            scale);
            }
}

struct real_check_value {
    std::int32_t acc;
    double scale;
    std::int32_t zero_point, low, high, code;
};

TEST(caffe_double_round, published_values) {
    constexpr real_check_value f64_scales[] = {
        {1, 0.5, 0, -128, 127, 1},
        {-1, 0.25, 0, -128, 127, -1},
        {9999999, 0.75, 0, -128, 127, 127},
        {-3, 0x1.999999999999ap-4, 0, -128, 127, 0},
        {-1, 0x1.5555555555555p-2, 0, -128, 127, -1},
        {-9999999, 0x1.daf7a73bcfac3p-8, 0, -128, 127, -128},
        {12345, 0x1.8da168c5e72a7p-12, -5, -128, 127, 0},
        {-12345, 0x1.daf7a73bcfac3p-8, -5, -128, 127, -94},
        {5, 0.5, 1, -128, 127, 4},
        {-5, 0.25, 1, -128, 127, -1},
        {-5, 0x1.5555555555555p-2, 1, -128, 127, -1},
        {10, 0x1.5555555555555p-2, 0, -128, 127, 4},
    };
    constexpr real_check_value f32_scales[] = {
        {1, 0x1.99999ap-4, 0, -128, 127, 0},
        {3, 0x1.daf7a8p-8, 0, -128, 127, 0},
        {5, 0x1.99999ap-4, 1, -128, 127, 2},
        {-6, 0x1.daf7a8p-8, 0, -128, 127, 0},
    };
    const auto code = [](const real_check_value &v, float x) {
        return octet::impl::clamp(static_cast<std::int32_t>(x) + v.zero_point, v.low, v.high);
    };
    for (const real_check_value &v : f64_scales)
        EXPECT_EQ(code(v, caffe_double_round(v.acc, v.scale)), v.code) << v.acc << " * " << v.scale;
    for (const real_check_value &v : f32_scales)
        EXPECT_EQ(code(v, caffe_double_round(v.acc, static_cast<float>(v.scale))), v.code)
            << v.acc << " * " << v.scale;
}

// ---- published check values, at compile time

constexpr std::int32_t min32 = int32_min, max32 = int32_max;

struct check_value {
    std::int32_t acc, multiplier, shift;
    std::int32_t zero_point, low, high, code; ///< gemmlowp_legacy_scale: the zero point is the offset
};

template <std::size_t n> constexpr bool holds(requantization_rule id, const check_value (&values)[n]) {
    for (const check_value &v : values) {
        const bool is_legacy = id == rule::gemmlowp_legacy_scale;
        const std::int32_t x = requantize(id, v.acc, {v.multiplier, v.shift, is_legacy ? v.zero_point : 0});
        const std::int64_t shifted = std::int64_t{x} + (is_legacy ? 0 : v.zero_point);
        if (octet::impl::clamp<std::int64_t>(shifted, v.low, v.high) != v.code)
            return false;
    }
    return true;
}

constexpr check_value tflite_2step_values[] = {
    {1, 1073741824, 0, 0, -128, 127, 1},          {-2, 1073741824, -1, 0, -128, 127, -1},
    {1, 1073741824, -1, 0, -128, 127, 1}, // 0.25: rounded twice
    {2, 1610612736, 0, 0, -128, 127, 2},          {-128, 1073741824, 1, 0, -128, 127, -128},
    {1, 1610612736, 1, 0, -128, 127, 2},          {-1000003, 1073741824, 1, 0, min32, max32, -1000003},
    {431, 1717986918, -3, -128, -128, -23, -85},  {-17248, 1992157647, -7, -5, -128, 127, -128},
    {12345, 1667783217, -11, 7, 0, 255, 12},      {min32, 1073741824, -30, 0, min32, max32, -1},
    {max32, 1073741824, -31, 0, min32, max32, 1}, {5, 0, 0, 11, -128, 127, 11},
    {-1, 1689465651, 7, 0, min32, max32, -101},
};
static_assert(holds(rule::tflite_2step, tflite_2step_values));

constexpr check_value tflite_single_rounding_values[] = {
    {1, 1073741824, 0, 0, -128, 127, 1},
    {1, 1073741824, -1, 0, -128, 127, 0},
    {-2, 1073741824, -1, 0, -128, 127, 0},
    {2, 1610612736, 0, 0, -128, 127, 2},
    {-128, 1073741824, 1, 0, -128, 127, -128},
    {431, 1717986918, -3, -128, -128, -23, -85},
    {min32, 1073741824, 1, 0, min32, max32, min32},
    {12345, 1992157647, -7, -5, -128, 127, 84},
    {-12345, 1667783217, -11, 7, 0, 255, 2},
    {1073741824, 1073741824, -30, 0, min32, max32, 1},
    {min32, 1073741824, -31, 0, min32, max32, 0},
    {-5, 0, 0, 11, -128, 127, 11},
    {0, 2147483647, 30, 0, min32, max32, 0},
};
static_assert(holds(rule::tflite_single_rounding, tflite_single_rounding_values));

constexpr check_value tflite_1step_values[] = {
    {1, 1073741824, 0, 0, -128, 127, 1},
    {-2, 1073741824, -1, 0, -128, 127, 0},
    {-3, 1610612736, 1, 0, -128, 127, -4},
    {min32, 1717986918, -3, 0, min32, max32, -214748365},
    {17248, 1992157647, -7, -5, -128, 127, 120},
    {-17248, 1667783217, -11, 7, 0, 255, 0},
    {max32, 1073741824, -30, 0, min32, max32, 1},
    {min32, 1073741824, -31, 0, min32, max32, 0},
    {max32, 0, 0, 0, min32, max32, 0},
    {-2, 1689465651, 7, 0, min32, max32, -201},
    {431, 1431655765, -1, 128, 0, 255, 255},
    {36414, 1084993523, -2, 0, min32, max32, 4599},
};
static_assert(holds(rule::tflite_1step, tflite_1step_values));

constexpr check_value caffe2_2step_values[] = {
    {1, 1073741824, 0, 0, 0, 255, 1},          {-1, 1073741824, 1, 3, 0, 255, 3},
    {min32, 1717986944, 3, 255, 0, 255, 0},    {12345, 1431655808, 1, 10, 0, 255, 255},
    {-12345, 1992157696, 7, 200, 0, 255, 111}, {max32, 1667783168, 11, 0, 0, 255, 255},
    {min32, 1073741824, 23, 255, 0, 255, 127}, {12345, 1073741824, 31, 10, 0, 255, 10},
    {-12345, 2147483520, 0, 200, 0, 255, 0},   {10, 1073741824, 0, 127, 0, 255, 132},
    {-3, 1073741824, 1, 5, 0, 255, 4},         {9000, 1610612736, 0, 128, 128, 200, 200},
};
static_assert(holds(rule::caffe2_2step, caffe2_2step_values));

constexpr check_value gemmlowp_fixedpoint_values[] = {
    {1, 1073741824, 0, 0, min32, max32, 1},
    {-1, 1073741824, 1, 0, min32, max32, 0},
    {-10, 1610612736, 0, 0, min32, max32, -7},
    {min32, 1992157696, 7, 0, min32, max32, -15563732},
    {12345, max32, 0, 0, min32, max32, 12345},
    {-3, max32, 31, 0, min32, max32, 0},
    {-1, min32, 0, 0, min32, max32, 1},
    {3, min32, 1, 0, min32, max32, -2},
    {-12345, min32, 1, 0, min32, max32, 6173},
    {-3, -1073741824, 1, 0, min32, max32, 1},
    {1, 1, 0, 0, min32, max32, 0},
    {-3, 0, 5, 0, min32, max32, 0},
};
static_assert(holds(rule::gemmlowp_fixedpoint, gemmlowp_fixedpoint_values));

constexpr check_value gemmlowp_fixedpoint_exponent_values[] = {
    {1, 1073741824, 1, 0, min32, max32, 1},
    {-1, 1073741824, 4, 0, min32, max32, -8},
    {3, 1610612736, 2, 0, min32, max32, 9},
    {536870912, 1073741824, 1, 0, min32, max32, 536870912},
    {536870912, 1610612736, 2, 0, min32, max32, 1610612735}, // the left shift saturates
    {100, 1717986918, -3, 0, min32, max32, 10},
    {-100, 1073741824, -31, 0, min32, max32, 0},
    {-1, 1073741824, 20, 0, min32, max32, -524288},
    {5000, 1073741824, 20, 0, min32, max32, 1073741824},
    {-100, 1073741824, 1, 0, min32, max32, -100},
    {5000, 1073741824, 4, 0, min32, max32, 40000},
    {5000, 1717986918, -3, 0, min32, max32, 500},
};
static_assert(holds(rule::gemmlowp_fixedpoint_exponent, gemmlowp_fixedpoint_exponent_values));

constexpr check_value gemmlowp_legacy_scale_values[] = {
    {1, 1, 1, 0, min32, max32, 1},       {-1, 1, 2, 0, min32, max32, 0},
    {2, 3, 3, 0, min32, max32, 1},       {-2, 7, 4, 100, min32, max32, 43},
    {1, 163, 12, -128, 0, 255, 0},       {-1, 1, 0, 5, min32, max32, 4},
    {100000, 16777, 22, 0, 0, 255, 255}, {-2, 0, 3, 0, min32, max32, 0},
    {1, -3, 2, 7, min32, max32, -6},     {-100000, -3, 2, 7, min32, max32, 74995},
    {5, 3, 3, 0, min32, max32, 2},       {-10, 1, 1, 0, min32, max32, -5},
};
static_assert(holds(rule::gemmlowp_legacy_scale, gemmlowp_legacy_scale_values));

constexpr check_value rounded_shift_values[] = {
    {1, 127, 8, 0, -128, 127, 0},          {-1, 127, 9, 0, -128, 127, 0},
    {3, 102, 10, 0, -128, 127, 0},         {-12345, 85, 8, -5, -128, 127, -128},
    {12345, 119, 14, -5, -128, 127, 85},   {-12345, 99, 18, -5, -128, 127, -10},
    {-12345, 101, 0, -5, -128, 127, -128}, {5, 32767, 16, 3, 0, 255, 5},
    {-5, 26214, 18, 3, 0, 255, 3},         {12345, 30398, 22, -5, -128, 127, 84},
    {3, 2147483647, 32, 0, -128, 127, 1},  {1, 1717986918, 34, 0, -128, 127, 0},
};
static_assert(holds(rule::rounded_shift, rounded_shift_values));

constexpr check_value qnnpack_avgpool_values[] = {
    {1, 14913081, 27, 0, 0, 255, 0},     {14, 14913081, 27, 0, 0, 255, 2},
    {-1, 8388608, 25, 10, 0, 255, 10},   {-2, 8388608, 25, 10, 0, 255, 9},
    {2, 10956549, 29, 0, 0, 255, 0},     {-2, 8388608, 24, 10, 0, 255, 9},
    {9, 14913081, 27, 0, 0, 255, 1},     {-9, 8388608, 25, 20, 0, 255, 18},
    {-14, 14913081, 27, 20, 0, 255, 18}, {9, 8388608, 24, 0, 0, 255, 5},
    {1000, 10956549, 29, 5, 0, 255, 25}, {1000, 14913081, 27, 5, 0, 255, 116},
    {min32, 8388608, 24, 9, 0, 255, 0}};
static_assert(holds(rule::qnnpack_avgpool, qnnpack_avgpool_values));

constexpr check_value ev_rte15_values[] = {
    {2, 1, 2, 0, -128, 127, 0},         {-2, 1, 3, 0, -128, 127, 0},
    {6, 13107, 17, 0, -128, 127, 1},    {-6, 21845, 16, 0, -128, 127, -2},
    {20, 15199, 21, 0, -128, 127, 0},   {12, 1, 2, 0, -128, 127, 3},
    {-12, 1, 3, 0, -128, 127, -2},      {-6, 13107, 17, 0, -128, 127, -1},
    {-15, 21845, 16, 0, -128, 127, -5}, {-12, 1, 2, 0, -128, 127, -3},
    {20, 1, 3, 0, -128, 127, 2},        {-12345, 13107, 17, -5, -128, 127, -128},
    {12345, 1, 2, -5, -128, 127, 127}};
static_assert(holds(rule::ev_rte15, ev_rte15_values));

TEST(requantize, rules_have_their_families) {
    EXPECT_FALSE(is_fixed_point(rule::caffe_double_round));
    EXPECT_FALSE(is_fixed_point(rule::ort_f32));
    for (const rule_case &c : rule_cases) {
        EXPECT_TRUE(is_fixed_point(c.id)) << to_string(c.id);
        EXPECT_FALSE(is_float(c.id)) << to_string(c.id);
    }
    EXPECT_EQ(requantize(rule::none, 123456789, {}), 123456789);
}

/// A quarter: the first step of ruy makes 1 of 0.5, the second 1 of 0.5 again; negative ties go up twice.
TEST(requantize, ties_of_ruy_go_up_in_both_steps) {
    for (const auto &[acc, code] :
         {std::pair(1, 1), {-1, 0}, {2, 1}, {-2, 0}, {3, 1}, {-3, 0}, {6, 2}, {-6, -1}})
        EXPECT_EQ(requantize(rule::ruy_2step, acc, {1 << 30, -1, 0}), code) << acc;
    EXPECT_EQ(requantize(rule::tflite_2step, -2, {1 << 30, -1, 0}),
              -1); // the reference kernels differ at such ties
}

TEST(requantize, ties_of_rndnu_go_up_and_results_saturate) {
    for (const auto &[acc, code] : {std::pair(1, 0), {-1, 0}, {2, 1}, {-2, 0}, {6, 2}, {-6, -1}})
        EXPECT_EQ(requantize(rule::xnnpack_rndnu, acc, {1 << 23, 25, 0}), code) << acc;
    EXPECT_EQ(requantize(rule::xnnpack_rndnu, int32_max, {1 << 23, 16, 0}), int32_max);
    EXPECT_EQ(from_float(rule::xnnpack_rndnu, 0.25f), (fixed_point_multiplier{1 << 23, 25, 0}));
}

TEST(requantize, half_away_in_f64) {
    for (const auto &[acc, code] : {std::pair(2, 1), {-2, -1}, {6, 2}, {-6, -2}, {1, 0}, {-3, -1}})
        EXPECT_EQ(requantize(rule::f64_half_away, acc, 0.25, false), code) << acc;
    EXPECT_EQ(requantize(rule::f64_half_away, int32_min, 8., false), int32_min);
}

/// Halves of odd accumulators: with an odd zero point the even code is the other one.
TEST(requantize, onnx_rounds_after_the_zero_point) {
    struct row {
        std::int32_t acc, zero_point, code;
    };
    for (const row &r : {row{1, 0, 0},
                         {1, 1, 2},
                         {3, 0, 2},
                         {3, 1, 2},
                         {-1, 0, 0},
                         {-1, 1, 0},
                         {-3, 1, 0},
                         {-3, 0, -2},
                         {5, -7, -4}})
        EXPECT_EQ(requantize(rule::onnx_f64, r.acc, 0.5, false, r.zero_point) + r.zero_point, r.code)
            << r.acc << " " << r.zero_point;
    // The sum is rounded to a double, too: 1 + 0.49999999999999994 is 1.5.
    EXPECT_EQ(requantize(rule::onnx_f64, 1, std::nextafter(0.5, 0.), false, 1), 1);
    EXPECT_EQ(requantize(rule::onnx_f64, 1, std::nextafter(0.5, 0.), false, 0), 0);
    EXPECT_EQ(requantize(rule::onnx_f64, int32_min, 8., false, 5), int32_min);
    EXPECT_EQ(requantize(rule::onnx_f64, int32_max, 8., false, -5), int32_max);
}

TEST(requantize, one_accumulator_under_every_rule) { // the comparison table of the rules: M = 1/4
    const auto at = [](rule id, int shift, std::int32_t acc) {
        return requantize(id, acc,
                          {id == rule::qnnpack_avgpool || id == rule::xnnpack_rndnu ? 1 << 23
                           : id == rule::ev_rte15                                   ? 1
                                                                                    : 1 << 30,
                           shift, 0});
    };
    struct row {
        std::int32_t acc, two_step, one_step, qnnpack, ev;
    };
    for (const row &r : {row{1, 1, 0, 0, 0},
                         {-1, 0, 0, 0, 0},
                         {2, 1, 1, 1, 0},
                         {-2, -1, 0, -1, 0},
                         {6, 2, 2, 2, 2},
                         {-6, -2, -1, -2, -2}}) {
        EXPECT_EQ(at(rule::tflite_2step, -1, r.acc), r.two_step) << r.acc;
        EXPECT_EQ(at(rule::caffe2_2step, 1, r.acc), r.two_step) << r.acc;
        EXPECT_EQ(at(rule::tflite_1step, -1, r.acc), r.one_step) << r.acc;
        EXPECT_EQ(at(rule::qnnpack_avgpool, 25, r.acc), r.qnnpack) << r.acc;
        EXPECT_EQ(at(rule::ev_rte15, 2, r.acc), r.ev) << r.acc;
        EXPECT_EQ(at(rule::half_away_1step, -1, r.acc), r.qnnpack) << r.acc;
    }
}

} // namespace
