// Problems as text: what a primitive descriptor prints is read back as the same problem, for every operation,
// attribute and layout; texts that are wrong are refused with the token that is.
// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <gtest/gtest.h>

#include "octet/example_problems.hpp"
#include "octet/octet.hpp"
#include "octet/problem_parts.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using dt = data_type;
using tag = format_tag;
using rule = requantization_rule;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr prop_kind forward = prop_kind::forward_inference;

memory::desc md(const memory::dims &dims, dt type, tag layout) { return {dims, type, layout}; }

/// The text says all: the problem that is read prints the same, takes the same arguments, and gets the same
/// implementation.
void expect_round_trip(const primitive_desc &pd) {
    const std::string text = pd.problem_str();
    SCOPED_TRACE(text);
    EXPECT_EQ(text.find(','), std::string::npos) << "it is one field of a verbose line";
    const primitive_desc read = primitive_desc_from_string(text, cpu);
    EXPECT_EQ(read.problem_str(), text);
    EXPECT_STREQ(read.impl_info_str(), pd.impl_info_str());
    EXPECT_EQ(read.get_kind(), pd.get_kind());
    ASSERT_EQ(read.args(), pd.args());
    for (const int arg : pd.args())
        EXPECT_EQ(read.query_md(query::exec_arg_md, arg), pd.query_md(query::exec_arg_md, arg)) << arg;
}

struct convolution {
    memory::desc src = md({2, 8, 9, 7}, dt::u8, tag::nhwc), weights = md({16, 8, 3, 3}, dt::s8, tag::any),
                 bias = md({16}, dt::s32, tag::x), dst = md({2, 16, 5, 4}, dt::s8, tag::nhwc);
    memory::dims strides{2, 2}, dilates{0, 0}, padding{1, 1};
    primitive_attr attr;

    convolution_forward::primitive_desc pd() const {
        return {convolution_forward::desc(forward, algorithm::convolution_direct, src, weights, bias, dst,
                                          strides, dilates, padding, padding),
                attr, cpu};
    }
};

TEST(problem_text, a_convolution_reads_as_it_was_written) {
    convolution c;
    c.weights = md({16, 8, 3, 3}, dt::s8, tag::ohwi);
    c.attr.set_output_scales(0, {0.1f});
    c.attr.set_zero_points(OCTET_ARG_SRC, 0, {3});
    c.attr.set_zero_points_mask(OCTET_ARG_DST, 0);
    c.attr.set_prefetched_bytes(2359296);
    post_ops ops;
    ops.append_sum(0.5f);
    ops.append_eltwise(algorithm::eltwise_clip, 0.f, 6.f);
    c.attr.set_post_ops(ops);
    EXPECT_EQ(c.pd().problem_str(),
              "convolution src:u8:2x8x9x7:nhwc weights:s8:16x8x3x3:ohwi bias:s32:16:x dst:s8:2x16x5x4:nhwc "
              "strides:2x2 dilates:0x0 padding_l:1x1 output_scales:0:0.1 zero_points:src:0:3 "
              "zero_points:dst:0:* prefetch:2359296 post_op:sum:0.5:0:undef post_op:eltwise_clip:0:6:1");
    expect_round_trip(c.pd());
}

