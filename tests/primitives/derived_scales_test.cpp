// Scales instead of multipliers: a convolution, deconvolution, inner product or matmul whose attributes say a rule and
// the scales of src, weights and dst gives the codes of the multipliers that the rule's framework derives of them. The
// source is 0, so that a destination of s32 is the rule of the bias, which spreads over all of s32 to show last bits.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using octet::test::expect_unimplemented;
using dt = data_type;
using tag = format_tag;
using rule = requantization_rule;
using how = scale_derivation;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr prop_kind forward = prop_kind::forward_inference;
constexpr dim_t channels = 40;

/// An operation with `channels` outputs, and what decides its multipliers.
struct operation {
    const char *name;
    std::function<primitive_desc(const primitive_attr &)> make;
    int weights_mask, dst_mask; ///< masks of the output channel
    how tflite_one, real;       ///< with one scale of weights; of rules with real scales
    bool real_is_f32 = false;
};

std::vector<operation> operations() {
    const auto convolution = [](dt type, bool is_depthwise) {
        return [=](const primitive_attr &attr) -> primitive_desc {
            const memory::desc image({1, channels, 4, 4}, type, tag::nhwc), bias({channels}, dt::s32, tag::x),
                sums({1, channels, 4, 4}, dt::s32, tag::nhwc);
            const memory::desc weights = is_depthwise
                                             ? memory::desc({channels, 1, 1, 3, 3}, dt::s8, tag::any)
                                             : memory::desc({channels, channels, 3, 3}, dt::s8, tag::any);
            return convolution_forward::primitive_desc(cpu, forward, algorithm::convolution_direct, image,
                                                       weights, bias, sums, {1, 1}, {1, 1}, {1, 1}, attr);
        };
    };
    const auto deconvolution = [](const primitive_attr &attr) -> primitive_desc {
        return deconvolution_forward::primitive_desc(
            cpu, forward, algorithm::deconvolution_direct, memory::desc({1, 8, 3, 3}, dt::s8, tag::nhwc),
            memory::desc({channels, 8, 2, 2}, dt::s8, tag::any), memory::desc({channels}, dt::s32, tag::x),
            memory::desc({1, channels, 6, 6}, dt::s32, tag::nhwc), {2, 2}, {0, 0}, {0, 0}, attr);
    };
    const auto inner_product = [](const primitive_attr &attr) -> primitive_desc {
        return inner_product_forward::primitive_desc(cpu, forward, memory::desc({3, 64}, dt::u8, tag::nc),
                                                     memory::desc({channels, 64}, dt::s8, tag::any),
                                                     memory::desc({channels}, dt::s32, tag::x),
                                                     memory::desc({3, channels}, dt::s32, tag::nc), attr);
    };
    const auto product = [](const primitive_attr &attr) -> primitive_desc {
        return matmul::primitive_desc(cpu, memory::desc({2, 3, 64}, dt::s8, tag::abc),
                                      memory::desc({2, 64, channels}, dt::s8, tag::abc),
                                      memory::desc({1, 1, channels}, dt::s32, tag::abc),
                                      memory::desc({2, 3, channels}, dt::s32, tag::abc), attr);
    };
    return {{"convolution of s8", convolution(dt::s8, false), 1, 2, how::tflite_f64, how::tflite_f64},
            {"convolution of u8", convolution(dt::u8, false), 1, 2, how::tflite_f32prod, how::tflite_f64},
            {"depthwise convolution", convolution(dt::s8, true), 3, 2, how::tflite_f64, how::tflite_f64},
            {"deconvolution", deconvolution, 1, 2, how::tflite_f64, how::snps_onnx_per_channel, true},
            {"inner product", inner_product, 1, 2, how::tflite_f32prod, how::tflite_f64},
            {"matmul", product, 4, 4, how::tflite_f32prod, how::tflite_f64}};
}

