// Float operators of ONNX, each as the only node of a network, against its formula in binary64; masks and indices against
// plain loops. The same bytes must come out at every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>

#include "model/one_node.hpp"

namespace octet::tests {
namespace {

void expect_near(const std::vector<float> &got, const std::vector<double> &expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); i++)
        ASSERT_NEAR(static_cast<double>(got[i]), expected[i], tolerance * std::max(1., std::abs(expected[i])))
            << i;
}

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
    EXPECT_NE(
        one_node("Pow").input({100}, x).input<float>({}, {3.f}).refusal().find("is not one constant value"),
        std::string::npos);
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

// ---- Products

TEST(FloatOperators, MatrixProducts) {
    struct sizes {
        dims a, b, y;
    };
    const sizes cases[] = {{{2, 3, 5, 17}, {3, 17, 33}, {2, 3, 5, 33}},
                           {{1, 1}, {1, 1}, {1, 1}},
                           {{7}, {7, 5}, {5}},
                           {{2, 3, 1, 12}, {3, 12, 21}, {2, 3, 1, 21}}};
    for (const sizes &s : cases)
        for (const bool is_constant : {false, true}) {
            const std::vector<float> a = numbers(count_of(s.a), 1.f), b = numbers(count_of(s.b), 1.f, 5);
            one_node t("MatMul");
            const std::vector<float> y = t.input(s.a, a).add(s.b, b, is_constant).run<float>();
            EXPECT_EQ(t.shape, s.y);
            const std::size_t k_count = static_cast<std::size_t>(s.a.back()),
                              n_count = static_cast<std::size_t>(s.b.back()), rows = y.size() / n_count;
            const std::size_t m_count = s.a.size() > 1 ? static_cast<std::size_t>(s.a[s.a.size() - 2]) : 1,
                              batches = count_of(s.b) / (k_count * n_count);
            for (std::size_t r = 0; r < rows; r++)
                for (std::size_t n = 0; n < n_count; n++) {
                    const auto b_at = [&](std::size_t k) {
                        return b[(r / m_count % batches * k_count + k) * n_count + n];
                    };
                    float sum = 0; // in the order of the definition
                    for (std::size_t k = 0; k < k_count; k++)
                        sum = std::fma(a[r * k_count + k], b_at(k), sum);
                    if (m_count == 1 && !(is_constant && s.b.size() == 2) &&
                        (s.a.size() == 1 || s.b.size() > 2)) {
                        for (std::size_t k = 0; k < k_count;) { // in ONNX Runtime's
                            const std::size_t left = k_count - k, end = k + (left >= 4   ? 4
                                                                             : left >= 2 ? 2
                                                                                         : 1);
                            float part = a[r * k_count + k] * b_at(k);
                            for (k++; k < end; k++)
                                part += a[r * k_count + k] * b_at(k);
                            sum = end <= 4 ? part : sum + part;
                        }
                    }
                    ASSERT_EQ(y[r * n_count + n], sum) << r << ", " << n;
                }
        }
}

