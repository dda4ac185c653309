// Functions of single floats and of several operands that run as plain loops, against their formulas;
// infinities, NaN and the sign of zero.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

struct function_case {
    const char *op;
    double (*f)(double);
    double tolerance = 0;
};

TEST(FloatFunctions, Formulas) {
    const function_case cases[] = {
        {"Abs", [](double x) { return std::abs(x); }},
        {"Ceil", [](double x) { return std::ceil(x); }},
        {"Celu", [](double x) { return std::max(x, 0.) + std::min(std::expm1(x), 0.); }, 2e-7},
        {"Cos", [](double x) { return std::cos(x); }, 2e-7},
        {"Floor", [](double x) { return std::floor(x); }},
        {"Round", [](double x) { return std::nearbyint(x); }},
        {"Sin", [](double x) { return std::sin(x); }, 2e-7},
        {"Reciprocal", [](double x) { return static_cast<double>(1.f / static_cast<float>(x)); }},
        {"Softplus", [](double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }, 2e-7},
        {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, 2e-7},
        {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0; }},
    };
    std::vector<float> x = numbers(1001, 30.f);
    const float edges[] = {0.f,   -0.f,     .5f,       1.5f,   2.5f,  -.5f,
                           -1.5f, infinity, -infinity, 1e-40f, 3e38f, -3e38f};
    x.insert(x.end(), std::begin(edges), std::end(edges));
    for (const function_case &c : cases) {
        one_node n(c.op);
        n.input({static_cast<dim_t>(x.size())}, x);
        const std::vector<float> y = n.run<float>();
        for (std::size_t i = 0; i < x.size(); i++) {
            const double expected = c.f(static_cast<double>(x[i])), got = static_cast<double>(y[i]);
            if (std::isnan(expected)) // inf / inf
                continue;
            if (c.tolerance == 0 || std::isinf(expected))
                ASSERT_EQ(got, expected) << c.op << " of " << x[i];
            else
                ASSERT_NEAR(got, expected, c.tolerance * std::max(1., std::abs(expected)))
                    << c.op << " of " << x[i];
            if (c.tolerance == 0 && got == 0) {
                ASSERT_EQ(std::signbit(got), std::signbit(expected)) << c.op << " of " << x[i];
            }
        }
        one_node of_nan(c.op);
        of_nan.input({2}, std::vector<float>{none, 1});
        EXPECT_EQ(std::isnan(of_nan.run<float>()[0]), std::string(c.op) != "ThresholdedRelu") << c.op;
    }
}

TEST(FloatFunctions, Logarithm) {
    std::vector<float> x = numbers(1000, 1.f);
    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = std::ldexp(std::abs(x[i]) + 1e-3f, static_cast<int>(i % 250) - 125);
    one_node n("Log");
    n.input({1000}, x);
    const std::vector<float> y = n.run<float>();
    for (std::size_t i = 0; i < x.size(); i++) {
        const double expected = std::log(static_cast<double>(x[i]));
        ASSERT_NEAR(static_cast<double>(y[i]), expected, 2e-7 * std::max(1., std::abs(expected))) << x[i];
    }
    one_node edges("Log");
    edges.input({7}, std::vector<float>{0, -0.f, infinity, 1, 1e-40f, -1, none});
    const std::vector<float> z = edges.run<float>();
    EXPECT_EQ(z[0], -infinity);
    EXPECT_EQ(z[1], -infinity);
    EXPECT_EQ(z[2], infinity);
    EXPECT_EQ(z[3], 0.f);
    EXPECT_NEAR(z[4], -92.1034, 1e-4);
    EXPECT_TRUE(std::isnan(z[5]) && std::isnan(z[6]));
}

/// Values of one to four operands, of which the second is a row and the last one number.
std::vector<float> of_operands(const char *op, std::size_t count, dims *shape = nullptr) {
    one_node n(op);
    const std::vector<float> values[] = {{1, 2, none, 4, -5, 6}, {3, -1, 2}, {2, 2, 2, -7, 9, 0.5f}, {1}};
    const dims shapes[] = {{2, 3}, {3}, {2, 3}, {}};
    for (std::size_t i = 0; i < count; i++)
        n.input(shapes[i], values[i]);
    const std::vector<float> y = n.run<float>();
    if (shape)
        *shape = n.shape;
    return y;
}

void expect_equal(const std::vector<float> &got, const std::vector<float> &expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); i++)
        EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) << i;
}

TEST(FloatFunctions, AnyNumberOfOperands) {
    dims shape;
    expect_equal(of_operands("Max", 1), {1, 2, none, 4, -5, 6});
    expect_equal(of_operands("Max", 3), {3, 2, none, 4, 9, 6});
    expect_equal(of_operands("Max", 4), {3, 2, none, 4, 9, 6});
    expect_equal(of_operands("Min", 4, &shape), {1, -1, none, -7, -5, 0.5f});
    EXPECT_EQ(shape, (dims{2, 3}));
    expect_equal(of_operands("Sum", 1), {1, 2, none, 4, -5, 6});
    expect_equal(of_operands("Sum", 2), {4, 1, none, 7, -6, 8});
    expect_equal(of_operands("Sum", 4), {7, 4, none, 1, 4, 9.5f});
    expect_equal(of_operands("Mean", 2), {2, 0.5f, none, 3.5f, -3, 4});
    one_node integers("Max");
    for (const std::int32_t v : {3, -4, 7})
        integers.input({2}, std::vector<std::int32_t>{v, -v});
    EXPECT_EQ(integers.run<std::int32_t>(), (std::vector<std::int32_t>{7, 4}));
    one_node mixed("Sum");
    mixed.input({2}, std::vector<float>{1, 2}).input({2}, std::vector<std::int32_t>{1, 2});
    EXPECT_NE(mixed.refusal(), "");
}

