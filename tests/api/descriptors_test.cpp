// Reorder, pooling, binary, softmax: requests that contradict themselves or that nobody implements: each
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

// ---- reorder

TEST(reorder_desc, refuses_wrong_requests) {
    const memory::desc src = plain({2, 3, 4}, dt::f32), dst = plain({2, 3, 4}, dt::s8);
    const auto make = [](const memory::desc &from, const memory::desc &to, const primitive_attr &attr = {},
                         const engine &e = cpu) {
        return [=] { reorder::primitive_desc(e, from, e, to, attr); };
    };
    EXPECT_NO_THROW(make(src, dst)());
    expect_invalid(make(src, plain({2, 4, 3}, dt::s8)), {"reorder: src has dims {2, 3, 4}, dst {2, 4, 3}"});
    expect_invalid(make(src, plain({24}, dt::s8)), {"src has dims {2, 3, 4}, dst {24}"});
    expect_invalid(make(src, memory::desc({2, 3, 4}, dt::s8, tag::any)), {"layout any", "concrete layouts"});
    expect_invalid(make(memory::desc(), dst), {"src has 0 dimensions"});
    expect_invalid(make(src, dst, {}, engine()), {"reorder: engine is a null handle"});
    expect_invalid(make(src, memory::desc({2, 3, 4}, dt::s8, dims{12, 4, 0})), {"dst", "overlapping"});

    const auto with = [&](const memory::desc &from, const memory::desc &to, auto change) {
        primitive_attr attr;
        change(attr);
        return make(from, to, attr);
    };
    expect_invalid(with(src, dst,
                        [](primitive_attr &a) {
                            a.set_output_scales(6, {1.f, 2.f});
                        }),
                   {"2 output scales with mask 6", "allowed: 12"});
    expect_invalid(with(src, dst, [](primitive_attr &a) { a.set_scales(OCTET_ARG_DST, 2, {1.f}); }),
                   {"dst scales", "allowed: 3"});
    expect_invalid(with(src, dst, [](primitive_attr &a) { a.set_zero_points(OCTET_ARG_WEIGHTS, 0, {1}); }),
                   {"reorder", "zero points of weights"});
    expect_invalid(with(src, dst, [](primitive_attr &a) { a.set_requantization(rule::tflite_2step); }),
                   {"tflite_2step from f32 needs set_scales"});
    expect_invalid(with(dst, dst, [](primitive_attr &a) { a.set_requantization(rule::tflite_2step); }),
                   {"tflite_2step from integers needs multipliers"});
    expect_unimplemented(
        with(src, dst,
             [](primitive_attr &a) { a.set_requantization(rule::caffe2_2step, 0, multipliers{half}); }),
        {"caffe2_2step from f32"});
    expect_unimplemented(
        with(dst, src,
             [](primitive_attr &a) { a.set_requantization(rule::tflite_2step, 0, multipliers{half}); }),
        {"tflite_2step from s8", "to f32"});
}

// ---- pooling

struct pooling_request {
    memory::desc src = plain({2, 3, 6, 6}, dt::s8), dst = plain({2, 3, 3, 3}, dt::s8);
    dims strides{2, 2}, kernel{2, 2}, padding_l{0, 0}, padding_r{0, 0};
    prop_kind prop = prop_kind::forward_inference;
    algorithm alg = algorithm::pooling_avg_exclude_padding;
    primitive_attr attr;
    engine where = cpu;

    pooling_forward::primitive_desc operator()() const {
        return {pooling_forward::desc(prop, alg, src, dst, strides, kernel, padding_l, padding_r), attr,
                where};
    }
};