/// They count as computed: blocks of 128.
TEST(FloatOperators, RowsTimesDequantizedMatrices) {
    constexpr std::size_t inner = 200, columns = 150;
    const std::vector<float> a = numbers(inner, 1.f), c = numbers(columns, 1.f, 3);
    std::vector<std::int8_t> codes;
    for (int i = 0; i < static_cast<int>(inner * columns); i++)
        codes.push_back(static_cast<std::int8_t>(i * 37 % 251 - 125));
    const float scale = 0.0173f;
    one_node t("DequantizeLinear"); // w, then the product, the row and the function behind it
    t.constant({200, 150}, codes).constant({1}, std::vector<float>{scale}); // {} would let x be rounded
    model::graph &g = t.graph;
    const auto tensor = [&](const char *name, const dims &d, const std::vector<float> &values = {}) {
        model::tensor made;
        made.name = name;
        made.type = data_type::f32;
        made.dims = d;
        made.is_constant = !values.empty();
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
        if (made.is_constant)
            made.data = std::vector<std::uint8_t>(bytes, bytes + values.size() * sizeof(float));
        g.tensors.push_back(made);
        return static_cast<int>(g.tensors.size()) - 1;
    };
    const int w = tensor("w", {200, 150}), x = tensor("x", {1, 200}), product = tensor("product", {1, 150}),
              row = tensor("row", {150}, c), sum = tensor("sum", {1, 150}), y = tensor("y", {1, 150});
    g.nodes[0].outputs = {w};
    g.nodes.push_back({"MatMul", {x, w}, {product}, {}});
    g.nodes.push_back({"Add", {product, row}, {sum}, {}});
    g.nodes.push_back({"Relu", {sum}, {y}, {}});
    g.inputs = {x};
    g.outputs = {y};
    t.fill.push_back([=](network &net) { net.input(0).copy_from(a); });
    const std::vector<float> got = t.run<float>();
    for (std::size_t n = 0; n < columns; n++) { // the one row has the bits that it has among others
        float expected = c[n];
        for (std::size_t first = 0; first < inner; first += 128) {
            float block = 0;
            for (std::size_t k = first; k < std::min(inner, first + 128); k++)
                block = std::fma(a[k], static_cast<float>(codes[k * columns + n]) * scale, block);
            expected += block;
        }
        EXPECT_EQ(got[n], std::max(expected, 0.f)) << n;
    }
}

TEST(FloatOperators, GemmWithFactors) {
    const std::vector<float> a = numbers(6, 1.f), b = numbers(12, 1.f, 3), c = numbers(4, 1.f, 9);
    one_node t("Gemm"); // {3, 2} transposed times {4, 3} transposed
    t.input({3, 2}, a).constant({4, 3}, b).constant({4}, c);
    t.set("transA", std::int64_t{1}).set("transB", std::int64_t{1}).set("alpha", 0.5f);
    std::vector<double> expected;
    for (std::size_t m = 0; m < 2; m++)
        for (std::size_t n = 0; n < 4; n++) {
            double sum = 0;
            for (std::size_t k = 0; k < 3; k++)
                sum += static_cast<double>(a[k * 2 + m]) * static_cast<double>(b[n * 3 + k]);
            expected.push_back(0.5 * sum + static_cast<double>(c[n]));
        }
    expect_near(t.run<float>(), expected, 1e-6);
}

TEST(FloatOperators, Convolutions) {
    const std::vector<float> x = numbers(2 * 4 * 5 * 6, 1.f), w = numbers(6 * 2 * 9, 1.f, 3),
                             b = numbers(6, 1.f, 4);
    one_node t("Conv");
    t.input({2, 4, 5, 6}, x).constant({6, 2, 3, 3}, w).constant({6}, b);
    t.set("group", std::int64_t{2}).set("pads", list{1, 1, 1, 1}).set("strides", list{2, 1});
    const std::vector<float> y = t.run<float>();
    EXPECT_EQ(t.shape, (dims{2, 6, 3, 6}));
    std::vector<double> expected;
    for (int n = 0; n < 2; n++)
        for (int o = 0; o < 6; o++)
            for (int oh = 0; oh < 3; oh++)
                for (int ow = 0; ow < 6; ow++) {
                    double sum = static_cast<double>(b[static_cast<std::size_t>(o)]);
                    for (int i = 0; i < 2; i++)
                        for (int kh = 0; kh < 3; kh++)
                            for (int kw = 0; kw < 3; kw++) {
                                const int h = oh * 2 + kh - 1, v = ow + kw - 1;
                                if (h < 0 || h >= 5 || v < 0 || v >= 6)
                                    continue;
                                sum += static_cast<double>(x[static_cast<std::size_t>(
                                           ((n * 4 + o / 3 * 2 + i) * 5 + h) * 6 + v)]) *
                                       static_cast<double>(
                                           w[static_cast<std::size_t>(((o * 2 + i) * 3 + kh) * 3 + kw)]);
                            }
                    expected.push_back(sum);
                }
    expect_near(y, expected, 1e-5);
}