std::vector<std::uint8_t> result_of(const primitive_desc &pd) {
    std::unordered_map<int, memory> args;
    for (const int arg : pd.args()) {
        args[arg] = memory(pd.arg_desc(arg), cpu);
        std::memset(args[arg].get_data_handle(), 0, pd.arg_desc(arg).get_size());
    }
    std::mt19937 random(1);
    auto *bias = static_cast<std::uint32_t *>(args.at(OCTET_ARG_BIAS).get_data_handle());
    for (dim_t c = 0; c < channels; c++)
        bias[c] = random();
    primitive(pd).execute(stream(cpu), args);
    const auto *bytes = static_cast<const std::uint8_t *>(args.at(OCTET_ARG_DST).get_data_handle());
    return {bytes, bytes + pd.dst_desc().get_size()};
}

how derivation_of(const operation &op, rule r, std::size_t scales) {
    switch (r) {
    case rule::tflite_2step:
    case rule::tflite_single_rounding:
    case rule::tflite_1step:
        return scales == 1 ? op.tflite_one : how::tflite_f64;
    case rule::caffe2_2step:
    case rule::qnnpack_avgpool:
    case rule::gemmlowp_fixedpoint:
    case rule::gemmlowp_fixedpoint_exponent:
        return how::caffe2_f32;
    case rule::caffe_double_round:
    case rule::f64_scale:
        return op.real;
    case rule::onnx_f64:
        return how::ort_f32;
    default:
        return how::tflite_f64;
    }
}

constexpr float src_scale = 0.1f, dst_scale = 0.7f;

primitive_attr by_scales(const operation &op, rule r, const std::vector<float> &scales) {
    primitive_attr attr;
    attr.set_requantization(r);
    attr.set_scales(OCTET_ARG_SRC, 0, {src_scale});
    attr.set_scales(OCTET_ARG_WEIGHTS, scales.size() == 1 ? 0 : op.weights_mask, scales);
    attr.set_scales(OCTET_ARG_DST, 0, {dst_scale});
    return attr;
}

primitive_attr by_multipliers(const operation &op, rule r, const std::vector<float> &scales) {
    const int mask = scales.size() == 1 ? 0 : op.dst_mask;
    std::vector<fixed_point_multiplier> multipliers;
    std::vector<double> factors;
    std::vector<float> factors_f32;
    for (const float scale : scales) {
        factors.push_back(real_multiplier(derivation_of(op, r, scales.size()), src_scale, scale, dst_scale));
        factors_f32.push_back(static_cast<float>(factors.back()));
        if (parameters_of(r) == rule_parameters::multipliers)
            multipliers.push_back(from_double(r, factors.back()));
    }
    primitive_attr attr;
    if (parameters_of(r) == rule_parameters::multipliers)
        attr.set_requantization(r, mask, multipliers);
    else if (op.real_is_f32)
        attr.set_requantization(r, mask, factors_f32);
    else
        attr.set_requantization(r, mask, factors);
    return attr;
}

class derived_scales : public testing::TestWithParam<rule> {};

TEST_P(derived_scales, give_the_codes_of_the_frameworks_multipliers) {
    std::vector<float> per_channel;
    for (dim_t c = 0; c < channels; c++)
        per_channel.push_back(0.011f + 0.0377f * static_cast<float>(c));
    for (const operation &op : operations())
        for (const std::vector<float> &scales : {std::vector<float>{0.3f}, per_channel})
            for (const cpu_isa level : get_available_cpu_isas()) {
                set_max_cpu_isa(level);
                EXPECT_EQ(result_of(op.make(by_scales(op, GetParam(), scales))),
                          result_of(op.make(by_multipliers(op, GetParam(), scales))))
                    << op.name << ", " << scales.size() << " scales, " << to_string(level);
            }
    set_max_cpu_isa(cpu_isa::all);
}

INSTANTIATE_TEST_SUITE_P(of, derived_scales,
                         testing::Values(rule::tflite_2step, rule::tflite_single_rounding, rule::tflite_1step,
                                         rule::caffe2_2step, rule::gemmlowp_fixedpoint,
                                         rule::gemmlowp_fixedpoint_exponent, rule::rounded_shift,
                                         rule::qnnpack_avgpool, rule::ev_rte15, rule::caffe_double_round,
                                         rule::f64_scale, rule::onnx_f64),
                         [](const auto &one) { return std::string(to_string(one.param)); });

