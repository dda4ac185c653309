// Eltwise, PReLU, resampling, and the framework forms of binary, pooling and softmax: requests that
// contradict themselves or that nobody implements. Every case is a good request with one thing changed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "octet/octet.hpp"
#include "support/expect_error.hpp"

using namespace octet;
using octet::test::expect_invalid;
using octet::test::expect_unimplemented;
using dims = memory::dims;
using rule = requantization_rule;
using dt = data_type;

namespace {

const engine cpu(engine::kind::cpu, 0);
constexpr auto inference = prop_kind::forward_inference;
using multipliers = std::vector<fixed_point_multiplier>;
constexpr fixed_point_multiplier half{1 << 30, 0, 0};

memory::desc plain(const dims &d, dt type) { return memory::desc(d, type, dims{}); }

primitive_attr with_scales(rule r, std::initializer_list<int> args) {
    primitive_attr attr;
    attr.set_requantization(r);
    for (const int arg : args)
        attr.set_scales(arg, 0, {0.5f});
    return attr;
}

// ---- eltwise

struct eltwise_request {
    memory::desc src = plain({2, 3, 4}, dt::s8), dst = plain({2, 3, 4}, dt::s8);
    algorithm alg = algorithm::eltwise_relu;
    float alpha = 0, beta = 0;
    primitive_attr attr;
    void operator()() const {
        eltwise_forward::primitive_desc(cpu, inference, alg, src, dst, alpha, beta, attr);
    }
};

TEST(eltwise_desc, refuses_wrong_requests) {
    const auto with = [](auto change, std::initializer_list<std::string_view> words) {
        eltwise_request r;
        change(r);
        expect_invalid(r, words);
    };
    using request = eltwise_request &;
    EXPECT_NO_THROW(eltwise_request{}());
    with([](request r) { r.alg = algorithm::binary_add; }, {"eltwise: algorithm", "eltwise_*"});
    with([](request r) { r.dst = plain({2, 4, 3}, dt::s8); }, {"src has dims {2, 3, 4}, dst {2, 4, 3}"});
    with([](request r) { r.attr.set_output_scales(0, {0.5f}); }, {"eltwise: output scales", "set_scales"});
    with([](request r) { r.attr.set_requantization(rule::tflite_2step); },
         {"tflite_2step needs set_scales(src)"});
    with([](request r) { r.attr = with_scales(rule::ort_f32, {OCTET_ARG_SRC}); }, {"needs set_scales(dst)"});
    with(
        [](request r) {
            r.attr.set_scales(OCTET_ARG_SRC, 2, {1.f, 1.f, 1.f});
        },
        {"src scales mask is 2", "allowed: 0"});
    with(
        [](request r) {
            r.attr.set_zero_points(OCTET_ARG_SRC, 2, {1, 1, 1});
        },
        {"zero points mask is 2", "allowed: 0"});
    with(
        [](request r) {
            r.alpha = 0.1f;
            r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
        },
        {"alpha is 0.1", "set_input_multiplier(SRC)"});
    with(
        [](request r) {
            r.attr = with_scales(rule::tflite_2step, {OCTET_ARG_SRC, OCTET_ARG_DST});
            r.attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
        },
        {"both multipliers and scales"});
    with(
        [](request r) {
            r.alg = algorithm::eltwise_logistic;
            r.attr = with_scales(rule::tflite_2step, {OCTET_ARG_SRC, OCTET_ARG_DST});
        },
        {"scale of DST is 0.5", "0.00390625"});
    with(
        [](request r) {
            r.alg = algorithm::eltwise_clip;
            r.alpha = 1;
            r.attr = with_scales(rule::tflite_2step, {OCTET_ARG_SRC});
        },
        {"the range 2 to 0 is empty"});

    eltwise_request r;
    r.alg = algorithm::eltwise_mish;
    r.attr = with_scales(rule::tflite_2step, {OCTET_ARG_SRC});
    expect_unimplemented(r, {"rule tflite_2step with this algorithm", "relu, bounded_relu"});
    r.attr = with_scales(rule::ruy_2step, {OCTET_ARG_SRC, OCTET_ARG_DST});
    expect_unimplemented(r, {"rule ruy_2step with this algorithm", "implemented: hardswish"});
    r = {};
    r.src = r.dst = plain({2, 3, 4}, dt::s32);
    r.attr = with_scales(rule::tflite_2step, {OCTET_ARG_SRC, OCTET_ARG_DST});
    expect_unimplemented(r, {"src has type s32", "s8, u8"});
    r = {};
    r.attr.set_requantization(rule::none);
    expect_unimplemented(r, {"eltwise: rule none", "f32, f32_v3"});
    r = {};
    r.attr.set_requantization(rule::ort_f32);
    r.attr.set_scales_mask(OCTET_ARG_SRC, 0);
    expect_unimplemented(r, {"src scale is given at execution"});
}

// ---- prelu

TEST(prelu_desc, refuses_wrong_requests) {
    const memory::desc data = plain({2, 3, 4}, dt::s8), weights = plain({1, 3, 1}, dt::s8);
    const auto make = [&](const memory::desc &w, const primitive_attr &attr) {
        return [=] { prelu_forward::primitive_desc(cpu, inference, data, w, data, attr); };
    };
    EXPECT_NO_THROW(make(weights, {})());
    expect_invalid(make(plain({1, 2, 1}, dt::s8), {}),
                   {"prelu: weights have dims {1, 2, 1}", "{2, 3, 4} or 1"});
    expect_invalid(make(plain({3}, dt::s8), {}), {"prelu: weights has 1 dimensions"});
    primitive_attr attr;
    attr.set_zero_points(OCTET_ARG_WEIGHTS, 0, {1});
    expect_invalid(make(weights, attr), {"zero points of sources with rule f32"});
    attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
    expect_invalid(make(weights, attr),
                   {"set_input_multiplier(WEIGHTS)", "or scales of SRC, WEIGHTS and DST"});
    attr.set_requantization(rule::ort_f32);
    expect_unimplemented(make(weights, attr), {"prelu: rule ort_f32", "f32, tflite_2step"});
}

// ---- resampling

TEST(resampling_desc, refuses_wrong_requests) {
    const auto make = [](algorithm alg, const dims &src, const dims &dst, const primitive_attr &attr = {},
                         resampling_coordinates c = resampling_coordinates::half_pixel) {
        return [=] {
            resampling_forward::primitive_desc({inference, alg, plain(src, dt::u8), plain(dst, dt::u8), c},
                                               attr, cpu);
        };
    };
    constexpr auto linear = algorithm::resampling_linear, nearest = algorithm::resampling_nearest;
    EXPECT_NO_THROW(make(linear, {1, 2, 3, 4}, {1, 2, 6, 5})());
    expect_invalid(make(algorithm::pooling_max, {1, 2, 3}, {1, 2, 6}),
                   {"resampling: algorithm", "resampling_linear"});
    expect_invalid(make(linear, {1, 2, 3}, {1, 3, 6}), {"dimension 1 of src is 2, of dst 3"});
    expect_invalid(make(linear, {1, 2}, {1, 2}), {"src has 2 dimensions"});
    expect_invalid(make(nearest, {1, 1, 2}, {1, 1, dim_t{1} << 21}), {"spatial dimension 0", "1 to 1048576"});
    primitive_attr attr;
    attr.set_zero_points(OCTET_ARG_SRC, 0, {1});
    expect_invalid(make(nearest, {1, 1, 2}, {1, 1, 3}, attr), {"codes are resampled as they are"});
    expect_unimplemented(make(nearest, {1, 1, 2}, {1, 1, 3}, {}, resampling_coordinates::asymmetric),
                         {"coordinates other than half_pixel"});
    attr = {};
    attr.set_requantization(rule::tflite_2step);
    expect_unimplemented(make(linear, {1, 1, 2}, {1, 1, 3}, attr),
                         {"resampling_linear of 1 spatial dimensions"});
    expect_unimplemented(
        make(linear, {1, 1, 2, 2}, {1, 1, 3, 3}, attr, resampling_coordinates::align_corners_half_pixel),
        {"align_corners_half_pixel"});
    attr.set_requantization(rule::caffe2_2step, 0, multipliers{half});
    expect_invalid(make(nearest, {1, 1, 2}, {1, 1, 3}, attr), {"multipliers"});
}

// ---- the framework forms of binary, pooling, softmax, reorder

TEST(binary_desc, refuses_wrong_parameters_of_the_frameworks) {
    const memory::desc md = plain({2, 3}, dt::u8);
    const auto make = [&](algorithm alg, const primitive_attr &attr) {
        return [=] { binary::primitive_desc(cpu, alg, md, md, md, attr); };
    };
    const auto all = {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1, OCTET_ARG_DST};
    EXPECT_NO_THROW(make(algorithm::binary_add, with_scales(rule::ort_f32, all))());
    expect_invalid(
        make(algorithm::binary_add, with_scales(rule::ort_f32, {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1})),
        {"ort_f32 needs set_scales(dst)"});
    expect_invalid(make(algorithm::binary_add, with_scales(rule::tflite_2step, {OCTET_ARG_SRC_0})),
                   {"needs set_scales(src1)"});
    expect_unimplemented(make(algorithm::binary_sub, with_scales(rule::caffe2_2step, all)),
                         {"caffe2_2step", "binary_add"});
    expect_unimplemented(make(algorithm::binary_add, with_scales(rule::none, {})),
                         {"binary: rule none", "f32, f32_v3, ort_f32, tflite_2step", "xnnpack_rndnu"});
    primitive_attr attr = with_scales(rule::ort_f32, all);
    post_ops ops;
    ops.append_clip(0, 1);
    attr.set_post_ops(ops);
    expect_unimplemented(make(algorithm::binary_add, attr), {"post-ops with rule ort_f32"});
    attr = with_scales(rule::ort_f32, all);
    attr.set_zero_points(OCTET_ARG_DST, 2, {1, 2, 3});
    expect_invalid(make(algorithm::binary_mul, attr), {"dst zero points mask is 2"});
    attr = with_scales(rule::tflite_2step, all);
    attr.set_requantization(rule::tflite_2step, 0, multipliers{half});
    expect_invalid(make(algorithm::binary_mul, attr), {"both multipliers and scales"});
}

TEST(pooling_desc, refuses_wrong_parameters_of_the_frameworks) {
    const memory::desc src = plain({1, 2, 4}, dt::s8), dst = plain({1, 2, 2}, dt::s8);
    const auto make = [&](const primitive_attr &attr) {
        return [=] {
            pooling_forward::primitive_desc(
                {inference, algorithm::pooling_avg, src, dst, dims{2}, dims{2}, dims{0}, dims{0}}, attr, cpu);
        };
    };
    EXPECT_NO_THROW(make(with_scales(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST}))());
    expect_invalid(make(with_scales(rule::ort_f32, {OCTET_ARG_SRC})), {"needs set_scales(dst)"});
    expect_invalid(make(with_scales(rule::tflite_2step, {OCTET_ARG_SRC, OCTET_ARG_DST})),
                   {"per-argument scales with rule tflite_2step"});
    primitive_attr attr = with_scales(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST});
    attr.set_input_multiplier(OCTET_ARG_SRC, half);
    expect_invalid(make(attr), {"an input multiplier", "a tflite rule"});
    attr = with_scales(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST});
    attr.set_zero_points(OCTET_ARG_SRC, 2, {1, 2});
    expect_invalid(make(attr), {"src zero points mask is 2", "allowed with scales: 0"});
}

