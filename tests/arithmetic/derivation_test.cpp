// From real scales to multipliers: each rule's derivation against its definition, its edge values, its
// limits, and published values.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"
#include "support/expect_same.hpp"
#include "support/inputs.hpp"

using namespace octet;
using octet::test::expect_invalid;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::int32_max;
using rule = requantization_rule;

namespace octet {
inline namespace v0 {
void PrintTo(const fixed_point_multiplier &m, std::ostream *os) {
    *os << "{" << m.multiplier << ", " << m.shift << ", " << m.offset << "}";
}
} // namespace v0
} // namespace octet

namespace {

/// Positive, with an exponent between 2^low and 2^high and a full mantissa.
double random_real(inputs &in, int low, int high) {
    return std::ldexp(static_cast<double>(in.between(1ll << 52, (1ll << 53) - 1)),
                      static_cast<int>(in.between(low, high)) - 52);
}

// ---- real factors

struct derived {
    float src, weights, dst;
    double tflite_f64, tflite_f32prod, f32, snps_onnx_per_channel;
};

TEST(real_multiplier, published_values) {
    const derived values[] = {
        {0.5f, 1.f, 1.f, 0.5, 0.5, 0.5, 0.5},
        {0x1.99999ap-4f, 0x1.99999ap-4f, 0x1.47ae14p-7f, 0x1.000000e000006p+0, 0x1.0000019000009p+0,
         0x1.000002p+0, 1.},
        {0x1.555556p-2f, 3.f, 1.f, 0x1.0000008p+0, 1., 1., 1.},
        {0x1.73cf26p-9f, 0x1.73ab48p-13f, 0x1.309d6cp-7f, 0x1.c5a794ed25687p-15, 0x1.c5a794eaecb75p-15,
         0x1.c5a794p-15, 0x1.c5a794p-15},
        {0x1.830c72p-4f, 0x1.18187ap-8f, 0x1.244cb0p-5f, 0x1.72e3851063edap-7, 0x1.72e384cb89030p-7,
         0x1.72e384p-7, 0x1.72e386p-7},
        {0x1.30b17ep-5f, 0x1.998092p-11f, 0x1.5387f6p-5f, 0x1.6f7c2b3433364p-11, 0x1.6f7c2a95b1916p-11,
         0x1.6f7c2ap-11, 0x1.6f7c2cp-11},
    };
    for (const derived &v : values) {
        EXPECT_EQ(real_multiplier(scale_derivation::tflite_f64, v.src, v.weights, v.dst), v.tflite_f64);
        EXPECT_EQ(real_multiplier(scale_derivation::tflite_f32prod, v.src, v.weights, v.dst),
                  v.tflite_f32prod);
        EXPECT_EQ(real_multiplier(scale_derivation::ort_f32, v.src, v.weights, v.dst), v.f32);
        EXPECT_EQ(real_multiplier(scale_derivation::caffe2_f32, v.src, v.weights, v.dst), v.f32);
        EXPECT_EQ(real_multiplier(scale_derivation::snps_onnx_per_channel, v.src, v.weights, v.dst),
                  v.snps_onnx_per_channel);
    }
}

/// x rounded to binary32; long double holds products of two floats exactly.
double to_f32(long double x) { return static_cast<double>(static_cast<float>(x)); }

TEST(real_multiplier, has_the_stated_precision) {
    inputs in(31);
    for (int i = 0; i < 200'000; i++) {
        const auto scale = [&] { return static_cast<float>(random_real(in, -16, 2)); };
        const float s = scale(), w = scale(), d = scale();
        const long double product = static_cast<long double>(s) * w;
        const auto is = [&](scale_derivation how, double wanted) {
            expect_same(real_multiplier(how, s, w, d), wanted, "derivation ", static_cast<int>(how), " of ",
                        s, ", ", w, ", ", d);
        };
        is(scale_derivation::tflite_f64, static_cast<double>(product) / d);
        is(scale_derivation::tflite_f32prod, to_f32(product) / d);
        is(scale_derivation::ort_f32, to_f32(static_cast<float>(to_f32(product)) / d));
        is(scale_derivation::snps_onnx_per_channel, to_f32(static_cast<double>(product) / d));
    }
}

TEST(real_multiplier, of_several_channels_is_that_of_each) {
    const std::vector<float> scales = {0.1f, 0x1p-100f, 3.f};
    for (const scale_derivation how :
         {scale_derivation::tflite_f64, scale_derivation::tflite_f32prod, scale_derivation::caffe2_f32,
          scale_derivation::ort_f32, scale_derivation::snps_onnx_per_channel}) {
        std::vector<double> each;
        for (const float scale : scales)
            each.push_back(real_multiplier(how, 0.3f, scale, 0.7f));
        EXPECT_EQ(real_multipliers(how, 0.3f, scales, 0.7f), each);
    }
    EXPECT_TRUE(real_multipliers(scale_derivation::ort_f32, 1, {}, 1).empty());
    expect_invalid(
        [&] {
            real_multipliers(scale_derivation::ort_f32, 1, {1, -1}, 1);
        },
        {"real_multipliers", "weights_scale is -1"});
}

TEST(real_multiplier, refuses_scales_that_are_not_positive_and_finite) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (const float bad : {0.f, -1.f, inf, std::numeric_limits<float>::quiet_NaN()}) {
        expect_invalid([&] { real_multiplier(scale_derivation::tflite_f64, bad, 1, 1); }, {"src_scale is"});
        expect_invalid([&] { real_multiplier(scale_derivation::tflite_f64, 1, bad, 1); },
                       {"weights_scale is"});
        expect_invalid([&] { real_multiplier(scale_derivation::tflite_f64, 1, 1, bad); }, {"dst_scale is"});
    }
}