TEST(problem_text, of_all_weights_layouts) {
    convolution c;
    expect_round_trip(c.pd()); // packed
    c.bias = {};
    c.weights = md({16, 8, 3, 3}, dt::s8, tag::hwio);
    expect_round_trip(c.pd());
    for (const dim_t stride : {1, 2}) { // depthwise: in patches
        c.src = md({1, 32, 8, 8}, dt::u8, tag::nhwc);
        c.weights = md({32, 1, 1, 3, 3}, dt::s8, tag::any);
        c.dst = md({1, 32, 8 / stride, 8 / stride}, dt::s8, tag::nhwc);
        c.strides = {stride, stride};
        expect_round_trip(c.pd());
    }
    const memory::desc first({1, 3, 8, 8}, dt::u8, tag::nhwc);
    c.src = first; // the width is part of the reduction
    c.weights = md({32, 3, 3, 3}, dt::s8, tag::any);
    expect_round_trip(c.pd());

    const deconvolution_forward::desc d(
        forward, algorithm::deconvolution_direct, md({1, 8, 5, 5}, dt::u8, tag::nhwc),
        md({4, 2, 2, 4, 4}, dt::s8, tag::any), md({1, 8, 10, 10}, dt::u8, tag::nhwc), {2, 2}, {1, 1}, {1, 1});
    expect_round_trip(deconvolution_forward::primitive_desc(d, cpu));
    const deconvolution_forward::desc depthwise(
        forward, algorithm::deconvolution_direct, md({1, 8, 5, 5}, dt::u8, tag::nhwc),
        md({8, 1, 1, 4, 4}, dt::s8, tag::any), md({1, 8, 10, 10}, dt::u8, tag::nhwc), {2, 2}, {1, 1}, {1, 1});
    expect_round_trip(deconvolution_forward::primitive_desc(depthwise, cpu));
}

TEST(problem_text, two_packed_layouts_have_two_names) {
    const auto packed_for = [](dim_t stride) {
        convolution c;
        c.bias = {};
        c.src = md({1, 32, 8, 8}, dt::u8, tag::nhwc);
        c.weights = md({32, 1, 1, 3, 3}, dt::s8, tag::any);
        c.dst = md({1, 32, 8 / stride, 8 / stride}, dt::s8, tag::nhwc);
        c.strides = {stride, stride};
        return c.pd().weights_desc();
    };
    const memory::desc one = packed_for(1), two = packed_for(2);
    EXPECT_EQ(one == two, one.to_string() == two.to_string());
    EXPECT_NE(one.to_string().find("packed_grouped_convolution-g32-p"), std::string::npos) << one.to_string();
}

TEST(problem_text, every_operation_has_an_example_that_runs) {
    std::set<primitive_kind> kinds;
    for (const example_problem &p : example_problems()) {
        SCOPED_TRACE(p.name);
        const primitive_desc pd = primitive_desc_from_string(p.problem, cpu);
        expect_round_trip(pd);
        kinds.insert(pd.get_kind());
    }
    for (int i = 1; to_string(static_cast<primitive_kind>(i)) != std::string("unknown"); i++)
        EXPECT_EQ(kinds.count(static_cast<primitive_kind>(i)), 1U)
            << to_string(static_cast<primitive_kind>(i));
}