TEST(softmax_desc, refuses_wrong_parameters_of_the_frameworks) {
    const auto make = [](const primitive_attr &attr, dt src, dt dst,
                         algorithm alg = algorithm::softmax_accurate) {
        return [=] {
            softmax_forward::primitive_desc(cpu, inference, alg, plain({2, 3}, src), plain({2, 3}, dst), 1,
                                            attr);
        };
    };
    EXPECT_NO_THROW(make({}, dt::f32, dt::u8)());
    expect_invalid(make({}, dt::f32, dt::f32, algorithm::eltwise_exp), {"softmax: algorithm", "softmax_log"});
    const primitive_attr ort = with_scales(rule::ort_f32, {OCTET_ARG_SRC, OCTET_ARG_DST});
    EXPECT_NO_THROW(make(ort, dt::s8, dt::s8)());
    expect_unimplemented(make(ort, dt::s8, dt::u8), {"dst has type u8", "s8"});
    expect_unimplemented(make(ort, dt::s8, dt::s8, algorithm::softmax_log),
                         {"softmax_log with rule ort_f32"});
    expect_invalid(make(with_scales(rule::ort_f32, {OCTET_ARG_SRC}), dt::s8, dt::s8),
                   {"needs set_scales(dst)"});
    primitive_attr attr;
    attr.set_zero_points(OCTET_ARG_SRC, 0, {1});
    expect_invalid(make(attr, dt::s8, dt::s8), {"src zero points"});
}

