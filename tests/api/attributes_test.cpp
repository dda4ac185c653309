// Attributes as plain values: what each setter refuses, and that what was set is what is kept.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using rule = requantization_rule;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_value = std::nanf("");

TEST(output_scales, are_kept) {
    primitive_attr attr;
    int mask = -1;
    std::vector<float> scales;
    attr.get_output_scales(mask, scales);
    EXPECT_EQ(mask, 0);
    EXPECT_EQ(scales, std::vector<float>{1.f}) << "the default";
    attr.set_output_scales(2, {0.5f, -0.25f, 3.f});
    attr.get_output_scales(mask, scales);
    EXPECT_EQ(mask, 2);
    EXPECT_EQ(scales, (std::vector<float>{0.5f, -0.25f, 3.f}));
    attr.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
    EXPECT_TRUE(attr.output_scales().runtime);
    attr.get_output_scales(mask, scales);
    ASSERT_EQ(scales.size(), 1u);
    EXPECT_TRUE(is_runtime_value(scales[0]));
    EXPECT_FALSE(is_runtime_value(nan_value)) << "only the one pattern means run time";
}

TEST(output_scales, refuse_what_is_no_scale) {
    primitive_attr attr;
    expect_invalid([&] { attr.set_output_scales(0, {}); },
                   {"set_output_scales", "no values", "at least one"});
    expect_invalid(
        [&] {
            attr.set_output_scales(0, {1.f, 2.f});
        },
        {"set_output_scales", "2 values for mask 0", "allowed: 1"});
    expect_invalid([&] { attr.set_output_scales(-1, {1.f}); },
                   {"set_output_scales", "mask is -1", "0 to 63"});
    expect_invalid([&] { attr.set_output_scales(64, {1.f}); }, {"mask is 64", "0 to 63"});
    expect_invalid([&] { attr.set_output_scales(0, {nan_value}); }, {"scale 0 is nan", "allowed: finite"});
    expect_invalid([&] { attr.set_output_scales(0, {inf}); }, {"scale 0 is inf"});
    expect_invalid([&] { attr.set_output_scales(2, {0.f, -inf}); }, {"scale 1 is -inf"});
    expect_invalid([&] { attr.set_output_scales(2, {1.f, OCTET_RUNTIME_F32_VAL}); }, {"scale 1 is nan"});
    EXPECT_FALSE(attr.output_scales().is_set()) << "a refused call changes nothing";
}

TEST(scales, refuse_what_is_no_scale_and_unknown_arguments) {
    primitive_attr attr;
    attr.set_scales(OCTET_ARG_WEIGHTS, 1, {0.5f, 0.25f});
    EXPECT_EQ(attr.scales().at(OCTET_ARG_WEIGHTS).mask, 1);
    attr.set_scales_mask(OCTET_ARG_DST, 0);
    EXPECT_TRUE(attr.scales().at(OCTET_ARG_DST).runtime);
    expect_invalid([&] { attr.set_scales(OCTET_ARG_SRC, 0, {-1.f}); },
                   {"set_scales", "SRC scale is -1", "positive"});
    expect_invalid([&] { attr.set_scales(OCTET_ARG_WEIGHTS, 1, {1.f, nan_value}); }, {"scale 1 is nan"});
    expect_invalid([&] { attr.set_scales(OCTET_ARG_DST, 0, {0.f}); },
                   {"DST scale is 0", "allowed: positive"});
    expect_invalid([&] { attr.set_scales(OCTET_ARG_BIAS, 0, {1.f}); },
                   {"set_scales", "OCTET_ARG_BIAS", "WEIGHTS, DST"});
    expect_invalid([&] { attr.set_scales_mask(OCTET_ARG_SRC, 100); }, {"set_scales", "mask is 100"});
    EXPECT_EQ(attr.scales().size(), 2u);
}

// Pruned channels have scale 0; the client of oneDNN that leaves one need not care.
TEST(scales, may_be_zero_where_nothing_is_divided_by_them) {
    primitive_attr attr;
    attr.set_output_scales(2, {0.5f, 0.f});
    EXPECT_EQ(attr.output_scales().values, (std::vector<float>{0.5f, 0.f}));
    attr.set_scales(OCTET_ARG_SRC, 0, {0.f});
    attr.set_scales(OCTET_ARG_WEIGHTS, 1, {0.f, 0.25f});
    EXPECT_EQ(attr.scales().at(OCTET_ARG_WEIGHTS).values, (std::vector<float>{0.f, 0.25f}));
}