TEST(FloatFunctions, PReluPerChannelAndShared) {
    const std::vector<float> x = {1, -2, -3, 4, -5, -0.f};
    one_node n("PRelu");
    n.input({1, 3, 2}, x).constant({3, 1}, std::vector<float>{0.5f, 2, -1});
    EXPECT_EQ(n.run<float>(), (std::vector<float>{1, -1, -6, 4, 5, 0}));
    one_node shared("PRelu");
    shared.input({6}, x).constant({1}, std::vector<float>{0.5f});
    EXPECT_EQ(shared.run<float>(), (std::vector<float>{1, -1, -1.5f, 4, -2.5f, 0}));
}

TEST(FloatFunctions, PowersOfIntegers) {
    const std::vector<float> x = {1.5f, -2, 3, 0.1f};
    for (const int exponent : {0, 1, 2, 3, 4, -1}) {
        one_node n("Pow"), of_float("Pow");
        n.input({4}, x).constant({}, std::vector<std::int32_t>{exponent});
        of_float.input({4}, x).constant({}, std::vector<float>{static_cast<float>(exponent)});
        const std::vector<float> y = n.run<float>();
        EXPECT_EQ(y, of_float.run<float>());
        for (std::size_t i = 0; i < x.size(); i++)
            EXPECT_FLOAT_EQ(y[i], static_cast<float>(std::pow(static_cast<double>(x[i]), exponent)));
    }
    one_node wide("Pow");
    wide.input({4}, x).constant({2}, std::vector<std::int32_t>{1, 2});
    EXPECT_NE(wide.refusal(), "");
}

TEST(FloatFunctions, ModHasTheSignOfTheDivisorOrWithFmodOfTheDividend) {
    constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
    one_node n("Mod");
    n.input({7}, std::vector<std::int32_t>{7, -7, 7, -7, 6, lowest, 5});
    n.input({7}, std::vector<std::int32_t>{3, 3, -3, -3, 3, -1, 0});
    EXPECT_EQ(n.run<std::int32_t>(), (std::vector<std::int32_t>{1, 2, -2, -1, 0, 0, 0}));
    n.set("fmod", std::int64_t{1});
    EXPECT_EQ(n.run<std::int32_t>(), (std::vector<std::int32_t>{1, -1, 1, -1, 0, 0, 0}));
    one_node of_constants("Mod");
    of_constants.input({2}, std::vector<std::int32_t>{7, -7}).set("fmod", std::int64_t{1});
    of_constants.constant({2}, std::vector<std::int32_t>{3, 3});
    EXPECT_EQ(of_constants.run<std::int32_t>(), (std::vector<std::int32_t>{1, -1}));
}

/// Long tensors are divided among threads at whole groups of four, so that only the last elements are the C library's.
TEST(FloatFunctions, LongTensorsHaveTheBitsOfShortOnes) {
    constexpr std::size_t count = 20003;
    for (const char *op : {"Elu", "Log", "Softplus", "Softsign", "Ceil"}) {
        const std::vector<float> few = numbers(8, 5.f);
        std::vector<float> many(count);
        for (std::size_t i = 0; i < count; i++)
            many[i] = few[i % 8];
        one_node of_few(op), of_many(op);
        const std::vector<float> expected = of_few.input({8}, few).run<float>(),
                                 y = of_many.input({count}, many).run<float>();
        for (std::size_t i = 0; i < count / 4 * 4; i++)
            ASSERT_EQ(std::memcmp(&y[i], &expected[i % 8], sizeof y[i]), 0) << op << " of " << i;
    }
}

/// Passes join only operators that a product can take in; a program's graph may name others.
TEST(FloatFunctions, BehindAProductOthersAreRefused) {
    for (const char *op : {"Celu", "Relu"}) {
        one_node n("MatMul");
        n.input({4, 8}, numbers(32, 1.f)).constant<float>({8, 8}, numbers(64, 1.f)).output(data_type::f32);
        model::tensor result;
        result.name = "r", result.type = data_type::f32, result.dims = {4, 8};
        n.graph.tensors.push_back(result);
        const int r = static_cast<int>(n.graph.tensors.size()) - 1;
        n.graph.nodes[0].fused.push_back({op, {r}, {r}, {}});
        const std::string refusal = n.refusal();
        if (std::string(op) == "Relu")
            EXPECT_EQ(refusal, "");
        else
            EXPECT_NE(refusal.find("fused Celu follows no product of floats"), std::string::npos) << refusal;
    }
}

} // namespace
} // namespace octet::tests
