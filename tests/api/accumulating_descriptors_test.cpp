// Convolution, inner product, matmul: requests that contradict themselves or that nobody implements: each
// operation refuses them at creation, with a text that names the argument, what was given and what is
// allowed. Every case is a good request with one thing changed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using octet::test::expect_unimplemented;
using dims = memory::dims;
using tag = format_tag;
using rule = requantization_rule;
using dt = data_type;

namespace {

const engine cpu(engine::kind::cpu, 0);
using multipliers = std::vector<fixed_point_multiplier>;
constexpr fixed_point_multiplier half{1 << 30, 0, 0};

memory::desc plain(const dims &d, dt type) { return memory::desc(d, type, dims{}); }

// ---- convolution

struct convolution_request {
    memory::desc src = plain({2, 8, 7, 9}, dt::u8), weights = plain({6, 8, 3, 3}, dt::s8),
                 bias = plain({6}, dt::s32), dst = plain({2, 6, 7, 9}, dt::s8);
    dims strides{1, 1}, dilates{0, 0}, padding_l{1, 1}, padding_r{1, 1};
    prop_kind prop = prop_kind::forward_inference;
    algorithm alg = algorithm::convolution_direct;
    primitive_attr attr;
    engine where = cpu;
    bool allow_empty = false;

    convolution_forward::primitive_desc operator()() const {
        const convolution_forward::desc d(prop, alg, src, weights, bias, dst, strides, dilates, padding_l,
                                          padding_r);
        return {d, attr, where, allow_empty};
    }
};

TEST(convolution_desc, a_good_request_is_accepted) {
    convolution_request r;
    EXPECT_TRUE(r());
    EXPECT_EQ(r().src_desc(), r.src);
    EXPECT_EQ(r().weights_desc(), r.weights);
    EXPECT_EQ(r().bias_desc(), r.bias);
    EXPECT_EQ(r().dst_desc(), r.dst);
    r.prop = prop_kind::forward_training; // the forward pass is the same
    EXPECT_TRUE(r());
}

TEST(convolution_desc, refuses_shapes_that_disagree) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        convolution_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = convolution_request &;
    with(
        [](request r) {
            r.src = plain({2, 9, 7, 9}, dt::u8);
        },
        {"convolution: src has 9 channels", "{6, 8, 3, 3}", "need 8"});
    with([](request r) { r.dst = plain({2, 7, 7, 9}, dt::s8); }, {"dst has 7 channels", "give 6"});
    with([](request r) { r.dst = plain({3, 6, 7, 9}, dt::s8); }, {"batch of src is 2, of dst 3"});
    with([](request r) { r.dst = plain({2, 6, 8, 9}, dt::s8); }, {"dst height is 8", "give 7"});
    with([](request r) { r.dst = plain({2, 6, 7, 8}, dt::s8); }, {"dst width is 8", "give 9"});
    with([](request r) { r.bias = plain({7}, dt::s32); }, {"bias has dims {7}", "allowed: {6}"});
    with([](request r) { r.bias = plain({1, 6}, dt::s32); }, {"bias has dims {1, 6}", "allowed: {6}"});
    with(
        [](request r) {
            r.weights = plain({6, 8, 3}, dt::s8);
        },
        {"weights has 3 dimensions", "allowed: 4 to 5"});
    with([](request r) { r.src = plain({2, 8}, dt::u8); }, {"src has 2 dimensions", "allowed: 3 to 5"});
    with([](request r) { r.src = memory::desc(); }, {"src has 0 dimensions"});
    with([](request r) { r.dst = memory::desc(); }, {"dst has 0 dimensions"});
    with([](request r) { r.weights = plain({2, 3, 8, 3, 3}, dt::s8); }, {"src has 8 channels", "need 16"});
    with(
        [](request r) {
            r.weights = plain({6, 8, 20, 3}, dt::s8);
        },
        {"dst height is 7", "kernel 20", "give 0"});
}