TEST(pooling_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        pooling_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = pooling_request &;
    EXPECT_TRUE(pooling_request{}());
    with([](request r) { r.where = engine(); }, {"pooling: engine is a null handle"});
    with([](request r) { r.alg = algorithm::convolution_direct; }, {"pooling: algorithm", "pooling_max"});
    with([](request r) { r.dst = plain({2, 3, 4, 3}, dt::s8); }, {"dst dimension 2 is 4", "give 3"});
    with([](request r) { r.dst = plain({2, 4, 3, 3}, dt::s8); }, {"dimension 1 of src is 3, of dst 4"});
    with([](request r) { r.kernel = {2}; }, {"kernel has 1 values", "allowed: 2"});
    with([](request r) { r.kernel = {0, 2}; }, {"kernel 0 is 0", "at least 1"});
    with([](request r) { r.strides = {2, 0}; }, {"strides 1 is 0", "at least 1"});
    with([](request r) { r.padding_l = {2, 0}; }, {"padding_l 0 is 2", "allowed: 0 to 1"});
    with([](request r) { r.padding_r = {dim_t{1} << 40, 0}; }, {"exceeds 2^31"});
    with(
        [](request r) {
            r.padding_r = {2, 0};
            r.dst = plain({2, 3, 4, 3}, dt::s8);
        },
        {"the last window of dimension 2 lies in the padding"});
    with([](request r) { r.attr.set_requantization(rule::caffe2_2step); },
         {"caffe2_2step needs multipliers"});
    with([](request r) { r.attr.set_output_scales(0, {0.5f}); }, {"takes no output scales"});
    with([](request r) { r.attr.set_scales(OCTET_ARG_SRC, 0, {0.5f}); }, {"per-argument scales"});
    with([](request r) { r.attr.set_zero_points(OCTET_ARG_SRC, 0, {1}); },
         {"src zero points without a factor"});
    with(
        [](request r) {
            r.alg = algorithm::pooling_max;
            r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
        },
        {"pooling_max takes no scales and no multipliers"});
    pooling_request r;
    r.dst = plain({2, 3, 3, 3}, dt::u8);
    expect_unimplemented(r, {"pooling: dst has type u8", "implemented: s8"});
    r.src = plain({2, 3, 6, 6}, dt::f32);
    expect_unimplemented(r, {"pooling: dst has type u8", "implemented: f32"});
    r.src = plain({2, 3, 6, 6}, dt::s16);
    expect_unimplemented(r, {"pooling: src has type s16"});
}

// ---- binary

struct binary_request {
    memory::desc src0 = plain({2, 3, 4}, dt::s8), src1 = plain({1, 3, 1}, dt::s8),
                 dst = plain({2, 3, 4}, dt::s8);
    algorithm alg = algorithm::binary_add;
    primitive_attr attr;
    engine where = cpu;

    binary::primitive_desc operator()() const { return {binary::desc(alg, src0, src1, dst), attr, where}; }
};

TEST(binary_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        binary_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = binary_request &;
    EXPECT_TRUE(binary_request{}());
    with([](request r) { r.where = engine(); }, {"binary: engine is a null handle"});
    with([](request r) { r.alg = algorithm::eltwise_relu; }, {"binary: algorithm", "binary_*"});
    with(
        [](request r) {
            r.src1 = plain({1, 2, 1}, dt::s8);
        },
        {"dimension 1 is 3 in src0, 2 in src1, 3 in dst"});
    with([](request r) { r.src1 = plain({3}, dt::s8); }, {"src1 has 1 dimensions", "allowed: 3 to 3"});
    with(
        [](request r) {
            r.src0 = plain({2, 1, 4}, dt::s8);
            r.src1 = plain({2, 1, 4}, dt::s8);
        },
        {"dimension 1 is 1 in src0, 1 in src1, 3 in dst"});
    with([](request r) { r.attr.set_requantization(rule::tflite_2step); },
         {"tflite_2step needs multipliers"});
    with([](request r) { r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half}); },
         {"needs set_input_multiplier for SRC_0"});
    with(
        [](request r) {
            r.attr.set_scales(OCTET_ARG_SRC_0, 2, {1.f, 1.f, 1.f});
        },
        {"scales mask is 2", "allowed: 0"});
    binary_request r;
    r.src1 = plain({1, 3, 1}, dt::s16);
    expect_unimplemented(r, {"binary: src1 has type s16"});
    r = {};
    r.alg = algorithm::binary_max;
    r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
    expect_unimplemented(r, {"rule tflite_2step", "binary_add", "binary_mul"});
    r = {};
    r.attr.set_zero_points(OCTET_ARG_SRC_0, 0, {3});
    expect_unimplemented(r, {"zero points of sources with rule f32"});
}

// ---- softmax

struct softmax_request {
    memory::desc src = plain({4, 10}, dt::s8), dst = plain({4, 10}, dt::s8);
    int axis = 1;
    prop_kind prop = prop_kind::forward_inference;
    primitive_attr attr;