TEST(zero_points, are_kept) {
    primitive_attr attr;
    int mask = -1;
    std::vector<std::int32_t> values;
    attr.get_zero_points(OCTET_ARG_SRC, mask, values);
    EXPECT_EQ(mask, 0);
    EXPECT_EQ(values, std::vector<std::int32_t>{0}) << "the default";
    attr.set_zero_points(OCTET_ARG_DST, 2, {1, -2, 3});
    attr.get_zero_points(OCTET_ARG_DST, mask, values);
    EXPECT_EQ(mask, 2);
    EXPECT_EQ(values, (std::vector<std::int32_t>{1, -2, 3}));
    attr.set_zero_points_mask(OCTET_ARG_SRC, 0);
    attr.get_zero_points(OCTET_ARG_SRC, mask, values);
    EXPECT_EQ(values, std::vector<std::int32_t>{OCTET_RUNTIME_S32_VAL});
}

TEST(zero_points, refuse_wrong_counts_masks_and_arguments) {
    primitive_attr attr;
    expect_invalid([&] { attr.set_zero_points(OCTET_ARG_SRC, 0, {}); }, {"set_zero_points", "no values"});
    expect_invalid(
        [&] {
            attr.set_zero_points(OCTET_ARG_SRC, 0, {1, 2});
        },
        {"set_zero_points", "2 values for mask 0"});
    expect_invalid([&] { attr.set_zero_points(OCTET_ARG_SRC, -4, {1}); }, {"set_zero_points", "mask is -4"});
    expect_invalid([&] { attr.set_zero_points(OCTET_ARG_BIAS, 0, {1}); },
                   {"set_zero_points", "OCTET_ARG_BIAS"});
    int mask;
    std::vector<std::int32_t> values;
    expect_invalid([&] { attr.get_zero_points(7, mask, values); }, {"get_zero_points", "get_zero_points: 7"});
}

TEST(requantization, keeps_one_rule_and_its_parameters) {
    primitive_attr attr;
    EXPECT_EQ(attr.rule(), rule::automatic);
    attr.set_requantization(rule::tflite_2step, 2, {{1 << 30, -3, 0}, {1 << 30, 1, 0}});
    EXPECT_EQ(attr.rule(), rule::tflite_2step);
    EXPECT_EQ(attr.multipliers().values.size(), 2u);
    attr.set_requantization(rule::caffe_double_round, 0, std::vector<float>{0.25f});
    EXPECT_FALSE(attr.multipliers().is_set()) << "parameters of the former rule go with it";
    EXPECT_TRUE(attr.real_scales_are_f32());
    attr.set_requantization(rule::caffe_double_round, 0, std::vector<double>{0.25});
    EXPECT_FALSE(attr.real_scales_are_f32());
    attr.set_requantization(rule::ort_f32);
    EXPECT_FALSE(attr.real_scales().is_set());
}

using multipliers = std::vector<fixed_point_multiplier>;

TEST(requantization, refuses_rules_without_multipliers) {
    primitive_attr attr;
    for (const rule r :
         {rule::automatic, rule::none, rule::f32, rule::f32_v3, rule::ort_f32, rule::caffe_double_round})
        expect_invalid(
            [&] {
                attr.set_requantization(r, 0, multipliers{{1 << 30, 0, 0}});
            },
            {"set_requantization", to_string(r), "allowed: tflite_2step, tflite_single"});
    expect_invalid([&] { attr.set_requantization(static_cast<rule>(99)); }, {"set_requantization", "99"});
    expect_invalid([&] { attr.set_requantization(rule::tflite_2step, 0, multipliers{}); }, {"no values"});
    expect_invalid([&] { attr.set_requantization(rule::tflite_2step, 0, multipliers(3)); },
                   {"3 values for mask 0"});
}

struct domain {
    rule id;
    std::int64_t lowest, highest;
    int lowest_shift, highest_shift;
};