/// Packed weights hold no elements in the order of a destination, so nothing could be added to them.
TEST(reorder_desc, refuses_a_sum_into_packed_weights) {
    const memory::desc plain_weights = plain({16, 64}, dt::s8);
    const inner_product_forward::primitive_desc product(cpu, inference, plain({2, 64}, dt::u8),
                                                        memory::desc({16, 64}, dt::s8, format_tag::any),
                                                        plain({2, 16}, dt::f32));
    post_ops sum;
    sum.append_sum();
    primitive_attr attr;
    attr.set_post_ops(sum);
    EXPECT_NO_THROW(reorder::primitive_desc(cpu, plain_weights, cpu, product.weights_desc()));
    expect_unimplemented(
        [&] { reorder::primitive_desc(cpu, plain_weights, cpu, product.weights_desc(), attr); },
        {"reorder: a sum post-op into packed weights", "allowed: a dst in a plain layout"});
}

TEST(reorder_desc, takes_scales_instead_of_multipliers_where_a_framework_derives_them) {
    const memory::desc codes = plain({2, 3}, dt::s8), reals = plain({2, 3}, dt::f32);
    const auto make = [](const memory::desc &from, const memory::desc &to, const primitive_attr &attr) {
        return [=] { reorder::primitive_desc(cpu, from, cpu, to, attr); };
    };
    EXPECT_NO_THROW(make(codes, codes, with_scales(rule::tflite_2step, {OCTET_ARG_SRC, OCTET_ARG_DST}))());
    EXPECT_NO_THROW(make(reals, codes, with_scales(rule::caffe_double_round, {OCTET_ARG_SRC}))());
    expect_invalid(make(codes, codes, with_scales(rule::tflite_2step, {OCTET_ARG_DST})),
                   {"needs set_scales(src)"});
    expect_unimplemented(make(codes, reals, with_scales(rule::caffe_double_round, {OCTET_ARG_SRC})),
                         {"caffe_double_round from s8", "to f32"});
}

TEST(f64_scale, takes_positive_scales) {
    primitive_attr attr;
    for (const double bad : {0., -1., std::numeric_limits<double>::infinity()})
        expect_invalid([&] { attr.set_requantization(rule::f64_scale, 0, std::vector<double>{bad}); },
                       {"set_requantization: scale 0", "positive and finite"});
    attr.set_requantization(rule::f64_scale, 0, std::vector<double>{0.3});
    const inner_product_forward::desc d(inference, plain({4, 64}, dt::u8), plain({16, 64}, dt::s8),
                                        plain({4, 16}, dt::u8));
    EXPECT_NO_THROW(inner_product_forward::primitive_desc(d, attr, cpu));
    attr.set_requantization(rule::f64_scale);
    expect_invalid([&] { inner_product_forward::primitive_desc(d, attr, cpu); },
                   {"f64_scale needs real scales"});
}

} // namespace