TEST(convolution_desc, refuses_wrong_spatial_parameters) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        convolution_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = convolution_request &;
    with([](request r) { r.strides = {1}; }, {"strides has 1 values", "allowed: 2"});
    with([](request r) { r.dilates = {0, 0, 0}; }, {"dilates has 3 values", "allowed: 2"});
    with([](request r) { r.padding_l = {}; }, {"padding_l has 0 values"});
    with([](request r) { r.padding_r = {1}; }, {"padding_r has 1 values"});
    with([](request r) { r.strides = {0, 1}; }, {"stride height is 0", "at least 1"});
    with([](request r) { r.dilates = {0, -1}; }, {"dilates width is -1", "at least 0"});
    with([](request r) { r.padding_l = {-1, 1}; }, {"padding_l height is -1", "at least 0"});
    with([](request r) { r.strides = {1, dim_t{1} << 40}; }, {"width exceeds 2^31"});
    with([](request r) { r.padding_r = {std::numeric_limits<dim_t>::max(), 1}; }, {"height exceeds 2^31"});
    with(
        [](request r) {
            r.dilates = {std::numeric_limits<dim_t>::max(), 0};
        },
        {"dilates or padding height exceeds 2^31"});
    with(
        [](request r) {
            r.weights = memory::desc({6, 8, dim_t{1} << 40, 1}, dt::s8, tag::any);
        },
        {"kernel", "height exceeds 2^31"});
    with([](request r) { r.weights = plain({6, 8, 0, 3}, dt::s8); }, {"height of src is 7, of weights 0"});
}

TEST(convolution_desc, a_negative_padding_at_the_end_is_allowed) {
    convolution_request r;
    r.padding_r = {-1, 1};
    r.dst = plain({2, 6, 5, 9}, dt::s8);
    EXPECT_TRUE(r());
}

TEST(convolution_desc, refuses_types_that_nobody_implements) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        convolution_request r;
        change(r);
        expect_unimplemented(r, words);
        r.allow_empty = true;
        EXPECT_FALSE(r()) << "allow_empty gives an empty primitive descriptor instead";
    };
    using request = convolution_request &;
    with(
        [](request r) {
            r.src = plain({2, 8, 7, 9}, dt::s32);
        },
        {"convolution: src has type s32", "implemented: u8, s8, f32"});
    with(
        [](request r) {
            r.src = plain({2, 8, 7, 9}, dt::f32);
        },
        {"convolution: weights of f32 src has type s8", "implemented: f32"});
    with(
        [](request r) {
            r.weights = plain({6, 8, 3, 3}, dt::s32);
        },
        {"weights has type s32", "implemented: s8, u8"});
    with(
        [](request r) {
            r.dst = plain({2, 6, 7, 9}, dt::s16);
        },
        {"dst has type s16", "implemented: u8, s8, s32, f32"});
    with([](request r) { r.bias = plain({6}, dt::s16); },
         {"bias has type s16", "implemented: f32, s32, s8, u8"});
}

TEST(convolution_desc, allow_empty_does_not_hide_invalid_requests) {
    convolution_request r;
    r.allow_empty = true;
    r.bias = plain({7}, dt::s32);
    expect_invalid(r, {"bias has dims {7}"});
}

TEST(convolution_desc, refuses_null_engines_other_operations_and_overlapping_destinations) {
    convolution_request r;
    r.where = engine();
    expect_invalid(r, {"convolution: engine is a null handle"});
    r = {};
    r.prop = prop_kind::undef;
    expect_invalid(r, {"convolution: prop_kind", "allowed: forward_inference"});
    r = {};
    r.alg = algorithm::pooling_max;
    expect_invalid(r, {"convolution: algorithm", "allowed: convolution_direct, convolution_auto"});
    r = {};
    r.dst = memory::desc({2, 6, 7, 9}, dt::s8, dims{6 * 7 * 9, 0, 9, 1});
    expect_invalid(r, {"dst", "overlapping", "stride 0"});
    r = {};
    r.src = convolution_request{}().src_desc();
    r.weights = memory::desc({6, 8, 3, 3}, dt::s8, tag::any);
    const memory::desc packed = r().weights_desc();
    r = {};
    r.src = packed;
    r.src.data.dims[0] = 2;
    expect_invalid(r, {"convolution"});
}