TEST(requantization, refuses_multipliers_and_shifts_outside_each_rules_domain) {
    constexpr std::int64_t low = std::numeric_limits<std::int32_t>::min(),
                           high = std::numeric_limits<std::int32_t>::max();
    for (const domain &d : {domain{rule::tflite_2step, 0, high, -31, 30},
                            {rule::tflite_single_rounding, 0, high, -31, 30},
                            {rule::tflite_1step, 0, high, -31, 30},
                            {rule::caffe2_2step, low, high, 0, 31},
                            {rule::gemmlowp_fixedpoint, low, high, 0, 31},
                            {rule::gemmlowp_fixedpoint_exponent, low, high, -31, 31},
                            {rule::gemmlowp_legacy_scale, low, high, 0, 31},
                            {rule::rounded_shift, low, high, -31, 62},
                            {rule::qnnpack_avgpool, 1 << 23, (1 << 24) - 1, 16, 55},
                            {rule::ev_rte15, 0, 32767, 1, 62}}) {
        SCOPED_TRACE(to_string(d.id));
        primitive_attr attr;
        const auto set = [&](std::int64_t multiplier, int shift, std::int32_t offset = 0) {
            attr.set_requantization(d.id, 0,
                                    multipliers{{static_cast<std::int32_t>(multiplier), shift, offset}});
        };
        const std::int64_t inside = 1 << 23 > d.highest ? 1 : 1 << 23;
        for (const std::int64_t multiplier : {d.lowest, d.highest})
            for (const int shift : {d.lowest_shift, d.highest_shift})
                EXPECT_NO_THROW(set(multiplier, shift));
        if (d.lowest > low)
            expect_invalid([&] { set(d.lowest - 1, d.lowest_shift); },
                           {"value 0: multiplier is", "allowed: " + std::to_string(d.lowest)});
        if (d.highest < high)
            expect_invalid([&] { set(d.highest + 1, d.lowest_shift); },
                           {"value 0: multiplier is", " to " + std::to_string(d.highest)});
        expect_invalid([&] { set(inside, d.lowest_shift - 1); },
                       {"shift is", to_string(d.id), "allowed: " + std::to_string(d.lowest_shift)});
        expect_invalid([&] { set(inside, d.highest_shift + 1); },
                       {"shift is", " to " + std::to_string(d.highest_shift)});
        if (d.id == rule::gemmlowp_legacy_scale)
            EXPECT_NO_THROW(set(inside, d.lowest_shift, 5));
        else
            expect_invalid([&] { set(inside, d.lowest_shift, 5); }, {"offset is 5", "gemmlowp_legacy_scale"});
    }
}

TEST(requantization, refuses_real_scales_out_of_range) {
    primitive_attr attr;
    for (const double bad : {0., 1., -0.5, 0x1p-31, std::nan("")})
        expect_invalid(
            [&] { attr.set_requantization(rule::caffe_double_round, 0, std::vector<double>{bad}); },
            {"set_requantization: scale 0 is", "2^-30 <= scale < 1"});
    expect_invalid([&] { attr.set_requantization(rule::tflite_2step, 0, std::vector<double>{0.5}); },
                   {"tflite_2step with real scales", "allowed: caffe_double_round, f64_scale"});
}

TEST(input_multiplier, is_checked) {
    primitive_attr attr;
    attr.set_input_multiplier(OCTET_ARG_SRC_1, {1 << 30, -2, 0});
    EXPECT_EQ(attr.input_multipliers().at(OCTET_ARG_SRC_1), (fixed_point_multiplier{1 << 30, -2, 0}));
    expect_invalid(
        [&] {
            attr.set_input_multiplier(OCTET_ARG_SRC_0, {std::numeric_limits<std::int32_t>::min(), 0, 0});
        },
        {"set_input_multiplier: OCTET_ARG_SRC", "multiplier is -2147483648"});
    expect_invalid(
        [&] {
            attr.set_input_multiplier(99, {1, 0, 0});
        },
        {"set_input_multiplier", "set_input_multiplier: 99"});
}

// ---- post-ops

