// Float operators of ONNX that work element by element or move elements, each as the only node of a network,
// against its formula in binary64; masks and indices against plain loops. The same bytes must come out at
// every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

// ---- Element by element

struct unary_case {
    const char *op;
    double (*f)(double);
    float limit = 6.f;
    std::map<std::string, attribute> attributes = {};
};

TEST(FloatOperators, Functions) {
    const unary_case cases[] = {
        {"Relu", [](double x) { return std::max(x, 0.); }},
        {"LeakyRelu", [](double x) { return x < 0 ? 0.25 * x : x; }, 6.f, {{"alpha", 0.25f}}},
        {"Elu", [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
        {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
        {"Tanh", [](double x) { return std::tanh(x); }},
        {"Erf", [](double x) { return std::erf(x); }},
        {"Gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.))); }},
        {"Neg", [](double x) { return -x; }},
        {"HardSwish", [](double x) { return x * std::clamp(x + 3, 0., 6.) / 6; }},
        {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0., 1.); }},
        {"Clip", [](double x) { return std::clamp(x, -1., 2.); }, 6.f, {{"min", -1.f}, {"max", 2.f}}},
    };
    for (const unary_case &c : cases)
        for (const dims &d : {dims{1}, {3, 5, 7}, {2, 256}}) {
            SCOPED_TRACE(c.op);
            const std::vector<float> x = numbers(count_of(d), c.limit);
            one_node t(c.op);
            t.graph.nodes[0].attributes = c.attributes;
            std::vector<double> expected;
            for (const float v : x)
                expected.push_back(c.f(static_cast<double>(v)));
            expect_near(t.input(d, x).run<float>(), expected, 2e-6);
            EXPECT_EQ(t.shape, d);
        }
}

/// e^x as Eigen computes it without fma, and with frexp's and floor's own code.
float eigen_exp(float x) {
    const float m = std::floor(x * 1.442695041f + 0.5f), r = m * 2.12194440e-4f + (m * -0.693359375f + x),
                s = r * r;
    const float even = s * (s * 1.37449637986719608e-3f + 4.166965186595916748e-2f) + 0.49999988079071045f,
                odd = s * 8.36894474923610687e-3f + 0.1666651815176010132f;
    return std::ldexp(s * (r * odd + even) + (r + 1.f), static_cast<int>(m));
}

TEST(FloatOperators, EluHasOnnxRuntimesBits) {
    std::vector<float> x = numbers(5000, 20.f);
    for (const float special : {0.f, -0.f, -1e-30f, -88.f, -104.f, -1e30f, 3e38f, -INFINITY, INFINITY})
        x.push_back(special);
    for (const float alpha : {1.f, 0.7f}) {
        one_node t("Elu");
        const std::vector<float> y =
            t.set("alpha", alpha).input({static_cast<memory::dim>(x.size())}, x).run<float>();
        for (std::size_t i = 0; i < x.size(); i++) {
            const float expected = x[i] >= 0 ? x[i] : x[i] < -80 ? -alpha : alpha * (eigen_exp(x[i]) - 1.f);
            ASSERT_EQ(std::memcmp(&y[i], &expected, sizeof expected), 0) << x[i] << " gives " << y[i];
        }
    }
    one_node t("Elu");
    EXPECT_TRUE(std::isnan(t.input({1}, std::vector<float>{NAN}).run<float>()[0]));
}

TEST(FloatOperators, PowersAndRoots) {
    std::vector<float> x = numbers(100, 3.f);
    std::vector<double> squares, roots;
    for (const float v : x) {
        squares.push_back(std::pow(static_cast<double>(v), 3.));
        roots.push_back(std::sqrt(std::abs(static_cast<double>(v))));
    }
    expect_near(one_node("Pow").input({100}, x).constant<float>({}, {3.f}).run<float>(), squares, 1e-6);
    for (float &v : x)
        v = std::abs(v);
    expect_near(one_node("Sqrt").input({100}, x).run<float>(), roots, 1e-7);
}

TEST(FloatOperators, TwoOperandsBroadcast) {
    const dims a_dims = {2, 1, 3}, b_dims = {4, 1};
    const std::vector<float> a = numbers(6, 3.f), b = numbers(4, 3.f, 7);
    const auto check = [&](const char *op, float (*f)(float, float)) {
        std::vector<float> expected;
        for (std::size_t i = 0; i < 2; i++)
            for (std::size_t j = 0; j < 4; j++)
                for (std::size_t k = 0; k < 3; k++)
                    expected.push_back(f(a[i * 3 + k], b[j]));
        one_node t(op);
        EXPECT_EQ(t.input(a_dims, a).input(b_dims, b).run<float>(), expected) << op;
        EXPECT_EQ(t.shape, (dims{2, 4, 3}));
    };
    check("Add", [](float x, float y) { return x + y; });
    check("Sub", [](float x, float y) { return x - y; });
    check("Mul", [](float x, float y) { return x * y; });
    check("Div", [](float x, float y) { return x / y; });
    check("Min", [](float x, float y) { return std::min(x, y); });
    check("Max", [](float x, float y) { return std::max(x, y); });
}

TEST(FloatOperators, IntegersAndTruths) {
    using integers = std::vector<std::int32_t>;
    using truths = std::vector<std::uint8_t>;
    const integers a = {1, -5, 2147483647, 7}, b = {2, -5};
    const auto of = [&](const char *op) {
        return one_node(op).input<std::int32_t>({2, 2}, a).input<std::int32_t>({2}, b);
    };
    EXPECT_EQ(of("Add").run<std::int32_t>(), (integers{3, -10, -2147483647, 2})); // wraps around
    EXPECT_EQ(of("Sub").run<std::int32_t>(), (integers{-1, 0, 2147483645, 12}));
    EXPECT_EQ(of("Mul").run<std::int32_t>(), (integers{2, 25, -2, -35}));
    EXPECT_EQ(of("Equal").run<std::uint8_t>(), (truths{0, 1, 0, 0}));
    EXPECT_EQ(of("Less").run<std::uint8_t>(), (truths{1, 0, 0, 0}));
    EXPECT_EQ(of("GreaterOrEqual").run<std::uint8_t>(), (truths{0, 1, 1, 1}));
    EXPECT_EQ(one_node("Not").input<std::uint8_t>({3}, {0, 1, 2}).run<std::uint8_t>(), (truths{1, 0, 0}));
    EXPECT_EQ(
        one_node("And").input<std::uint8_t>({2}, {1, 1}).input<std::uint8_t>({2}, {0, 1}).run<std::uint8_t>(),
        (truths{0, 1}));
    EXPECT_EQ(one_node("Where")
                  .input<std::uint8_t>({2, 1}, {1, 0})
                  .input<float>({1, 3}, {1, 2, 3})
                  .input<float>({}, {9})
                  .run<float>(),
              (std::vector<float>{1, 2, 3, 9, 9, 9}));
}

TEST(FloatOperators, Casts) {
    const auto cast = [](auto values, std::int64_t to) {
        return one_node("Cast").input(dims{static_cast<dim_t>(values.size())}, values).set("to", to);
    };
    EXPECT_EQ(cast(std::vector<float>{1.9f, -1.9f, 1e20f, NAN}, 7).run<std::int32_t>(),
              (std::vector<std::int32_t>{1, -1, -2147483647 - 1, -2147483647 - 1})); // towards zero
    EXPECT_EQ(cast(std::vector<float>{1e10f, -1e10f, 3e9f}, 7).run<std::int32_t>(),  // INT64 that s32 has not
              (std::vector<std::int32_t>{2147483647, -2147483647 - 1, 2147483647}));
    EXPECT_EQ(cast(std::vector<float>{3e9f, INFINITY, NAN, 2147483520.f}, 6).run<std::int32_t>(),
              (std::vector<std::int32_t>{-2147483647 - 1, -2147483647 - 1, -2147483647 - 1, 2147483520}));
    EXPECT_EQ(cast(std::vector<float>{300.f, -1.f, INFINITY, NAN, 2147483520.f}, 2).run<std::uint8_t>(),
              (std::vector<std::uint8_t>{44, 255, 0, 0, 128}));
    EXPECT_EQ(cast(std::vector<float>{0.5f, 0.f, -2.f}, 9).run<std::uint8_t>(),
              (std::vector<std::uint8_t>{1, 0, 1}));
    EXPECT_EQ(cast(std::vector<std::int32_t>{300, -1}, 1).run<float>(), (std::vector<float>{300, -1}));
    EXPECT_EQ(cast(std::vector<std::uint8_t>{200, 1}, 6).run<std::int32_t>(),
              (std::vector<std::int32_t>{200, 1}));
    EXPECT_EQ(cast(std::vector<std::int32_t>{5}, 7).run<std::int32_t>(), (std::vector<std::int32_t>{5}));
}

// ---- Moving elements

TEST(FloatOperators, GatherTakesBlocksByIndices) {
    const std::vector<float> x = numbers(24, 1.f); // {2, 3, 4}
    one_node t("Gather");
    const std::vector<float> y = t.input({2, 3, 4}, x)
                                     .input<std::int32_t>({2, 2}, {2, 0, -1, 1})
                                     .set("axis", std::int64_t{1})
                                     .run<float>();
    EXPECT_EQ(t.shape, (dims{2, 2, 2, 4}));
    const std::size_t rows[] = {2, 0, 2, 1};
    for (std::size_t o = 0; o < 2; o++)
        for (std::size_t i = 0; i < 4; i++)
            for (std::size_t k = 0; k < 4; k++)
                EXPECT_EQ(y[(o * 4 + i) * 4 + k], x[(o * 3 + rows[i]) * 4 + k]);
}

TEST(FloatOperators, GatherRefusesIndicesOutsideBeforeItWrites) {
    one_node t("Gather");
    t.input<float>({3}, {1, 2, 3}).input<std::int32_t>({2}, {0, 1}).output();
    infer_shapes(t.graph);
    network net(t.graph);
    net.input(0).copy_from(std::vector<float>{1, 2, 3});
    net.input(1).copy_from(std::vector<std::int32_t>{2, 1});
    net.run();
    for (const std::int32_t index : {3, -4, 2147483647, std::numeric_limits<std::int32_t>::min()}) {
        net.input(1).copy_from(std::vector<std::int32_t>{0, index});
        try {
            net.run();
            FAIL();
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()).find("node 0 (Gather): index 1 is " + std::to_string(index) +
                                                 ", allowed: -3 to 2"),
                      std::string::npos)
                << e.what();
        }
        EXPECT_EQ(net.output().as<float>(), (std::vector<float>{3, 2}));
    }
}