TEST(FloatOperators, Poolings) {
    const std::vector<float> x = numbers(2 * 3 * 4 * 5, 1.f);
    const auto windows = [&](bool is_max, bool counts_padding) {
        std::vector<float> y;
        for (int c = 0; c < 6; c++)
            for (int oh = 0; oh < 2; oh++)
                for (int ow = 0; ow < 3; ow++) {
                    float sum = 0, largest = -1e30f;
                    int taps = 0;
                    for (int w = ow * 2 - 1; w < ow * 2 + 1; w++) { // rows are added up at first
                        float column = 0;
                        for (int h = oh * 2 - 1; h < oh * 2 + 2; h++)
                            if (h >= 0 && h < 4 && w >= 0 && w < 5) {
                                const float v = x[static_cast<std::size_t>((c * 4 + h) * 5 + w)];
                                column += v, largest = std::max(largest, v), taps++;
                            }
                        sum += column;
                    }
                    y.push_back(is_max ? largest : sum / static_cast<float>(counts_padding ? 6 : taps));
                }
        return y;
    };
    const auto pool = [&](const char *op) {
        return one_node(op)
            .input({2, 3, 4, 5}, x)
            .set("kernel_shape", list{3, 2})
            .set("strides", list{2, 2})
            .set("pads", list{1, 1, 0, 0});
    };
    EXPECT_EQ(pool("MaxPool").run<float>(), windows(true, false));
    EXPECT_EQ(pool("AveragePool").run<float>(), windows(false, false));
    EXPECT_EQ(pool("AveragePool").set("count_include_pad", std::int64_t{1}).run<float>(),
              windows(false, true));
    std::vector<double> means;
    for (std::size_t c = 0; c < 6; c++) {
        means.push_back(0);
        for (std::size_t i = 0; i < 20; i++)
            means.back() += static_cast<double>(x[c * 20 + i]) / 20;
    }
    one_node global("GlobalAveragePool");
    expect_near(global.input({2, 3, 4, 5}, x).run<float>(), means, 1e-6);
    EXPECT_EQ(global.shape, (dims{2, 3, 1, 1}));
}

/// The last windows reach beyond the padding, of which only what lies in image or padding counts: ONNX Runtime's.
TEST(FloatOperators, AveragesOfWindowsBeyondThePadding) {
    const std::vector<float> x = numbers(2 * 3 * 4 * 6, 1.f);
    for (const std::int64_t pad : {0, 1})
        for (const std::int64_t counts_padding : {0, 1}) {
            const int rows = pad == 0 ? 2 : 3, columns = rows;
            std::vector<float> expected;
            for (int c = 0; c < 6; c++)
                for (int oh = 0; oh < rows; oh++)
                    for (int ow = 0; ow < columns; ow++) {
                        float sum = 0;
                        int counted = 0, p = static_cast<int>(pad);
                        for (int h = oh * 2 - p; h < oh * 2 - p + 3; h++)
                            for (int w = ow * 3 - p; w < ow * 3 - p + 3; w++) {
                                const bool is_inside = h >= 0 && h < 4 && w >= 0 && w < 6;
                                if (is_inside)
                                    sum += x[static_cast<std::size_t>((c * 4 + h) * 6 + w)];
                                counted += counts_padding ? h < 4 + p && w < 6 : is_inside;
                            }
                        expected.push_back(sum / static_cast<float>(counted));
                    }
            EXPECT_EQ(one_node("AveragePool")
                          .input({2, 3, 4, 6}, x)
                          .set("kernel_shape", list{3, 3})
                          .set("strides", list{2, 3})
                          .set("pads", list{pad, pad, pad, 0})
                          .set("ceil_mode", std::int64_t{1})
                          .set("count_include_pad", counts_padding)
                          .run<float>(),
                      expected)
                << "pad " << pad << ", counts padding " << counts_padding;
        }
}

TEST(FloatOperators, AverageOfWindowsFarLargerThanTheImage) {
    const dim_t kernel = dim_t{1} << 30; // visited tap by tap, it takes seconds for each result
    const std::clock_t begin = std::clock();
    one_node n("AveragePool");
    n.input({1, 1, 4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8})
        .set("kernel_shape", list{kernel, 1})
        .set("strides", list{2, 1})
        .set("pads", list{kernel - 4, 0, 1, 0})
        .set("ceil_mode", std::int64_t{1})
        .set("count_include_pad", std::int64_t{1});
    const auto count = static_cast<float>(kernel), cut_off = static_cast<float>(kernel - 1);
    EXPECT_EQ(n.run<float>(), (std::vector<float>{16 / count, 20 / count, 16 / cut_off, 20 / cut_off}));
    EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
}