TEST(problem_text, of_all_operations) {
    const memory::desc a = md({2, 8, 6, 6}, dt::s8, tag::nhwc), b = md({2, 8, 6, 6}, dt::u8, tag::nchw),
                       row = md({1, 8, 1, 1}, dt::s8, tag::nhwc);
    const inner_product_forward::desc ip(forward, md({4, 32}, dt::u8, tag::nc),
                                         md({10, 32}, dt::s8, tag::any), md({10}, dt::f32, tag::x),
                                         md({4, 10}, dt::f32, tag::nc));
    expect_round_trip(inner_product_forward::primitive_desc(ip, cpu));
    const matmul::desc mm(md({3, 4, 32}, dt::u8, tag::abc), md({1, 32, 10}, dt::s8, tag::acb),
                          md({3, 4, 10}, dt::s32, tag::abc));
    expect_round_trip(matmul::primitive_desc(mm, cpu));
    expect_round_trip(reorder::primitive_desc(cpu, a, cpu, b));
    expect_round_trip(reorder::primitive_desc(cpu, md({16, 8, 3, 3}, dt::s8, tag::hwio), cpu,
                                              convolution().pd().weights_desc()));
    const pooling_forward::desc pool(forward, algorithm::pooling_avg_exclude_padding, a,
                                     md({2, 8, 3, 3}, dt::s8, tag::nhwc), {2, 2}, {3, 3}, {1, 1}, {0, 0});
    expect_round_trip(pooling_forward::primitive_desc(pool, cpu));
    expect_round_trip(eltwise_forward::primitive_desc(
        eltwise_forward::desc(forward, algorithm::eltwise_linear, a, b, 0.1f, -1e-7f), cpu));
    expect_round_trip(binary::primitive_desc(binary::desc(algorithm::binary_max, a, row, b), cpu));
    expect_round_trip(softmax_forward::primitive_desc(
        softmax_forward::desc(forward, algorithm::softmax_log, a, md({2, 8, 6, 6}, dt::f32, tag::nhwc), 3),
        cpu));
    primitive_attr tflite;
    tflite.set_requantization(rule::tflite_2step);
    expect_round_trip(resampling_forward::primitive_desc(
        resampling_forward::desc(forward, algorithm::resampling_nearest, a,
                                 md({2, 8, 3, 9}, dt::s8, tag::nhwc), resampling_coordinates::align_corners),
        tflite, cpu));
    expect_round_trip(sum::primitive_desc(b, {0.25f, 1.5f, -2.f}, {a, b, a}, cpu));
    expect_round_trip(concat::primitive_desc(1, {a, a}, cpu));
    expect_round_trip(prelu_forward::primitive_desc(prelu_forward::desc(forward, a, row, b), cpu));
    using flags = normalization_flags;
    const memory::desc image({2, 3, 4, 4}, data_type::f32, format_tag::nhwc);
    for (const flags f : {flags::none, flags::use_scale | flags::fuse_norm_relu, flags::use_scale_shift})
        expect_round_trip(batch_normalization_forward::primitive_desc(
            batch_normalization_forward::desc(forward, image, 1e-5f, f | flags::use_global_stats), cpu));
    for (const flags f : {flags::none, flags::use_global_stats | flags::use_shift})
        expect_round_trip(layer_normalization_forward::primitive_desc(
            layer_normalization_forward::desc(forward, image, 1e-5f, f), cpu));
    const memory::desc reduced({2, 1, 4, 1}, data_type::f32, format_tag::nchw);
    for (const algorithm alg : {algorithm::reduction_mean, algorithm::reduction_norm_lp_sum})
        expect_round_trip(reduction::primitive_desc(reduction::desc(alg, image, reduced, 2.f, 0.5f), cpu));
    expect_round_trip(eltwise_forward::primitive_desc(
        eltwise_forward::desc(forward, algorithm::eltwise_relu,
                              md({2, 32, 6, 6}, dt::s8, tag::nhwc).submemory_desc({2, 8, 6, 6}, {0, 8, 0, 0}),
                              memory::desc({2, 8, 6, 6}, dt::s8, memory::dims{288, 1, 48, 8}), 0.f),
        cpu));
}

/// s8 to s8 with a destination of 16 channels: takes any attribute.
primitive_desc with(const primitive_attr &attr) {
    convolution c;
    c.attr = attr;
    return c.pd();
}