// 0.1 * 0.3 / 0.7 under tflite_2step's rounding: doc/arithmetic.md, section 4, has the four multipliers.
TEST(derived_scales_by_hand, have_the_last_bit_of_each_precision) {
    const std::vector<operation> all = operations();
    const auto expect_multiplier = [&](const operation &op, rule r, fixed_point_multiplier m) {
        primitive_attr attr;
        attr.set_requantization(r, 0, {m});
        EXPECT_EQ(result_of(op.make(by_scales(op, r, {0.3f}))), result_of(op.make(attr))) << op.name;
    };
    expect_multiplier(all[0], rule::tflite_2step, {1472560321, -4, 0});
    expect_multiplier(all[1], rule::tflite_2step, {1472560299, -4, 0});
    expect_multiplier(all[4], rule::tflite_2step, {1472560299, -4, 0});
    expect_multiplier(all[5], rule::tflite_2step, {1472560299, -4, 0});
    expect_multiplier(all[0], rule::caffe2_2step, {1472560256, 4, 0});
    primitive_attr one_bit_off;
    one_bit_off.set_requantization(rule::tflite_2step, 0, {fixed_point_multiplier{1472560299, -4, 0}});
    EXPECT_NE(result_of(all[0].make(by_scales(all[0], rule::tflite_2step, {0.3f}))),
              result_of(all[0].make(one_bit_off)))
        << "the bias shows it";
}

TEST(derived_scales_by_hand, of_pruned_channels_are_zero_where_the_framework_has_one) {
    const operation op = operations()[0];
    std::vector<float> scales(channels, 0.3f);
    scales[1] = 0.f;
    std::vector<fixed_point_multiplier> multipliers(channels, {1472560321, -4, 0});
    multipliers[1] = {0, 0, 0};
    primitive_attr attr;
    attr.set_requantization(rule::tflite_2step, op.dst_mask, multipliers);
    EXPECT_EQ(result_of(op.make(by_scales(op, rule::tflite_2step, scales))), result_of(op.make(attr)));
    expect_invalid(
        [&] { op.make(by_scales(op, rule::caffe2_2step, scales)); },
        {"convolution: scales 0.1 of src, 0 of weights, 0.7 of dst", "factor 0 for rule caffe2_2step"});
    expect_invalid([&] { op.make(by_scales(op, rule::f64_scale, scales)); },
                   {"factor 0", "positive and finite"});
}

TEST(derived_scales_by_hand, name_what_is_missing_or_too_much) {
    const operation op = operations()[0];
    const auto make = [&](const std::function<void(primitive_attr &)> &change) {
        primitive_attr attr = by_scales(op, rule::tflite_2step, {0.3f});
        change(attr);
        return [=] { op.make(attr); };
    };
    expect_invalid(
        make([](primitive_attr &attr) {
            attr = {};
            attr.set_requantization(rule::tflite_2step);
            attr.set_scales(OCTET_ARG_SRC, 0, {1.f});
        }),
        {"convolution: rule tflite_2step needs set_scales of src, weights and dst", "weights has none"});
    expect_invalid(
        make([](primitive_attr &attr) {
            attr.set_requantization(rule::tflite_2step, 0, {fixed_point_multiplier{1 << 30, 0, 0}});
        }),
        {"both multipliers and set_scales"});
    expect_invalid(make([](primitive_attr &attr) {
                       attr.set_scales(OCTET_ARG_DST, 2, std::vector<float>(channels, 1.f));
                   }),
                   {"dst scales mask is 2", "allowed: 0"});
    expect_unimplemented(make([](primitive_attr &attr) { attr.set_scales_mask(OCTET_ARG_SRC, 0); }),
                         {"src scales are given at execution", "at creation"});
    expect_invalid(make([](primitive_attr &attr) { attr.set_scales(OCTET_ARG_SRC, 0, {1e12f}); }),
                   {"convolution: scales 1e+12 of src", "M < 2^30"});
    for (const rule r : {rule::gemmlowp_legacy_scale, rule::none, rule::f32})
        expect_invalid(make([=](primitive_attr &attr) { attr.set_requantization(r); }),
                       {to_string(r), "takes no per-argument scales", "tflite_2step"});
}

} // namespace