// ---- Rows

TEST(FloatOperators, LargestOfImages) {
    one_node n("GlobalMaxPool");
    n.input({2, 2, 2, 2}, std::vector<float>{1, 5, -2, 3, -1, -4, -3, -2, 0, 0, 7, 0, 9, 8, 7, 6});
    EXPECT_EQ(n.run<float>(), (std::vector<float>{5, -1, 7, 9}));
    EXPECT_EQ(n.shape, (dims{2, 2, 1, 1}));
}

TEST(FloatOperators, NormalizesRows) {
    const std::vector<float> x = numbers(3 * 37, 2.f), skip = numbers(3 * 37, 2.f, 3),
                             gamma = numbers(37, 1.f, 5), beta = numbers(37, 1.f, 6),
                             bias = numbers(37, 1.f, 8);
    const auto normalized = [&](const std::vector<double> &in) {
        std::vector<double> y;
        for (std::size_t r = 0; r < 3; r++) {
            double mean = 0, square = 0;
            for (std::size_t c = 0; c < 37; c++)
                mean += in[r * 37 + c] / 37;
            for (std::size_t c = 0; c < 37; c++)
                square += (in[r * 37 + c] - mean) * (in[r * 37 + c] - mean) / 37;
            for (std::size_t c = 0; c < 37; c++)
                y.push_back((in[r * 37 + c] - mean) / std::sqrt(square + 1e-3) *
                                static_cast<double>(gamma[c]) +
                            static_cast<double>(beta[c]));
        }
        return y;
    };
    std::vector<double> plain(x.begin(), x.end()), sums;
    for (std::size_t i = 0; i < x.size(); i++)
        sums.push_back(static_cast<double>(x[i]) + static_cast<double>(skip[i]) +
                       static_cast<double>(bias[i % 37]));
    one_node one("LayerNormalization");
    expect_near(
        one.input({3, 37}, x).constant({37}, gamma).constant({37}, beta).set("epsilon", 1e-3f).run<float>(),
        normalized(plain), 1e-5);
    one_node two("SkipLayerNormalization");
    two.input({1, 3, 37}, x)
        .input({1, 3, 37}, skip)
        .constant({37}, gamma)
        .constant({37}, beta)
        .constant({37}, bias);
    two.set("epsilon", 1e-3f).output().output().output().output();
    two.graph.outputs = {two.graph.outputs[0], two.graph.outputs[3]};
    expect_near(two.run<float>(0), normalized(sums), 1e-5);
    expect_near(two.run<float>(1), sums, 1e-6);
}

TEST(FloatOperators, ReductionsKeepDimensionsWhereTheAttributeIsOne) {
    const auto shape_of = [](const char *op, std::int64_t keepdims) {
        one_node n(op);
        n.input({2, 3}, numbers(6, 1.f))
            .set("keepdims", keepdims)
            .set("axes", list{1})
            .set("axis", std::int64_t{1});
        if (op == std::string("ArgMax"))
            n.run<std::int32_t>();
        else
            n.run<float>();
        return n.shape;
    };
    for (const char *const op : {"ReduceMean", "ReduceMax", "ArgMax"}) {
        EXPECT_EQ(shape_of(op, 1), (dims{2, 1})) << op;
        for (const std::int64_t other : {0, 2, -1, 1000})
            EXPECT_EQ(shape_of(op, other), (dims{2})) << op;
    }
}