// ---- Q31

constexpr std::int32_t half = 1 << 30;

TEST(from_double, q31_edge_values) {
    using m = fixed_point_multiplier;
    for (const rule id : {rule::tflite_2step, rule::tflite_1step, rule::tflite_single_rounding,
                          rule::gemmlowp_fixedpoint_exponent}) {
        EXPECT_EQ(from_double(id, 0.), (m{0, 0, 0}));
        EXPECT_EQ(from_double(id, 0.5), (m{half, 0, 0}));
        EXPECT_EQ(from_double(id, 1.), (m{half, 1, 0}));
        EXPECT_EQ(from_double(id, 1. - 0x1p-34), (m{half, 1, 0})) << "the mantissa rounds up to 2^31";
        EXPECT_EQ(from_double(id, 0x1p-32), (m{half, -31, 0}));
        EXPECT_EQ(from_double(id, 0x1p-33), (m{0, 0, 0})) << "flushed";
        EXPECT_EQ(from_double(id, 0x1p-32 - 0x1p-70), (m{half, -31, 0})) << "rounds up before it is flushed";
        EXPECT_EQ(from_double(id, 0.1), (m{1717986918, -3, 0}));
        EXPECT_EQ(from_double(id, 100.7), (m{1689465651, 7, 0}));
        EXPECT_EQ(from_double(id, 0.0072474273), (m{1992157647, -7, 0}));
        EXPECT_EQ(from_double(id, 0.5 + 0x1p-32), (m{half + 1, 0, 0})) << "a tie goes away from zero";
    }
    EXPECT_EQ(from_double(rule::gemmlowp_fixedpoint, 0.1), (m{1717986918, 3, 0}));
    EXPECT_EQ(from_float(rule::tflite_2step, 0.1f), (m{1717986944, -3, 0})) << "exact: 24 bits of mantissa";
}

TEST(from_double, q31_is_the_nearest_mantissa) {
    inputs in(32);
    for (int i = 0; i < 500'000; i++) {
        const double real = random_real(in, -31, 28);
        const fixed_point_multiplier m = from_double(rule::tflite_2step, real);
        expect_same(m.multiplier >= half, true, "mantissa of ", real);
        // Half a unit of the mantissa at most; on a tie, up.
        const long double error =
            std::ldexp(static_cast<long double>(m.multiplier), m.shift - 31) - static_cast<long double>(real);
        const long double half_unit = std::ldexp(0.5L, m.shift - 31);
        expect_same(error > -half_unit && error <= half_unit, true, "error of ", real);
    }
}