TEST(problem_text, of_all_attributes) {
    primitive_attr a;
    a.set_scales(OCTET_ARG_SRC, 0, {0.1f});
    a.set_scales(OCTET_ARG_WEIGHTS, 1, std::vector<float>(16, 0.3f));
    a.set_scales_mask(OCTET_ARG_DST, 0);
    a.set_zero_points(OCTET_ARG_WEIGHTS, 1, std::vector<std::int32_t>(16, -3));
    convolution c;
    c.bias = md({16}, dt::f32, tag::x);
    c.attr = a;
    expect_round_trip(c.pd());

    primitive_attr fixed;
    std::vector<fixed_point_multiplier> multipliers;
    for (int i = 0; i < 16; i++)
        multipliers.push_back({1 << 30 | i * 1001, -i % 5, 0});
    fixed.set_requantization(rule::tflite_2step, 2, multipliers);
    post_ops ops;
    ops.append_clip(-128, 127);
    ops.append_add(-7);
    ops.append_rescaled_sum({{1 << 30, -3, 0}, 5, dt::undef, rule::tflite_single_rounding});
    ops.append_leaky_relu({{1 << 30, 1, 0}, {-(1 << 29), -2, 0}, rule::tflite_2step});
    post_op::table table{dt::s8, {}};
    for (int i = 0; i < 256; i++)
        table.entries[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(255 - i);
    ops.append_table(table);
    ops.append_scaled_add({{{1 << 30, 0, 0}, {1 << 29, 0, 0}, {1 << 28, -18, 0}}, 1, -2, rule::tflite_2step});
    fixed.set_post_ops(ops);
    expect_round_trip(with(fixed));

    primitive_attr floats;
    ops = {};
    ops.append_binary(algorithm::binary_mul, md({1, 16, 1, 1}, dt::f32, tag::nhwc));
    ops.append_prelu(2);
    ops.append_sum(0.1f, 3, dt::u8);
    ops.append_eltwise(1e-9f, algorithm::eltwise_swish, 1e20f, 0.f);
    ops.append_qlinear_add({0.1f, 0.2f, -3.f, 5, true});
    floats.set_post_ops(ops);
    floats.set_output_scales(2, {OCTET_RUNTIME_F32_VAL});
    expect_round_trip(with(floats));

    primitive_attr f64;
    f64.set_requantization(rule::f64_scale, 0, std::vector<double>{0.1});
    expect_round_trip(with(f64));
    f64.set_requantization(rule::caffe_double_round, 2, std::vector<float>(16, 0.3f));
    expect_round_trip(with(f64));
}

TEST(problem_text, many_values_become_their_range) {
    convolution c;
    std::vector<float> scales;
    for (int i = 0; i < 16; i++)
        scales.push_back(0.5f + 0.25f * static_cast<float>(i % 7));
    c.attr.set_output_scales(2, scales);
    EXPECT_NE(c.pd().problem_str().find(" output_scales:2:0.5..2"), std::string::npos)
        << c.pd().problem_str();
    const primitive_attr read = primitive_desc_from_string(c.pd().problem_str(), cpu).get_primitive_attr();
    ASSERT_EQ(read.output_scales().values.size(), 16u);
    EXPECT_EQ(read.output_scales().values.front(), 0.5f);
    EXPECT_EQ(read.output_scales().values.back(), 2.f);
    EXPECT_EQ(read.output_scales().values[5], 1.f);
}

TEST(problem_text, short_texts_have_defaults) {
    const primitive_desc pd = primitive_desc_from_string(
        "convolution  dst:u8:1x64x56x56:nhwc src:u8:1x64x56x56:nhwc  weights:s8:64x64x3x3:any padding_l:1x1",
        cpu);
    EXPECT_EQ(pd.problem_str(), "convolution src:u8:1x64x56x56:nhwc weights:s8:64x64x3x3:packed_convolution "
                                "dst:u8:1x64x56x56:nhwc strides:1x1 dilates:0x0 padding_l:1x1");
    EXPECT_TRUE(primitive_desc_from_string("binary src:s8:4x4:ab src1:s8:4x1:ab dst:s8:4x4:ab", cpu));
    EXPECT_TRUE(primitive_desc_from_string("sum src0:s8:4x4:ab src1:s8:4x4:ab dst:s8:4x4:ab", cpu));
}

TEST(problem_text, a_line_of_verbose_mode_is_accepted) {
    const std::string text = convolution().pd().problem_str();
    const primitive_desc pd =
        primitive_desc_from_string("octet_verbose,exec,cpu,jit:dot/avx2," + text + ",0.25", cpu);
    EXPECT_EQ(pd.problem_str(), text);
}

TEST(problem_text, wrong_texts_are_refused_with_their_token) {
    const auto refuse = [](const std::string &text, std::initializer_list<std::string_view> words) {
        SCOPED_TRACE(text);
        expect_invalid([&] { primitive_desc_from_string(text, cpu); }, words);
    };
    const std::string tensors = " src:u8:1x4x6x6:nhwc weights:s8:8x4x3x3:oihw dst:u8:1x8x4x4:nhwc";
    refuse("", {"empty"});
    refuse("convolve src:u8:1:a", {"'convolve'", "allowed: convolution, deconvolution"});
    refuse("convolution src:u8:1x4x6x6:nhwc", {"convolution needs weights"});
    refuse("convolution src:u9:1x4x6x6:nhwc", {"u9", "type:dims:layout"});
    refuse("convolution src:u8:1x4xx6:nhwc", {"'' is no number"});
    refuse("convolution src:u8:1x4x6x6:nwhc", {"layout 'nwhc'"});
    refuse("convolution src:u8:1x4x6x99999999999999999999:nhwc", {"no number that fits"});
    refuse("convolution src9:u8:1x4x6x6:nhwc", {"'src9'", "allowed: src, src1"});
    refuse("convolution src:u8:1x4x6x6:strides_-1x1x1x1", {"stride 0 is -1"});
    refuse("convolution src:u8:1x4x6x6:nhwc weights:s8:8x4x3x3:packed_convolution-w0",
           {"none that Octet makes"});
    refuse("convolution src:u8:1x4x6x6:nhwc weights:s8:8x4x3x3:packed_convolution-q", {"'q'", "allowed: g"});
    refuse("convolution" + tensors + " stride:1x1", {"'stride:1x1'", "attributes are rule"});
    refuse("convolution" + tensors + " strides:1", {"strides has 1 values"});
    refuse("convolution" + tensors + " rule:tflite", {"'tflite'", "allowed:"});
    refuse("convolution" + tensors + " output_scales:2:1/2", {"2 output scales with mask 2", "allowed: 8"});
    refuse("convolution" + tensors + " output_scales:2", {"ends too early"});
    refuse("convolution" + tensors + " output_scales:0:1:2", {"one field too many"});
    refuse("convolution" + tensors + " post_op:relu:0:0:1", {"'relu'", "allowed: sum, eltwise_*"});
    refuse("convolution" + tensors + " post_op:table:s8:00", {"2 hexadecimal digits", "allowed: 512"});
    refuse("eltwise src:s8:4:a dst:s8:4:a algorithm:relu", {"algorithm 'relu'"});
}

TEST(problem_parts, make_what_a_descriptor_makes) {
    const convolution c;
    primitive_attr attr;
    attr.set_output_scales(0, {0.5f});
    const std::map<int, memory::desc> tensors{{OCTET_ARG_SRC, c.src},
                                              {OCTET_ARG_WEIGHTS, c.weights},
                                              {OCTET_ARG_BIAS, md({16}, dt::f32, tag::x)},
                                              {OCTET_ARG_DST, c.dst}};
    const primitive_desc made = primitive_desc_from_parts(
        "convolution", tensors, {{"strides", "2x2"}, {"padding_l", "1x1"}, {"padding_r", "1x1"}}, attr, cpu);
    const convolution_forward::primitive_desc expected({forward, algorithm::convolution_direct, c.src,
                                                        c.weights, tensors.at(OCTET_ARG_BIAS), c.dst,
                                                        c.strides, c.dilates, c.padding, c.padding},
                                                       attr, cpu);
    EXPECT_EQ(made.problem_str(), expected.problem_str());
    EXPECT_EQ(made.args(), expected.args());

    const memory::desc x = md({2, 3}, dt::s8, tag::ab), joined = md({4, 3}, dt::s8, tag::ab);
    const primitive_desc concat = primitive_desc_from_parts(
        "concat", {{OCTET_ARG_MULTIPLE_SRC, x}, {OCTET_ARG_MULTIPLE_SRC + 1, x}, {OCTET_ARG_DST, joined}},
        {{"axis", "0"}}, {}, cpu);
    EXPECT_EQ(concat.src_desc(1), x);

    expect_invalid([&] { primitive_desc_from_parts("convolve", tensors, {}, {}, cpu); }, {"convolve"});
    expect_invalid(
        [&] {
            primitive_desc_from_parts("convolution", tensors, {{"stride", "1x1"}}, {}, cpu);
        },
        {"convolution: parameter 'stride'", "allowed: strides"});
    expect_invalid(
        [&] {
            primitive_desc_from_parts("convolution", tensors, {{"strides", "1xx1"}}, {}, cpu);
        },
        {"no number"});
    expect_invalid(
        [&] {
            primitive_desc_from_parts("softmax", {{OCTET_ARG_SRC, x}}, {}, {}, cpu);
        },
        {"softmax needs dst"});
}

} // namespace
