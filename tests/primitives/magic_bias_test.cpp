// Accumulators that start from 2^23 (jit/epilogue/epilogue_magic_bias.cpp) at the ends of what they allow for: sums and
// biases on both sides of every bound, against the formula of the float rules on every level of the machine.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "octet/octet.hpp"

using namespace octet;

namespace {

const engine cpu(engine::kind::cpu, 0);

constexpr std::int32_t pot(int exponent) { return std::int32_t{1} << exponent; }

/// Around 0, ties of the scales below, 2^23 and -2^23, and the largest bias that a start from 2^23 allows for.
std::vector<std::int32_t> small_biases() {
    std::vector<std::int32_t> biases;
    for (const std::int32_t middle :
         {0, 100, 1000, 30000, pot(15), pot(22), pot(23), pot(23) + pot(22), pot(24) - 40})
        for (std::int32_t d = -32; d <= 40; d += 8)
            for (const std::int32_t sign : {-1, 1})
                biases.push_back(sign * (middle + d));
    return biases;
}

/// One of these is enough for a start from 0. Sums wrap around.
std::vector<std::int32_t> large_biases() {
    std::vector<std::int32_t> biases = small_biases();
    for (const std::int32_t bias :
         {pot(24) + 1, -pot(24) - 1, pot(28), INT32_MAX, INT32_MAX - 1000, INT32_MIN, INT32_MIN + 1000})
        biases.push_back(bias);
    return biases;
}

struct rule_case {
    requantization_rule rule;
    data_type type;
    std::int32_t zero_point;
    float scale;
    bool has_relu = true;
};

/// Products and bias to code, as doc/arithmetic.md has it for `f32` and `ort_f32`, with a relu or without.
int code_of(const rule_case &c, std::int64_t products, std::int32_t bias) {
    const bool is_ort = c.rule == requantization_rule::ort_f32;
    const float sum = is_ort ? static_cast<float>(static_cast<std::int32_t>(
                                   static_cast<std::uint32_t>(products) + static_cast<std::uint32_t>(bias)))
                             : static_cast<float>(products) + static_cast<float>(bias);
    const float x = std::max(sum * c.scale, c.has_relu ? 0.f : -HUGE_VALF);
    const double code =
        is_ort ? std::nearbyint(x) + c.zero_point : std::nearbyint(x + static_cast<float>(c.zero_point));
    const double low = c.type == data_type::u8 ? 0 : -128;
    return static_cast<int>(std::clamp(code, low, low + 255));
}

std::vector<rule_case> rule_cases() {
    std::vector<rule_case> cases;
    for (const requantization_rule rule : {requantization_rule::f32, requantization_rule::ort_f32})
        // Below 2^-15 a sum of 2^23 is no highest code; from some scale on the largest float would be too large.
        for (const float scale :
             {0x1p-15f, 0x1.fffffep-16f, 0x1p-13f, 0.0031f, 0.5f, 1.f / 3, 1.f, 15.f, 1e5f})
            for (const std::int32_t from_low : {0, 3, -3})
                for (const data_type type : {data_type::u8, data_type::s8})
                    for (const bool has_relu : {false, true})
                        cases.push_back(
                            {rule, type, (type == data_type::u8 ? 0 : -128) + from_low, scale, has_relu});
    return cases;
}

primitive_attr attributes_of(const rule_case &c, int scale_mask, std::size_t channels) {
    primitive_attr attr;
    attr.set_requantization(c.rule);
    attr.set_output_scales(scale_mask, std::vector<float>(channels, c.scale));
    attr.set_zero_points(OCTET_ARG_DST, 0, {c.zero_point});
    post_ops ops;
    if (c.has_relu)
        ops.append_eltwise(1.f, algorithm::eltwise_relu, 0.f, 0.f);
    attr.set_post_ops(ops);
    return attr;
}

/// Runs `pd` on codes x, one per row, and weights w, one per column, and compares with k * x * w + bias
/// (empty: without).
template <typename Primitive, typename Desc>
void expect_codes(const Desc &pd, const rule_case &c, dim_t k, const std::vector<std::uint8_t> &src,
                  const std::vector<std::int8_t> &weights, std::vector<std::int32_t> bias,
                  const std::vector<std::uint8_t> &x_of_row, const std::vector<std::int8_t> &w_of_column) {
    const std::size_t columns = w_of_column.size();
    const memory d(pd.dst_desc(), cpu);
    std::unordered_map<int, memory> args{
        {OCTET_ARG_SRC, memory(pd.src_desc(), cpu, const_cast<std::uint8_t *>(src.data()))},
        {OCTET_ARG_WEIGHTS, memory(pd.weights_desc(), cpu, const_cast<std::int8_t *>(weights.data()))},
        {OCTET_ARG_DST, d}};
    if (!bias.empty())
        args.emplace(OCTET_ARG_BIAS, memory(pd.bias_desc(), cpu, bias.data()));
    bias.resize(columns);
    Primitive(pd).execute(stream(cpu), args);
    for (std::size_t row = 0; row < x_of_row.size(); row++)
        for (std::size_t column = 0; column < columns; column++) {
            const std::size_t i = row * columns + column;
            const int got = c.type == data_type::u8
                                ? static_cast<const std::uint8_t *>(d.get_data_handle())[i]
                                : static_cast<const std::int8_t *>(d.get_data_handle())[i];
            const std::int64_t products = k * x_of_row[row] * w_of_column[column];
            ASSERT_EQ(got, code_of(c, products, bias[column]))
                << "products " << products << ", bias " << bias[column] << ", scale " << c.scale
                << ", zero point " << c.zero_point << ", " << to_string(c.rule) << ", " << pd.impl_info_str();
        }
}

std::vector<std::int8_t> weights_of_columns(std::size_t columns) {
    const std::int8_t values[] = {0, 1, -1, 127, -128, 3};
    std::vector<std::int8_t> weights;
    for (std::size_t o = 0; o < columns; o++)
        weights.push_back(values[o / 7 % std::size(values)]);
    return weights;
}

std::vector<std::int8_t> all_weights() {
    std::vector<std::int8_t> weights(256);
    std::iota(weights.begin(), weights.end(), std::int8_t{-128});
    return weights;
}

/// Rows are constant, and so are columns of weights.
void expect_products(const rule_case &c, dim_t k, const std::vector<std::int32_t> &bias) {
    const std::vector<std::uint8_t> x{0, 1, 2, 254, 255};
    const std::vector<std::int8_t> w = bias.empty() ? all_weights() : weights_of_columns(bias.size());
    const auto rows = static_cast<dim_t>(x.size()), columns = static_cast<dim_t>(w.size());
    std::vector<std::uint8_t> src;
    for (const std::uint8_t value : x)
        src.insert(src.end(), static_cast<std::size_t>(k), value);
    std::vector<std::int8_t> weights;
    for (dim_t i = 0; i < k; i++)
        weights.insert(weights.end(), w.begin(), w.end());
    const matmul::primitive_desc pd(
        cpu, {{rows, k}, data_type::u8, format_tag::ab}, {{k, columns}, data_type::s8, format_tag::ab},
        bias.empty() ? memory::desc() : memory::desc({1, columns}, data_type::s32, format_tag::ab),
        {{rows, columns}, c.type, format_tag::ab}, attributes_of(c, 2, w.size()));
    expect_codes<matmul>(pd, c, k, src, weights, bias, x, w);
}

/// 3x3 without padding over images of one code.
void expect_depthwise(const rule_case &c, const std::vector<std::int32_t> &bias) {
    constexpr dim_t taps = 9;
    const std::vector<std::uint8_t> x{0, 1, 3, 255};
    const std::vector<std::int8_t> w = weights_of_columns(bias.size());
    const auto images = static_cast<dim_t>(x.size()), channels = static_cast<dim_t>(w.size());
    std::vector<std::uint8_t> src;
    for (const std::uint8_t value : x)
        src.insert(src.end(), static_cast<std::size_t>(taps * channels), value);
    std::vector<std::int8_t> weights;
    for (const std::int8_t value : w)
        weights.insert(weights.end(), taps, value);
    const convolution_forward::primitive_desc pd({prop_kind::forward_inference,
                                                  algorithm::convolution_direct,
                                                  {{images, channels, 3, 3}, data_type::u8, format_tag::nhwc},
                                                  {{channels, 1, 1, 3, 3}, data_type::s8, format_tag::goihw},
                                                  {{channels}, data_type::s32, format_tag::x},
                                                  {{images, channels, 1, 1}, c.type, format_tag::nhwc},
                                                  {1, 1},
                                                  {0, 0},
                                                  {0, 0}},
                                                 attributes_of(c, 2, w.size()), cpu);
    expect_codes<convolution_forward>(pd, c, taps, src, weights, bias, x, w);
}

template <typename Expect> void on_every_level(const Expect &expect) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        for (const rule_case &c : rule_cases()) {
            expect(c);
            if (::testing::Test::HasFatalFailure())
                break;
        }
    }
    set_max_cpu_isa(cpu_isa::all);
}