TEST(FloatOperators, ReductionsSoftmaxAndArgMax) {
    const std::vector<float> x = numbers(2 * 3 * 20, 2.f);
    const auto at = [&](std::size_t i, std::size_t j, std::size_t k) {
        return static_cast<double>(x[(i * 3 + j) * 20 + k]);
    };
    std::vector<double> means, largest, softmax;
    std::vector<std::int32_t> places;
    for (std::size_t i = 0; i < 2; i++)
        for (std::size_t k = 0; k < 20; k++) {
            means.push_back((at(i, 0, k) + at(i, 1, k) + at(i, 2, k)) / 3);
            largest.push_back(std::max({at(i, 0, k), at(i, 1, k), at(i, 2, k)}));
            places.push_back(largest.back() == at(i, 0, k) ? 0 : largest.back() == at(i, 1, k) ? 1 : 2);
        }
    for (std::size_t r = 0; r < 6; r++) {
        double sum = 0;
        for (std::size_t k = 0; k < 20; k++)
            sum += std::exp(static_cast<double>(x[r * 20 + k]));
        for (std::size_t k = 0; k < 20; k++)
            softmax.push_back(std::exp(static_cast<double>(x[r * 20 + k])) / sum);
    }
    one_node mean("ReduceMean"), max("ReduceMax"), arg("ArgMax");
    expect_near(mean.input({2, 3, 20}, x).set("axes", list{1}).set("keepdims", std::int64_t{0}).run<float>(),
                means, 1e-6);
    EXPECT_EQ(mean.shape, (dims{2, 20}));
    expect_near(max.input({2, 3, 20}, x).set("axes", list{-2}).run<float>(), largest, 0);
    EXPECT_EQ(max.shape, (dims{2, 1, 20}));
    EXPECT_EQ(arg.input({2, 3, 20}, x).set("axis", std::int64_t{1}).run<std::int32_t>(), places);
    expect_near(one_node("Softmax").input({2, 3, 20}, x).set("axis", std::int64_t{-1}).run<float>(), softmax,
                1e-6);
}

TEST(FloatOperators, InstancesAreNormalized) {
    for (const dim_t width : {1, 4, 9}) {
        const dims d = {2, 3, 5, width};
        const std::vector<float> x = numbers(count_of(d), 2.f), scale = {1, 0.5f, -2}, shift = {0, 1, 2};
        const std::size_t size = count_of({5, width});
        std::vector<double> expected;
        for (std::size_t p = 0; p < 6; p++) {
            double mean = 0, variance = 0;
            for (std::size_t i = 0; i < size; i++)
                mean += static_cast<double>(x[p * size + i]) / static_cast<double>(size);
            for (std::size_t i = 0; i < size; i++)
                variance +=
                    std::pow(static_cast<double>(x[p * size + i]) - mean, 2) / static_cast<double>(size);
            for (std::size_t i = 0; i < size; i++)
                expected.push_back((static_cast<double>(x[p * size + i]) - mean) /
                                       std::sqrt(variance + 1e-3) * static_cast<double>(scale[p % 3]) +
                                   static_cast<double>(shift[p % 3]));
        }
        one_node n("InstanceNormalization");
        n.input(d, x).constant({3}, scale).constant({3}, shift).set("epsilon", 1e-3f);
        expect_near(n.run<float>(), expected, 1e-5);
    }
    one_node wrong("InstanceNormalization");
    wrong.input({1, 2, 3}, numbers(6, 1.f)).constant({2}, numbers(2, 1.f)).constant({3}, numbers(3, 1.f));
    EXPECT_NE(wrong.refusal(), "");
}

TEST(FloatOperators, RowsOverTheirRootMeanSquare) {
    for (const dim_t n : {1, 5, 8, 13, 37}) {
        const std::vector<float> x = numbers(count_of({3, n}), 2.f), scale = numbers(count_of({n}), 1.f, 4);
        std::vector<double> expected;
        for (std::size_t r = 0; r < 3; r++) {
            const std::size_t size = scale.size();
            double squares = 0;
            for (std::size_t i = 0; i < size; i++)
                squares += std::pow(static_cast<double>(x[r * size + i]), 2) / static_cast<double>(size);
            for (std::size_t i = 0; i < size; i++)
                expected.push_back(static_cast<double>(x[r * size + i]) / std::sqrt(squares + 1e-3) *
                                   static_cast<double>(scale[i]));
        }
        one_node node("SimplifiedLayerNormalization");
        node.input({3, n}, x).constant({n}, scale).set("epsilon", 1e-3f);
        expect_near(node.run<float>(), expected, 1e-6);
    }
    one_node wrong("SimplifiedLayerNormalization");
    wrong.input({3, 5}, numbers(15, 1.f)).constant({3}, numbers(3, 1.f));
    EXPECT_NE(wrong.refusal(), "");
}