TEST(post_ops, refuse_parameters_outside_their_documentation) {
    post_ops ops;
    const memory::desc tensor({2, 3}, data_type::f32, format_tag::ab);
    expect_invalid([&] { ops.append_sum(nan_value); }, {"append_sum: scale is nan", "finite"});
    expect_invalid([&] { ops.append_eltwise(algorithm::binary_add, 0, 0); },
                   {"append_eltwise: algorithm", "eltwise_*"});
    expect_invalid([&] { ops.append_eltwise(inf, algorithm::eltwise_relu, 0, 0); },
                   {"append_eltwise: scale is inf"});
    expect_invalid([&] { ops.append_binary(algorithm::eltwise_relu, tensor); },
                   {"append_binary: algorithm", "binary_*"});
    expect_invalid([&] { ops.append_binary(algorithm::binary_add, memory::desc()); },
                   {"append_binary: src1 is none", "plain"});
    expect_invalid(
        [&] {
            ops.append_binary(algorithm::binary_add, memory::desc({2, 3}, data_type::f32, format_tag::any));
        },
        {"append_binary: src1 is f32 2x3 any", "plain"});
    expect_invalid([&] { ops.append_prelu(-1); }, {"append_prelu", "mask is -1"});
    expect_invalid([&] { ops.append_clip(3, 2); }, {"append_clip: low is 3, high is 2", "low <= high"});
    post_op::rescaled_sum sum;
    sum.rule = rule::f32;
    expect_invalid([&] { ops.append_rescaled_sum(sum); }, {"append_rescaled_sum", "rule f32"});
    sum.rule = rule::tflite_2step;
    sum.multiplier = {1 << 30, 31, 0};
    expect_invalid([&] { ops.append_rescaled_sum(sum); }, {"append_rescaled_sum", "shift is 31"});
    sum.multiplier = {1 << 30, 0, 0};
    sum.type = data_type::f32;
    expect_invalid([&] { ops.append_rescaled_sum(sum); }, {"append_rescaled_sum: type f32", "integers"});
    post_op::leaky_relu relu{{-1, 0, 0}, {1 << 30, 0, 0}};
    expect_invalid([&] { ops.append_leaky_relu(relu); }, {"append_leaky_relu: identity", "multiplier is -1"});
    post_op::table table;
    table.type = data_type::s32;
    expect_invalid([&] { ops.append_table(table); }, {"append_table", "allowed: s8, u8"});
    expect_invalid(
        [&] {
            ops.append_qlinear_add({1.f, std::numeric_limits<float>::infinity(), 0.f, 0, false});
        },
        {"append_qlinear_add", "inf", "finite"});
    expect_invalid(
        [&] {
            ops.append_qlinear_add({1.f, 1.f, 0.f, 256, false});
        },
        {"append_qlinear_add: zero_point is 256", "-255 to 255"});
    post_op::scaled_add add{add_multipliers_of(rule::tflite_2step, 1.f, 1.f, 2.f)};
    add.rule = rule::caffe2_2step;
    expect_invalid([&] { ops.append_scaled_add(add); },
                   {"append_scaled_add: rule caffe2_2step", "tflite_*, xnnpack_f32"});
    add.rule = rule::xnnpack_f32;
    expect_invalid([&] { ops.append_scaled_add(add); },
                   {"append_scaled_add: weight 1073741824", "-2^21 to 2^21"});
    add.multipliers = {{1 << 20, 0, 0}, {1 << 21, 0, 0}, {1, 31, 0}};
    expect_invalid([&] { ops.append_scaled_add(add); }, {"append_scaled_add: shift 31 of dst", "12 to 30"});
    add.multipliers.dst = {2, 30, 0};
    expect_invalid([&] { ops.append_scaled_add(add); }, {"multiplier 2 of dst", "allowed: 0, 0 and 1"});
    add.rule = rule::tflite_2step;
    add.dst_zero_point = 300;
    expect_invalid([&] { ops.append_scaled_add(add); },
                   {"append_scaled_add: dst_zero_point is 300", "-255 to 255"});
    EXPECT_EQ(ops.len(), 0) << "a refused call appends nothing";
}

TEST(prefetched_bytes, are_kept) {
    primitive_attr attr;
    EXPECT_EQ(attr.get_prefetched_bytes(), 0);
    attr.set_prefetched_bytes(147456);
    EXPECT_EQ(attr.get_prefetched_bytes(), 147456);
    expect_invalid([&] { attr.set_prefetched_bytes(-1); },
                   {"set_prefetched_bytes", "-1", "allowed: 0 or more"});
    EXPECT_EQ(attr.get_prefetched_bytes(), 147456) << "a refused call changes nothing";
}

TEST(post_ops, form_a_chain_of_at_most_32) {
    post_ops ops;
    for (int i = 0; i < max_post_ops; i++)
        ops.append_add(i);
    EXPECT_EQ(ops.len(), 32);
    expect_invalid([&] { ops.append_add(0); }, {"post_ops: more than 32"});
    EXPECT_EQ(ops.len(), 32);
    EXPECT_EQ(std::get<post_op::add>(ops.entries()[31]).value, 31) << "in order";
    primitive_attr attr;
    attr.set_post_ops(ops);
    EXPECT_EQ(attr.get_post_ops().len(), 32);
}

TEST(post_ops, a_leaky_relu_may_have_a_negative_slope) {
    post_ops ops;
    ops.append_leaky_relu({{1 << 30, 1, 0}, {-(1 << 30), 0, 0}});
    EXPECT_EQ(ops.len(), 1);
}

} // namespace