TEST(from_double, limits_of_each_rule) {
    EXPECT_EQ(from_double(rule::tflite_single_rounding, 0x1p31), (fixed_point_multiplier{int32_max, 30, 0}))
        << "saturates";
    EXPECT_EQ(from_double(rule::tflite_2step, 0x1p30 - 1).shift, 30);
    expect_invalid([] { from_double(rule::tflite_2step, 0x1p30); }, {"tflite_2step, allowed: M < 2^30"});
    expect_invalid([] { from_double(rule::tflite_1step, 0x1p30); }, {"allowed: M < 2^30"});
    expect_invalid([] { from_double(rule::gemmlowp_fixedpoint, 1.); },
                   {"gemmlowp_fixedpoint, allowed: M < 1"});
    expect_invalid([] { from_double(rule::ev_rte15, 0.4999962); }, {"ev_rte15, allowed: 0 < M < 0.49999610"});
    expect_invalid([] { from_double(rule::ev_rte15, 0.); }, {"ev_rte15"});
    expect_invalid([] { from_double(rule::rounded_shift, 0.); }, {"rounded_shift, allowed: M > 0"});
    expect_invalid([] { from_float(rule::caffe2_2step, 1.f); }, {"caffe2_2step, allowed: 2^-32 <= M < 1"});
    expect_invalid([] { from_float(rule::caffe2_2step, 0x1.fffffep-33f); }, {"caffe2_2step"});
    expect_invalid([] { from_float(rule::qnnpack_avgpool, 256.f); },
                   {"qnnpack_avgpool, allowed: 2^-32 <= M < 256"});
    for (const rule id : {rule::automatic, rule::none, rule::f32, rule::f32_v3, rule::ort_f32,
                          rule::caffe_double_round, rule::gemmlowp_legacy_scale})
        expect_invalid([id] { from_double(id, 0.5); },
                       {std::string("rule ") + to_string(id) + ", allowed: "});
    for (const rule id : {rule::tflite_2step, rule::tflite_1step, rule::tflite_single_rounding,
                          rule::caffe2_2step, rule::gemmlowp_fixedpoint, rule::gemmlowp_fixedpoint_exponent,
                          rule::rounded_shift, rule::qnnpack_avgpool, rule::ev_rte15})
        for (const double bad : {-0.5, std::numeric_limits<double>::infinity(), std::nan("")})
            expect_invalid([=] { from_double(id, bad); }, {to_string(id)});
}

// ---- rules of other frameworks