TEST(FloatOperators, LogSoftmaxAndNorms) {
    const std::vector<float> x = numbers(3 * 37 * 2, 4.f);
    for (const bool is_last : {true, false}) {
        const std::size_t rows = 6, size = is_last ? 2 : 37, stride = is_last ? 1 : 2, count = x.size();
        one_node n("LogSoftmax"), norm("ReduceL2");
        n.input({3, 37, 2}, x).set("axis", std::int64_t{is_last ? -1 : 1});
        norm.input({3, 37, 2}, x).set("axes", list{is_last ? 2 : 1}).set("keepdims", std::int64_t{0});
        std::vector<double> expected(count), norms;
        for (std::size_t r = 0; r < (is_last ? count / 2 : rows); r++) {
            const std::size_t first = is_last ? 2 * r : r / 2 * 74 + r % 2;
            double sum = 0, squares = 0;
            for (std::size_t k = 0; k < size; k++) {
                const auto v = static_cast<double>(x[first + k * stride]);
                sum += std::exp(v);
                squares += v * v;
            }
            norms.push_back(std::sqrt(squares));
            for (std::size_t k = 0; k < size; k++)
                expected[first + k * stride] = static_cast<double>(x[first + k * stride]) - std::log(sum);
        }
        expect_near(n.run<float>(), expected, 2e-6);
        expect_near(norm.run<float>(), norms, 2e-6);
        EXPECT_EQ(norm.shape, is_last ? (dims{3, 37}) : (dims{3, 2}));
    }
    one_node single("ReduceL2");
    single.input({3, 5}, std::vector<float>(15, 2.f));
    EXPECT_EQ(single.run<float>(), std::vector<float>{std::sqrt(60.f)});
    one_node flattened("LogSoftmax"); // before operator set 13, all dimensions from the axis on
    flattened.input({1, 2, 2}, std::vector<float>(4, 1.f)).set("opset", std::int64_t{11});
    for (const float y : flattened.run<float>())
        EXPECT_NEAR(y, -std::log(4.), 1e-6);
}

TEST(FloatOperators, BatchNormalizationUsesGivenStatistics) {
    const std::vector<float> x = numbers(2 * 3 * 4, 2.f), scale = {1, 2, 3}, shift = {0, 1, -1},
                             mean = {0.5f, 0, 1}, variance = {1, 4, 0.25f};
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); i++) {
        const std::size_t c = i / 4 % 3;
        expected.push_back((static_cast<double>(x[i]) - static_cast<double>(mean[c])) /
                               std::sqrt(static_cast<double>(variance[c]) + 1e-5) *
                               static_cast<double>(scale[c]) +
                           static_cast<double>(shift[c]));
    }
    one_node t("BatchNormalization");
    t.input({2, 3, 4}, x)
        .constant({3}, scale)
        .constant({3}, shift)
        .constant({3}, mean)
        .constant({3}, variance);
    expect_near(t.run<float>(), expected, 1e-5);

    one_node recorded("BatchNormalization"); // what ONNX Runtime gave: a product and a sum, each rounded
    recorded.input<float>({1, 2, 4}, {0.1f, -2.3f, 1.7f, 0.33f, 0.77f, -1.1f, 2.9f, -0.05f})
        .constant<float>({2}, {1.3f, -0.7f})
        .constant<float>({2}, {0.2f, 0.9f})
        .constant<float>({2}, {0.4f, -0.6f})
        .constant<float>({2}, {0.9f, 2.1f});
    const std::uint32_t bits[] = {0xbe5828fb, 0xc05ffd72, 0x3ffd9ebb, 0x3dd526e8,
                                  0x3e73f238, 0x3f921d67, 0xbf4a6878, 0x3f226325};
    const std::vector<float> y = recorded.run<float>();
    ASSERT_EQ(y.size(), std::size(bits));
    EXPECT_EQ(std::memcmp(y.data(), bits, sizeof bits), 0);
}

} // namespace
} // namespace octet::tests