TEST(convolution_desc, any_layout_is_resolved) {
    convolution_request r;
    r.src = memory::desc({2, 8, 7, 9}, dt::u8, tag::any);
    r.weights = memory::desc({6, 8, 3, 3}, dt::s8, tag::any);
    r.dst = memory::desc({2, 6, 7, 9}, dt::s8, tag::any);
    const auto pd = r();
    EXPECT_EQ(pd.src_desc(), memory::desc({2, 8, 7, 9}, dt::u8, tag::nhwc));
    EXPECT_EQ(pd.dst_desc(), memory::desc({2, 6, 7, 9}, dt::s8, tag::nhwc));
    EXPECT_EQ(pd.weights_desc().get_format_kind(), format_kind::packed);
    EXPECT_GE(pd.weights_desc().get_size(), 6u * 8 * 9);
}

TEST(convolution_desc, one_step_construction_is_the_same_request) {
    const convolution_request r;
    const convolution_forward::primitive_desc with_bias(cpu, r.prop, r.alg, r.src, r.weights, r.bias, r.dst,
                                                        r.strides, r.padding_l, r.padding_r);
    EXPECT_EQ(with_bias.problem_str(), r().problem_str());
    const convolution_forward::primitive_desc dilated(cpu, r.prop, r.alg, r.src, r.weights, r.bias, r.dst,
                                                      r.strides, r.dilates, r.padding_l, r.padding_r);
    EXPECT_EQ(dilated.problem_str(), r().problem_str());
    const convolution_forward::primitive_desc without_bias(cpu, r.prop, r.alg, r.src, r.weights, r.dst,
                                                           r.strides, r.padding_l, r.padding_r);
    EXPECT_TRUE(without_bias.bias_desc().is_zero());
}

// ---- attributes of accumulating operations

/// Expects an error for the convolution above with these attributes.
template <typename Change>
void expect_refused_attributes(Change change, std::initializer_list<std::string_view> words) {
    convolution_request r;
    change(r);
    expect_invalid(r, words);
}
using request = convolution_request &;

TEST(accumulating_attributes, refuse_wrong_masks_and_counts) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        expect_refused_attributes(change, words);
    };
    with(
        [](request r) {
            r.attr.set_output_scales(2, {1.f, 2.f});
        },
        {"2 output scales with mask 2", "{2, 6, 7, 9}", "allowed: 6"});
    with([](request r) { r.attr.set_output_scales(16, std::vector<float>(6, 1.f)); },
         {"output scales mask is 16", "0 to 15"});
    with([](request r) { r.attr.set_output_scales(32, {OCTET_RUNTIME_F32_VAL}); },
         {"output scales mask is 32"});
    with([](request r) { r.attr.set_output_scales(3, std::vector<float>(6, 1.f)); },
         {"6 output scales with mask 3", "allowed: 12"});
    with([](request r) { r.attr.set_requantization(rule::tflite_2step, 2, multipliers(5, half)); },
         {"5 multipliers with mask 2", "allowed: 6"});
    with(
        [](request r) { r.attr.set_requantization(rule::caffe_double_round, 2, std::vector<double>(5, .5)); },
        {"5 real scales with mask 2", "allowed: 6"});
    with(
        [](request r) {
            r.attr.set_zero_points(OCTET_ARG_SRC, 2, {1, 2, 3});
        },
        {"3 src zero points with mask 2", "allowed: 8"});
    with([](request r) { r.attr.set_zero_points(OCTET_ARG_WEIGHTS, 1, {1}); },
         {"1 weights zero points with mask 1", "allowed: 6"});
    with([](request r) { r.attr.set_zero_points(OCTET_ARG_DST, 2, {1}); },
         {"1 dst zero points with mask 2", "allowed: 6"});
    with([](request r) { r.attr.set_scales(OCTET_ARG_SRC, 2, std::vector<float>(8, 1.f)); },
         {"src scales mask is 2", "allowed: 0"});
    with([](request r) { r.attr.set_scales(OCTET_ARG_WEIGHTS, 2, std::vector<float>(8, 1.f)); },
         {"weights scales mask is 2", "allowed: 0 or 1"});
    with(
        [](request r) {
            r.attr.set_scales(OCTET_ARG_WEIGHTS, 1, {1.f, 2.f});
        },
        {"2 weights scales", "allowed: 6"});
}