TEST(from_float, caffe2_takes_the_bits_of_a_float) {
    inputs in(33);
    const auto check = [](float real) {
        const fixed_point_multiplier m = from_float(rule::caffe2_2step, real);
        expect_same(std::ldexp(static_cast<double>(m.multiplier), -31 - m.shift), static_cast<double>(real),
                    real);
        expect_same(m.multiplier >= half && m.shift >= 0 && m.shift <= 31, true, "normalised form of ", real);
        const fixed_point_multiplier q31 = from_double(rule::tflite_2step, static_cast<double>(real));
        expect_same(m.multiplier == q31.multiplier && m.shift == -q31.shift, true, "Q31 of ", real);
    };
    for (const float real : {0x1p-32f, 0x1.fffffep-1f, 0.5f, 0.1f})
        check(real);
    for (int i = 0; i < 200'000; i++)
        check(static_cast<float>(std::ldexp(static_cast<double>(in.between(1 << 23, (1 << 24) - 1)),
                                            static_cast<int>(in.between(-55, -24)))));
    EXPECT_EQ(from_float(rule::caffe2_2step, 0x1.c5a794p-15f), (fixed_point_multiplier{1902765312, 14, 0}));
    EXPECT_EQ(from_float(rule::caffe2_2step, 0x1.72e384p-7f), (fixed_point_multiplier{1555620096, 6, 0}));
}

TEST(from_float, qnnpack_takes_24_bits_of_a_float) {
    inputs in(34);
    for (int i = 0; i < 200'000; i++) {
        const auto real = static_cast<float>(std::ldexp(
            static_cast<double>(in.between(1 << 23, (1 << 24) - 1)), static_cast<int>(in.between(-55, -16))));
        const fixed_point_multiplier m = from_float(rule::qnnpack_avgpool, real);
        expect_same(std::ldexp(static_cast<double>(m.multiplier), -m.shift), static_cast<double>(real), real);
        expect_same(m.shift >= 16 && m.shift <= 55, true, "shift of ", real);
    }
    EXPECT_EQ(from_float(rule::qnnpack_avgpool, 1.f / 9), (fixed_point_multiplier{14913081, 27, 0}));
    EXPECT_EQ(from_float(rule::qnnpack_avgpool, 0.25f), (fixed_point_multiplier{8388608, 25, 0}));
}

TEST(from_double, rounded_shift_published_values) {
    using m = fixed_point_multiplier;
    EXPECT_EQ(rounded_shift_from_double(0.5, 8), (m{127, 8, 0}))
        << "2^7 does not fit the mantissa and is clipped";
    EXPECT_EQ(rounded_shift_from_double(0.1, 8), (m{102, 10, 0}));
    EXPECT_EQ(rounded_shift_from_double(1. / 3, 8), (m{85, 8, 0}));
    EXPECT_EQ(rounded_shift_from_double(1., 8), (m{127, 7, 0}));
    EXPECT_EQ(rounded_shift_from_double(100.7, 8), (m{101, 0, 0}));
    EXPECT_EQ(rounded_shift_from_double(0.1, 16), (m{26214, 18, 0}));
    EXPECT_EQ(rounded_shift_from_double(100.7, 16), (m{25779, 8, 0}));
    EXPECT_EQ(rounded_shift_from_double(0.0072474273, 16), (m{30398, 22, 0}));
    EXPECT_EQ(from_double(rule::rounded_shift, 0.25), (m{int32_max, 33, 0}));
    EXPECT_EQ(from_double(rule::rounded_shift, 0.1), (m{1717986918, 34, 0}));
}

TEST(from_double, rounded_shift_is_the_nearest_mantissa_of_every_width) {
    inputs in(35);
    for (int i = 0; i < 200'000; i++) {
        const int bitwidth = static_cast<int>(in.between(2, 32));
        const bool is_signed = in.one_in(2);
        const double real = random_real(in, -29, 29);
        const fixed_point_multiplier m = rounded_shift_from_double(real, bitwidth, is_signed);
        const int mantissa_bits = bitwidth - (is_signed ? 1 : 0);
        const double highest = std::fmin(std::exp2(mantissa_bits) - 1, int32_max);
        const double scaled = real * std::exp2(m.shift); // a power of two: exact
        expect_same(scaled > highest / 2 - 1 && scaled <= std::exp2(mantissa_bits), true, "range of ", real);
        expect_same(std::abs(std::fmin(scaled, highest) - m.multiplier) <= 0.5, true, real, " in ", bitwidth,
                    " bits");
    }
    expect_invalid([] { rounded_shift_from_double(0.5, 1); }, {"bitwidth is 1, allowed: 2 to 32"});
    expect_invalid([] { rounded_shift_from_double(0.5, 33); }, {"bitwidth is 33"});
    expect_invalid([] { rounded_shift_from_double(0x1p-60, 32); }, {"a right shift from -31 to 62"});
    expect_invalid([] { rounded_shift_from_double(0x1p63, 32); }, {"a right shift from -31 to 62"});
}

TEST(from_double, ev_rte15_is_odd_and_within_15_bits) {
    using m = fixed_point_multiplier;
    EXPECT_EQ(from_double(rule::ev_rte15, 0.25), (m{1, 2, 0}));
    EXPECT_EQ(from_double(rule::ev_rte15, 0.1), (m{13107, 17, 0}));
    EXPECT_EQ(from_double(rule::ev_rte15, 1. / 3), (m{21845, 16, 0}));
    EXPECT_EQ(from_double(rule::ev_rte15, 0x1.daf7a73bcfac3p-8), (m{15199, 21, 0}));
    EXPECT_EQ(from_double(rule::ev_rte15, 0x1.8da168c5e72a7p-12), (m{3181, 23, 0}));
    inputs in(36);
    for (int i = 0; i < 200'000; i++) {
        const double real = random_real(in, -45, -2) * 0.9999;
        const fixed_point_multiplier e = from_double(rule::ev_rte15, real);
        expect_same(e.multiplier >= 1 && e.multiplier <= 32767 && (e.multiplier % 2 == 1 || e.shift == 1),
                    true, real);
        // 14 bits of mantissa at least: f in [h/2, h) times 2^16, rounded.
        expect_same(std::abs(std::ldexp(e.multiplier, -e.shift) / real - 1) <= 0.5 / 16383, true, "error of ",
                    real);
    }
}

TEST(divide_by_count, is_the_truncated_quotient) {
    inputs in(37);
    for (int i = 0; i < 200'000; i++) {
        const fixed_point_multiplier m{in.multiplier(), static_cast<int>(in.between(-20, 20)), 0};
        const std::int64_t count = in.between(1, in.one_in(2) ? 64 : 1 << 20);
        const fixed_point_multiplier mean = divide_by_count(m, count);
        const int taken = m.shift - mean.shift;
        const auto log2_count = static_cast<int>(std::floor(std::log2(static_cast<double>(count))));
        expect_same(taken, std::min({log2_count, 32, 31 + m.shift}), "shift of 1/", count);
        expect_same(mean.multiplier, (std::int64_t{m.multiplier} << taken) / count, m.multiplier, " / ",
                    count);
    }
    EXPECT_EQ(divide_by_count({half, 1, 0}, 1), (fixed_point_multiplier{half, 1, 0}));
    EXPECT_EQ(divide_by_count({half, 1, 0}, 49), (fixed_point_multiplier{701219150, -4, 0}));
    expect_invalid([] { divide_by_count({half, 1, 0}, 0); }, {"count is 0, allowed: at least 1"});
}

TEST(dynamic_quantization, covers_zero_and_the_range) {
    const auto is = [](float low, float high, float scale, std::int32_t zero_point) {
        const dynamic_quantization d = dynamic_quantization_of(low, high);
        EXPECT_EQ(d.scale, scale) << low << " to " << high;
        EXPECT_EQ(d.zero_point, zero_point) << low << " to " << high;
    };
    is(-1.f, 1.f, 2.f / 255.f, 127); // 1 / scale is 127.49999 in float
    is(0.f, 255.f, 1.f, 0);
    is(10.f, 255.f, 1.f, 0); // zero is always included
    is(-255.f, -3.f, 1.f, 255);
    is(0.f, 0.f, 1.f, 0);
    is(-3.f, 7.f, 10.f / 255.f, 76); // 76.5 goes to even
    expect_invalid([] { dynamic_quantization_of(1.f, -1.f); }, {"lowest <= highest"});
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    is(-1.f, infinity, infinity, 0); // ONNX Runtime's, as the rest
    is(-infinity, 1.f, infinity, 255);
    is(-infinity, infinity, infinity, 255);
    is(-infinity, -infinity, infinity, 255);
    EXPECT_TRUE(std::isnan(dynamic_quantization_of(nan, nan).scale));
    EXPECT_EQ(dynamic_quantization_of(nan, nan).zero_point, 255);
}

TEST(rule_names, are_each_others_inverse) {
    for (const rule id : all_requantization_rules())
        EXPECT_EQ(requantization_rule_from_string(to_string(id)), id);
    EXPECT_STREQ(to_string(static_cast<rule>(99)), "unknown");
    expect_invalid([] { requantization_rule_from_string("tflite"); },
                   {"'tflite', allowed: automatic, none, f32, f32_v3"});
}

} // namespace
