// Operators of ONNX on rows of floats (normalizations, reductions, softmax), each as the only node of a
// network, against its formula in binary64. The same bytes must come out at every level and for every number
// of threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

TEST(FloatRows, LargestOfImages) {
    one_node n("GlobalMaxPool");
    n.input({2, 2, 2, 2}, std::vector<float>{1, 5, -2, 3, -1, -4, -3, -2, 0, 0, 7, 0, 9, 8, 7, 6});
    EXPECT_EQ(n.run<float>(), (std::vector<float>{5, -1, 7, 9}));
    EXPECT_EQ(n.shape, (dims{2, 2, 1, 1}));
}

TEST(FloatRows, NormalizesRows) {
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

TEST(FloatRows, ReductionsKeepDimensionsWhereTheAttributeIsOne) {
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

TEST(FloatRows, ReductionsSoftmaxAndArgMax) {
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

TEST(FloatRows, InstancesAreNormalized) {
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

TEST(FloatRows, RowsOverTheirRootMeanSquare) {
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

TEST(FloatRows, LogSoftmaxAndNorms) {
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
    flattened.input({1, 2, 2}, std::vector<float>(4, 1.f)).graph.opset = 11;
    for (const float y : flattened.run<float>())
        EXPECT_NEAR(y, -std::log(4.), 1e-6);
}

/// More rows than are taken at a time, and a number of them that is no multiple of it.
TEST(FloatRows, ManyRowsGiveWhatEachGivesAlone) {
    const std::size_t rows = 403, size = 83; // 197 rows of 83 are computed at a time
    std::vector<float> x = numbers(rows * size, 4.f);
    x[7 * size + 40] = x[7 * size + 80] = x[7 * size + 3] = 9.f; // the largest, more than once
    x[9 * size + 5] = std::numeric_limits<float>::quiet_NaN();
    const auto n = static_cast<dim_t>(rows), width = static_cast<dim_t>(size);
    std::vector<float> columns;
    for (std::size_t k = 0; k < size; k++)
        for (std::size_t r = 0; r < rows; r++)
            columns.push_back(x[r * size + k]);
    one_node across("LogSoftmax"), down("LogSoftmax"), norms("ReduceL2"), places("ArgMax"), lasts("ArgMax");
    const std::vector<float> logs = across.input({n, width}, x).set("axis", std::int64_t{1}).run<float>();
    const std::vector<float> down_logs =
        down.input({width, n}, columns).set("axis", std::int64_t{0}).run<float>();
    const std::vector<float> lengths = norms.input({n, width}, x).set("axes", list{1}).run<float>();
    const auto first = places.input({n, width}, x).set("axis", std::int64_t{1}).run<std::int32_t>();
    const auto last = lasts.input({n, width}, x)
                          .set("axis", std::int64_t{1})
                          .set("select_last_index", std::int64_t{1})
                          .run<std::int32_t>();
    EXPECT_EQ(first[7], 3);
    EXPECT_EQ(last[7], 80);
    for (std::size_t r = 0; r < rows; r++) {
        if (r == 9)
            continue;
        const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * size),
                                     x.begin() + static_cast<std::ptrdiff_t>((r + 1) * size));
        const std::vector<float> alone =
            one_node("LogSoftmax").input({1, width}, row).set("axis", std::int64_t{1}).run<float>();
        float squares = 0.f;
        for (std::size_t k = 0; k < size; k++) {
            squares += row[k] * row[k];
            ASSERT_EQ(logs[r * size + k], alone[k]) << r << " " << k;
            ASSERT_EQ(down_logs[k * rows + r], alone[k]) << r << " " << k;
        }
        ASSERT_EQ(lengths[r], std::sqrt(squares)) << r;
        ASSERT_EQ(first[r], std::max_element(row.begin(), row.end()) - row.begin()) << r;
    }
}

TEST(FloatRows, LargestOfImagesSideBySide) {
    const std::size_t channels = 32, size = 35;
    std::vector<float> x = numbers(channels * size, 3.f), expected;
    x[2 * size + 20] = std::numeric_limits<float>::quiet_NaN(); // counts only where it is the last element
    for (std::size_t c = 0; c < channels; c++) {
        float largest = std::numeric_limits<float>::lowest();
        for (std::size_t i = 0; i < size; i++)
            largest = largest > x[c * size + i] ? largest : x[c * size + i];
        expected.push_back(largest);
    }
    EXPECT_EQ(one_node("GlobalMaxPool").input({1, 32, 5, 7}, x).run<float>(), expected);
}

TEST(FloatRows, BatchNormalizationUsesGivenStatistics) {
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

    one_node recorded("BatchNormalization"); // ONNX Runtime's results: a product and a sum, each rounded
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