TEST(accumulating_attributes, refuse_parameters_that_contradict_the_rule) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        expect_refused_attributes(change, words);
    };
    for (const rule id : {rule::tflite_2step, rule::caffe2_2step, rule::gemmlowp_fixedpoint,
                          rule::rounded_shift, rule::ev_rte15})
        with([=](request r) { r.attr.set_requantization(id); }, {to_string(id), "needs multipliers"});
    with([](request r) { r.attr.set_requantization(rule::caffe_double_round); },
         {"caffe_double_round needs real scales"});
    with(
        [](request r) {
            r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
            r.attr.set_output_scales(0, {1.f});
        },
        {"tflite_2step takes no output scales", "from_double"});
    with(
        [](request r) {
            r.attr.set_output_scales(0, {1.f});
            r.attr.set_scales(OCTET_ARG_SRC, 0, {1.f});
        },
        {"both set_output_scales and set_scales"});
    with(
        [](request r) {
            r.attr.set_requantization(rule::f32);
            r.attr.set_scales(OCTET_ARG_SRC, 0, {1.f});
        },
        {"rule f32 takes no per-argument scales"});
    with(
        [](request r) {
            r.attr.set_requantization(rule::f32_v3);
            r.attr.set_output_scales(0, {1.f});
        },
        {"rule f32_v3 takes no output scales"});
    with([](request r) { r.attr.set_scales(OCTET_ARG_SRC_1, 0, {1.f}); }, {"convolution", "scales of src1"});
    with([](request r) { r.attr.set_zero_points(OCTET_ARG_SRC_1, 0, {1}); },
         {"convolution", "zero points of src1"});
    with(
        [](request r) {
            r.bias = plain({6}, dt::f32);
            r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
        },
        {"bias has type f32", "tflite_2step", "s32"});
    with(
        [](request r) {
            r.bias = plain({6}, dt::s8);
            r.attr.set_requantization(rule::ort_f32);
            r.attr.set_output_scales(0, {1.f});
        },
        {"bias has type s8", "ort_f32", "s32"});
}

TEST(accumulating_attributes, refuse_post_ops_that_do_not_fit_the_destination) {
    const auto with = [](auto append, std::initializer_list<std::string_view> words) {
        convolution_request r;
        post_ops ops;
        append(ops);
        r.attr.set_post_ops(ops);
        expect_invalid(r, words);
    };
    with([](post_ops &ops) { ops.append_sum(1.f, dt::f32); }, {"post-op 0: sum", "another size"});
    with(
        [](post_ops &ops) {
            ops.append_binary(algorithm::binary_add, plain({2, 5, 7, 9}, dt::f32));
        },
        {"post-op 0: binary src1 has dims {2, 5, 7, 9}", "{2, 6, 7, 9} or 1"});
    with([](post_ops &ops) { ops.append_binary(algorithm::binary_add, plain({6}, dt::f32)); },
         {"binary src1 has dims {6}"});
    with(
        [](post_ops &ops) {
            ops.append_add(1);
            ops.append_prelu(1 << 4);
        },
        {"post-op 1: prelu mask 16", "4 dimensions"});
}

// ---- inner product

struct inner_product_request {
    memory::desc src = plain({4, 8, 3, 3}, dt::u8), weights = plain({5, 8, 3, 3}, dt::s8),
                 bias = plain({5}, dt::f32), dst = plain({4, 5}, dt::s8);
    prop_kind prop = prop_kind::forward_inference;
    primitive_attr attr;
    engine where = cpu;

    inner_product_forward::primitive_desc operator()() const {
        return {inner_product_forward::desc(prop, src, weights, bias, dst), attr, where};
    }
};

