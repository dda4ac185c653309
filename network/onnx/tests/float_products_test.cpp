// Matrix products, convolutions and poolings of floats in ONNX networks, each as the only node, against its
// formula in binary64. The same bytes must come out at every level and for every number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

TEST(FloatProducts, MatrixProducts) {
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
TEST(FloatProducts, RowsTimesDequantizedMatrices) {
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
    const std::vector<float> alone = t.run<float>();
    t.options.rows_alike = true;
    const std::vector<float> got = t.run<float>();
    EXPECT_NE(got, alone) << "ONNX Runtime has an order of its own for one row";
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

TEST(FloatProducts, GemmWithFactors) {
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

/// Nothing would write their results.
TEST(FloatProducts, SumsOfNothingAreRefused) {
    for (const char *const op : {"MatMul", "Gemm"})
        for (const dim_t rows : {1, 3}) {
            one_node t(op);
            t.input({rows, 0}, std::vector<float>()).input({0, 4}, std::vector<float>());
            const std::string message = t.refusal();
            EXPECT_NE(message.find("tensor 'x0' has no elements (" + std::to_string(rows) + "x0)"),
                      std::string::npos)
                << op << ": " << message;
        }
}

TEST(FloatProducts, Convolutions) {
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

/// Windows along a line.
struct window_line {
    int in, kernel, stride, dilation, before, after;
    int out() const { return (in + before + after - (kernel - 1) * dilation - 1) / stride + 1; }
};

/// Sums of `block` products, which begin with zero, are added up in order.
struct blocked_sum {
    std::size_t block, count = 0;
    float sum = 0.f, total = 0.f;
    void add(float a, float b) {
        sum = std::fma(a, b, sum);
        if (++count % block == 0)
            end_block();
    }
    void end_block() {
        total = count <= block ? sum : total + sum;
        sum = 0.f;
    }
    float result() {
        if (count % block != 0)
            end_block();
        return total;
    }
};

/// Images whose channels do not fit ONNX Runtime's blocks: channel by channel, tap by tap. Lines are longer
/// and shorter than vectors, with phases and paddings of all kinds; weights are constant or computed.
TEST(FloatProducts, ConvolutionsOfPlanes) {
    struct problem {
        int images, groups, channels, outputs; ///< sizes of a group
        window_line h, w;
    };
    const problem problems[] = {{1, 32, 4, 4, {9, 3, 1, 1, 1, 1}, {37, 3, 1, 1, 1, 1}},
                                {2, 2, 5, 7, {7, 2, 2, 1, 0, 1}, {21, 4, 2, 1, 2, 1}},
                                {1, 1, 18, 20, {5, 3, 1, 2, 2, 2}, {16, 3, 1, 2, 2, 2}},
                                {1, 3, 2, 2, {4, 1, 3, 1, 0, 0}, {50, 1, 3, 1, 0, 0}},
                                {1, 2, 80, 9, {1, 1, 1, 1, 0, 0}, {53, 1, 1, 1, 0, 0}},
                                {2, 1, 19, 17, {3, 2, 1, 1, 0, 0}, {49, 7, 3, 2, 4, 5}},
                                {1, 1, 17, 3, {4, 4, 1, 1, 2, 2}, {1, 2, 1, 1, 2, 1}}};
    for (const problem &p : problems)
        for (const bool is_constant : {true, false}) {
            const int channels = p.groups * p.channels, outputs = p.groups * p.outputs, oh = p.h.out(),
                      ow = p.w.out(), inner = p.channels * p.h.kernel * p.w.kernel;
            const auto count = [](int n) { return static_cast<std::size_t>(n); };
            const std::vector<float> x = numbers(count(p.images * channels * p.h.in * p.w.in), 1.f),
                                     w = numbers(count(outputs * inner), 1.f, 3),
                                     b = numbers(count(outputs), 1.f, 4);
            one_node t("Conv");
            t.input({p.images, channels, p.h.in, p.w.in}, x)
                .add({outputs, p.channels, p.h.kernel, p.w.kernel}, w, is_constant)
                .constant({outputs}, b);
            t.set("group", std::int64_t{p.groups}).set("strides", list{p.h.stride, p.w.stride});
            t.set("dilations", list{p.h.dilation, p.w.dilation});
            t.set("pads", list{p.h.before, p.w.before, p.h.after, p.w.after});
            const std::vector<float> y = t.run<float>();
            ASSERT_EQ(t.shape, (dims{p.images, outputs, oh, ow}));
            std::size_t block = 128; // rows of a matrix that is read as it lies
            for (int width = 128; oh * ow < inner && width > 16 && width / 2 >= oh * ow; width /= 2)
                block *= 2;
            for (int i = 0; i < p.images * outputs * oh * ow; i++) {
                const int column = i % ow, row = i / ow % oh, o = i / (oh * ow) % outputs,
                          image = i / (oh * ow * outputs);
                blocked_sum sum{block};
                for (int k = 0; k < inner; k++) {
                    const int tap_w = k % p.w.kernel, tap_h = k / p.w.kernel % p.h.kernel,
                              c = k / (p.w.kernel * p.h.kernel) + o / p.outputs * p.channels,
                              at_h = row * p.h.stride + tap_h * p.h.dilation - p.h.before,
                              at_w = column * p.w.stride + tap_w * p.w.dilation - p.w.before;
                    const bool is_inside = at_h >= 0 && at_h < p.h.in && at_w >= 0 && at_w < p.w.in;
                    sum.add(w[count(o * inner + k)],
                            is_inside ? x[count(((image * channels + c) * p.h.in + at_h) * p.w.in + at_w)]
                                      : 0.f);
                }
                ASSERT_EQ(y[count(i)], sum.result() + b[count(o)])
                    << i << " of " << inner << " products each";
            }
        }
}

TEST(FloatProducts, Poolings) {
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
TEST(FloatProducts, AveragesOfWindowsBeyondThePadding) {
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

TEST(FloatProducts, AverageOfWindowsFarLargerThanTheImage) {
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

} // namespace
} // namespace octet::tests
