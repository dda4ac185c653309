// If oneDNN 2.6.3 departs from its documentation (deviations.cpp), Octet gives the documented value: one case
// each, with the value written as a plain formula. oneDNN's result is recorded as a property of the test, not
// demanded.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compare.hpp"

namespace peers {
namespace {

template <typename T>
tensor tensor_of(const dims &shape, type t, const std::vector<T> &values, const std::string &layout = "") {
    tensor result{shape, t, layout, bytes(values.size() * sizeof(T))};
    std::memcpy(result.data.data(), values.data(), result.data.size());
    return result;
}

tensor empty_dst(const dims &shape, type t, const std::string &layout = "") {
    return {shape, t, layout, bytes(static_cast<std::size_t>(element_count(shape)) * size_of(t))};
}

post_op make_post_op(const char *name, float scale, float alpha = 0.f, float beta = 0.f) {
    post_op op;
    op.name = name;
    op.scale = scale;
    op.alpha = alpha;
    op.beta = beta;
    return op;
}

template <typename T> void expect_values(const problem &p, const std::vector<T> &expected) {
    const answers octet_answers = octet::ask(p);
    ASSERT_EQ(octet_answers.list.size(), 1u) << octet_answers.refusal;
    for (std::size_t i = 0; i < expected.size(); i++)
        ASSERT_EQ(element<T>(octet_answers.list[0].dst, i), expected[i])
            << "element " << i << " of " << to_string(p);
    if (!machine_has_vnni())
        return;
    const answers peer = onednn::ask(p);
    const bool equal = !peer.list.empty() && peer.list[0].dst == octet_answers.list[0].dst;
    ::testing::Test::RecordProperty("oneDNN", peer.list.empty() ? peer.refusal
                                                                : peer.list[0].implementation +
                                                                      (equal ? ": equal" : ": deviates"));
}

/// K codes at the ends of their types on both sides: accumulators beyond 2^24, where f32 is no longer exact.
problem long_dot_products(operation op, std::int64_t k, std::vector<std::int32_t> &exact) {
    constexpr std::int64_t m = 2, n = 16;
    std::vector<std::uint8_t> src(m * k);
    std::vector<std::int8_t> weights(k * n);
    std::vector<std::int32_t> bias(n);
    for (std::size_t i = 0; i < src.size(); i++)
        src[i] = static_cast<std::uint8_t>(255 - i % 7);
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] = static_cast<std::int8_t>(127 - i % 5);
    for (std::size_t i = 0; i < bias.size(); i++)
        bias[i] = static_cast<std::int32_t>(3 * i) + 1;
    for (std::int64_t row = 0; row < m; row++)
        for (std::int64_t column = 0; column < n; column++) {
            std::int32_t acc = bias[column];
            for (std::int64_t i = 0; i < k; i++)
                acc += src[row * k + i] *
                       (op == operation::matmul ? weights[i * n + column] : weights[column * k + i]);
            exact.push_back(acc);
        }
    const bool is_convolution = op == operation::convolution;
    const auto with_pixel = [&](dims shape) {
        if (is_convolution)
            shape.insert(shape.end(), {1, 1});
        return shape;
    };
    problem p;
    p.op = op;
    p.src = tensor_of(with_pixel({m, k}), type::u8, src, "any");
    p.weights =
        tensor_of(with_pixel(op == operation::matmul ? dims{k, n} : dims{n, k}), type::s8, weights, "any");
    p.bias = tensor_of(op == operation::matmul ? dims{1, n} : dims{n}, type::s32, bias);
    p.dst = empty_dst(with_pixel({m, n}), type::s32, "any");
    if (is_convolution) {
        p.strides = {1, 1};
        p.dilates = p.padding_l = p.padding_r = {0, 0};
    }
    return p;
}

// oneDNN adds the bias in f32 and converts back; Octet's default for a bare s32 destination keeps integers.
TEST(deviations, s32_destination_is_exact) {
    for (const operation op : {operation::convolution, operation::inner_product, operation::matmul}) {
        std::vector<std::int32_t> exact;
        const problem p = long_dot_products(op, 1100, exact);
        ASSERT_GT(exact[0], 1 << 24);
        expect_values(p, exact);
    }
}

TEST(deviations, reorder_between_s32_is_exact) {
    problem p;
    p.op = operation::reorder;
    p.src = tensor_of<std::int32_t>({4}, type::s32, {16777217, -16777219, INT32_MAX, INT32_MIN + 6});
    p.dst = empty_dst({4}, type::s32);
    p.attr.src_zero_points = {true, 0, {1}, false};
    p.attr.dst_zero_points = {true, 0, {-5}, false};
    expect_values<std::int32_t>(p, {16777211, -16777225, INT32_MAX - 6, INT32_MIN});
}

// Two adjacent masked dimensions, a gap, a third: oneDNN takes scales of other indices.
TEST(deviations, scales_of_a_mask_with_a_gap) {
    constexpr int a = 2, b = 3, c = 5, d = 7;
    problem p;
    p.op = operation::reorder;
    p.src = tensor_of<float>({a, b, c, d}, type::f32, std::vector<float>(a * b * c * d, 1.f));
    p.dst = empty_dst({a, b, c, d}, type::f32, "acdb");
    p.attr.scales = {true, 0b1011, {}, false};
    for (int i = 0; i < a * b * d; i++)
        p.attr.scales.values.push_back(static_cast<float>(i + 1));
    std::vector<float> expected;
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
            for (int k = 0; k < c; k++)
                for (int l = 0; l < d; l++)
                    expected.push_back(static_cast<float>((i * b + j) * d + l + 1));
    expect_values(p, expected);
}

TEST(deviations, zero_points_of_transposed_blocks_of_eight) {
    problem p;
    p.op = operation::reorder;
    p.dst = empty_dst({8, 8}, type::s8, "ba");
    p.attr.src_zero_points = {true, 0, {7}, false};
    std::vector<std::uint8_t> codes;
    std::vector<std::int8_t> expected;
    for (int i = 0; i < 64; i++) {
        codes.push_back(static_cast<std::uint8_t>(i));
        expected.push_back(static_cast<std::int8_t>(i - 7));
    }
    p.src = tensor_of({8, 8}, type::u8, codes);
    expect_values(p, expected);
}

// Octet: post-ops first, then the zero point. oneDNN's scalar reorder adds the zero point first.
TEST(deviations, reorder_adds_the_destination_zero_point_last) {
    const float src = 0.4f, before = 2.6f, sum_scale = 2.f, zero_point = 1e7f; // at 1e7 floats are 1 apart
    problem p;
    p.op = operation::reorder;
    p.src = tensor_of<float>({1}, type::f32, {src});
    p.dst = tensor_of<float>({1}, type::f32, {before});
    p.attr.post_ops = {make_post_op("sum", sum_scale)};
    p.attr.dst_zero_points = {true, 0, {static_cast<std::int32_t>(zero_point)}, false};
    expect_values<float>(p, {(src + sum_scale * before) + zero_point});
}

TEST(deviations, reorder_to_s32_saturates) {
    problem p;
    p.op = operation::reorder;
    p.src = tensor_of<float>({4}, type::f32, {1e10f, -1e10f, INFINITY, 2.5f});
    p.dst = empty_dst({4}, type::s32);
    expect_values<std::int32_t>(p, {2147483520, INT32_MIN, 2147483520, 2}); // the largest float below 2^31
}

/// 1 x 1 convolution of one pixel with 16 equal channels: the accumulator is 16 * src * weight.
problem one_pixel(std::uint8_t src, std::int8_t weight, float before) {
    problem p;
    p.src = tensor_of({1, 16, 1, 1}, type::u8, std::vector<std::uint8_t>(16, src), "any");
    p.weights = tensor_of({16, 16, 1, 1}, type::s8, std::vector<std::int8_t>(16 * 16, weight), "any");
    p.dst = tensor_of({1, 16, 1, 1}, type::f32, std::vector<float>(16, before), "any");
    p.strides = {1, 1};
    p.dilates = p.padding_l = p.padding_r = {0, 0};
    return p;
}

TEST(deviations, each_post_op_has_its_own_parameters) {
    problem p = one_pixel(1, 1, 10.f);
    p.attr.post_ops = {make_post_op("linear", 1.f, 2.f, 1.f), make_post_op("linear", 1.f, 3.f, 5.f)};
    expect_values(p, std::vector<float>(16, (16.f * 2.f + 1.f) * 3.f + 5.f));
    p.attr.post_ops = {make_post_op("sum", 1.f), make_post_op("sum", 0.5f)};
    expect_values(p, std::vector<float>(16, 16.f + 10.f + 5.f));
}

// oneDNN does this in all but its reference code, where product and sum are rounded one by one.
TEST(deviations, sums_and_linear_are_fused) {
    problem p = one_pixel(1, 1, 0.1f);
    p.attr.post_ops = {make_post_op("sum", 1.7f), make_post_op("linear", 1.f, 0.3f, 0.7f)};
    expect_values(p, std::vector<float>(16, std::fma(std::fma(1.7f, 0.1f, 16.f), 0.3f, 0.7f)));
}

// oneDNN's matmul and inner product accept prelu and fail when executed.
TEST(deviations, prelu_of_a_matmul) {
    problem p;
    p.op = operation::matmul;
    p.src = tensor_of<std::int8_t>({2, 1}, type::s8, {1, -1});
    p.weights = tensor_of<std::int8_t>({1, 3}, type::s8, {1, 2, 3});
    p.dst = empty_dst({2, 3}, type::f32);
    post_op prelu = make_post_op("prelu", 1.f);
    prelu.mask = 1 << 1;
    prelu.input = tensor_of<float>({1, 3}, type::f32, {0.5f, 0.25f, 2.f});
    p.attr.post_ops = {prelu};
    expect_values<float>(p, {1.f, 2.f, 3.f, -0.5f, -0.5f, -6.f});
}

// 1295 / 14 is 92.5 and rounds to 92; its product with the rounded reciprocal, which oneDNN's kernels store,
// is above.
TEST(deviations, averages_are_quotients) {
    std::vector<std::uint8_t> codes(14 * 16, 92);
    std::fill(codes.begin(), codes.begin() + 7, 93); // channel 0: 7 * 93 + 7 * 92 = 1295
    problem p;
    p.op = operation::pooling;
    p.algorithm = "pooling_avg_include_padding";
    p.src = tensor_of({1, 16, 14}, type::u8, codes, "channels_last");
    p.dst = empty_dst({1, 16, 1}, type::u8, "channels_last");
    p.kernel = {14};
    p.strides = {1};
    p.padding_l = p.padding_r = {0};
    expect_values(p, std::vector<std::uint8_t>(16, 92));
}

} // namespace
} // namespace peers