/// 300 * 255 * 127 is above 2^23; with 2000 of them and a scale of 0.5, floats would reach 2^31.
std::vector<dim_t> reductions_of(const rule_case &c) {
    return c.scale == 0.5f ? std::vector<dim_t>{1, 300, 2000} : std::vector<dim_t>{1, 300};
}

TEST(magic_bias, products_at_all_bounds) {
    on_every_level([](const rule_case &c) {
        for (const dim_t k : reductions_of(c))
            expect_products(c, k, small_biases());
    });
}

// `f32` adds a bias to floats, so only without one do its sums start from 2^23.
TEST(magic_bias, products_without_bias) {
    on_every_level([](const rule_case &c) {
        for (const dim_t k : reductions_of(c))
            expect_products(c, k, {});
    });
}

TEST(magic_bias, products_with_large_biases) {
    on_every_level([](const rule_case &c) { expect_products(c, 20, large_biases()); });
}

TEST(magic_bias, depthwise_at_all_bounds) {
    on_every_level([](const rule_case &c) { expect_depthwise(c, small_biases()); });
}

TEST(magic_bias, depthwise_with_large_biases) {
    on_every_level([](const rule_case &c) { expect_depthwise(c, large_biases()); });
}

// The same primitive meets both kinds of biases in turn.
TEST(magic_bias, biases_of_each_execution_decide) {
    const rule_case c{requantization_rule::ort_f32, data_type::u8, 0, 0.01f};
    std::vector<std::int32_t> large = small_biases();
    large[5] = pot(30);
    for (int i = 0; i < 3; i++) {
        expect_products(c, 20, small_biases());
        expect_products(c, 20, large);
    }
}

} // namespace