TEST(FloatOperators, SlicesOfAnyStep) {
    std::vector<float> x(20);
    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<float>(i);
    const auto slice = [&](const std::vector<std::int32_t> &starts, const std::vector<std::int32_t> &ends,
                           const std::vector<std::int32_t> &steps) {
        return one_node("Slice")
            .input({4, 5}, x)
            .constant<std::int32_t>({2}, starts)
            .constant<std::int32_t>({2}, ends)
            .constant<std::int32_t>({2}, {0, 1})
            .constant<std::int32_t>({2}, steps)
            .run<float>();
    };
    EXPECT_EQ(slice({1, 2}, {3, 4}, {1, 1}), (std::vector<float>{7, 8, 12, 13}));
    EXPECT_EQ(slice({-1, 4}, {-100, 0}, {-2, -3}), (std::vector<float>{19, 16, 9, 6}));
    EXPECT_EQ(slice({0, 0}, {100, 100}, {3, 2}), (std::vector<float>{0, 2, 4, 15, 17, 19}));
}

TEST(FloatOperators, SplitConcatExpand) {
    const std::vector<float> x = numbers(12, 1.f); // {2, 6}
    one_node split("Split");
    split.input({2, 6}, x).constant<std::int32_t>({3}, {1, 3, 2}).set("axis", std::int64_t{-1});
    split.output().output().output();
    EXPECT_EQ(split.run<float>(1), (std::vector<float>{x[1], x[2], x[3], x[7], x[8], x[9]}));
    EXPECT_EQ(split.run<float>(2), (std::vector<float>{x[4], x[5], x[10], x[11]}));
    EXPECT_EQ(one_node("Concat")
                  .input<float>({2, 1}, {1, 2})
                  .input<float>({2, 2}, {3, 4, 5, 6})
                  .set("axis", std::int64_t{1})
                  .run<float>(),
              (std::vector<float>{1, 3, 4, 2, 5, 6}));
    EXPECT_EQ(
        one_node("Expand").input<float>({2, 1}, {1, 2}).constant<std::int32_t>({3}, {2, 1, 2}).run<float>(),
        (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
}

} // namespace
} // namespace octet::tests