TEST(inner_product_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        inner_product_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = inner_product_request &;
    EXPECT_TRUE(inner_product_request{}());
    with([](request r) { r.where = engine(); }, {"inner_product: engine is a null handle"});
    with([](request r) { r.prop = prop_kind::undef; }, {"inner_product: prop_kind"});
    with([](request r) { r.src = plain({4, 9, 3, 3}, dt::u8); }, {"dimension 1 of src is 9, of weights 8"});
    with([](request r) { r.src = plain({4, 8, 3, 4}, dt::u8); }, {"dimension 3 of src is 4, of weights 3"});
    with([](request r) { r.src = plain({4, 72}, dt::u8); }, {"weights has 4 dimensions", "allowed: 2 to 2"});
    with([](request r) { r.dst = plain({3, 5}, dt::s8); }, {"batch of src is 4, of dst 3"});
    with([](request r) { r.dst = plain({4, 6}, dt::s8); }, {"dst has 6 channels, weights 5"});
    with([](request r) { r.dst = plain({4, 5, 1}, dt::s8); }, {"dst has 3 dimensions", "allowed: 2 to 2"});
    with([](request r) { r.bias = plain({4}, dt::f32); }, {"bias has dims {4}", "allowed: {5}"});
    with([](request r) { r.attr.set_output_scales(2, {1.f}); },
         {"1 output scales with mask 2", "allowed: 5"});
    inner_product_request r;
    r.src = plain({4, 8, 3, 3}, dt::s32);
    expect_unimplemented(r, {"inner_product: src has type s32", "implemented: u8, s8, f32"});
}

// ---- matmul

struct matmul_request {
    memory::desc src = plain({3, 4, 5}, dt::s8), weights = plain({1, 5, 6}, dt::s8),
                 bias = plain({1, 1, 6}, dt::f32), dst = plain({3, 4, 6}, dt::u8);
    primitive_attr attr;
    engine where = cpu;

    matmul::primitive_desc operator()() const { return {matmul::desc(src, weights, bias, dst), attr, where}; }
};

TEST(matmul_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        matmul_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = matmul_request &;
    EXPECT_TRUE(matmul_request{}());
    with([](request r) { r.where = engine(); }, {"matmul: engine is a null handle"});
    with([](request r) { r.src = plain({3, 4, 7}, dt::s8); }, {"K of src is 7, of weights 5"});
    with([](request r) { r.dst = plain({3, 2, 6}, dt::u8); }, {"M of src is 4, of dst 2"});
    with([](request r) { r.dst = plain({3, 4, 7}, dt::u8); }, {"N of weights is 6, of dst 7"});
    with(
        [](request r) {
            r.weights = plain({2, 5, 6}, dt::s8);
        },
        {"batch dimension 0 is 3 in src, 2 in weights, 3 in dst"});
    with(
        [](request r) {
            r.weights = plain({5, 6}, dt::s8);
        },
        {"weights has 2 dimensions", "allowed: 3 to 3"});
    with([](request r) { r.src = plain({4}, dt::s8); }, {"src has 1 dimensions", "allowed: 2 to 6"});
    with(
        [](request r) {
            r.bias = plain({1, 4, 5}, dt::f32);
        },
        {"bias has dims {1, 4, 5}", "{3, 4, 6} or 1"});
    with([](request r) { r.bias = plain({6}, dt::f32); }, {"bias has dims {6}"});
    with(
        [](request r) {
            r.attr.set_output_scales(4, {1.f, 1.f});
        },
        {"2 output scales with mask 4", "allowed: 6"});
    with(
        [](request r) {
            r.attr.set_zero_points(OCTET_ARG_WEIGHTS, 4, {1, 2});
        },
        {"2 weights zero points with mask 4", "allowed: 6"});
    with([](request r) { r.attr.set_scales(OCTET_ARG_WEIGHTS, 2, std::vector<float>(5, 1.f)); },
         {"weights scales mask is 2", "allowed: 0 or 4"});
    with([](request r) { r.dst = memory::desc({3, 4, 6}, dt::u8, dims{24, 5, 1}); }, {"dst", "overlapping"});
    matmul_request r;
    r.dst = plain({3, 4, 6}, dt::s16);
    expect_unimplemented(r, {"matmul: dst has type s16"});
}

} // namespace