    softmax_request() {
        attr.set_requantization(rule::tflite_2step);
        attr.set_input_multiplier(OCTET_ARG_SRC, {1 << 30, 24, 0});
    }
    softmax_forward::primitive_desc operator()() const {
        return {softmax_forward::desc(prop, src, dst, axis), attr, cpu};
    }
};

TEST(softmax_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        softmax_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = softmax_request &;
    EXPECT_TRUE(softmax_request{}());
    with([](request r) { r.axis = 2; }, {"softmax: axis is 2", "allowed: 0 to 1"});
    with([](request r) { r.axis = -1; }, {"softmax: axis is -1"});
    with([](request r) { r.dst = plain({4, 9}, dt::s8); }, {"src has dims {4, 10}, dst {4, 9}"});
    with(
        [](request r) {
            r.attr = {};
            r.attr.set_requantization(rule::tflite_2step);
        },
        {"needs set_input_multiplier for SRC"});
    with(
        [](request r) {
            r.attr.set_input_multiplier(OCTET_ARG_SRC, {1 << 30, -1, 0});
        },
        {"input multiplier has shift -1", "0 to 30"});
    softmax_request r;
    r.attr.set_requantization(rule::caffe2_2step);
    expect_unimplemented(r, {"softmax: rule caffe2_2step", "tflite_2step"});
    r = {};
    r.src = plain({4, 10}, dt::f32);
    expect_unimplemented(r, {"softmax: src has type f32"});
}

TEST(softmax_desc, of_litert_refuses_wrong_requests) {
    const auto request = [](rule by, float src, float dst, std::int32_t zero_point) {
        softmax_request r;
        r.attr = {};
        r.attr.set_requantization(by);
        r.attr.set_scales(OCTET_ARG_SRC, 0, {src});
        r.attr.set_scales(OCTET_ARG_DST, 0, {dst});
        r.attr.set_zero_points(OCTET_ARG_DST, 0, {zero_point});
        return r;
    };
    for (const rule by : {rule::xnnpack_f32, rule::xnnpack_rndnu, rule::ruy_2step}) {
        EXPECT_TRUE(request(by, 0.1f, 1.f / 256, -128)()) << to_string(by);
        expect_invalid(request(by, 0.1f, 1.f / 256, 128),
                       {"softmax: the zero point of dst is 128", "allowed: -128 to 127"});
        softmax_request r = request(by, 0.1f, 1.f / 256, -128);
        r.attr.set_input_multiplier(OCTET_ARG_SRC, {1 << 30, 0, 0});
        expect_unimplemented(r, {"softmax: multipliers with rule ", to_string(by)});
    }
    softmax_request wide = request(rule::xnnpack_rndnu, 0.1f, 1.f / 65536, -32768);
    wide.dst = plain({4, 10}, dt::s16);
    EXPECT_TRUE(wide());
    wide = request(rule::ruy_2step, 0.1f, 1.f / 65536, -32768);
    wide.dst = plain({4, 10}, dt::s16);
    expect_unimplemented(wide, {"softmax: dst has type s16"});
    softmax_request longest = request(rule::ruy_2step, 0.1f, 1.f / 256, -128);
    longest.src = longest.dst = plain({1, 32768}, dt::s8);
    EXPECT_TRUE(longest());
    longest.src = longest.dst = plain({1, 32769}, dt::s8);
    expect_unimplemented(longest, {"softmax: rows of 32769 codes with rule ruy_2step", "up to 32768"});
    expect_unimplemented(request(rule::ruy_2step, 0.1f, 0x1p-31f, -128),
                         {"a scale of dst of ", "2^-30 and more"});
}

// ---- empty handles

TEST(empty_handles, are_refused_by_name) {
    const convolution_forward::primitive_desc empty;
    EXPECT_FALSE(empty);
    expect_invalid([&] { convolution_forward c(empty); }, {"primitive: primitive_desc is empty"});
    expect_invalid([&] { empty.src_desc(); }, {"primitive_desc: empty"});
    expect_invalid([&] { empty.impl_info_str(); }, {"primitive_desc: empty"});
    expect_invalid([&] { empty.problem_str(); }, {"primitive_desc: empty"});
    const convolution_forward nothing;
    EXPECT_FALSE(nothing);
    expect_invalid([&] { nothing.execute(stream(cpu), {}); }, {"execute: empty primitive"});
    expect_invalid([&] { nothing.plan_str(); }, {"plan_str: empty primitive"});
}

} // namespace
