// The operators that ONNX Runtime's transformers leave, each case found with the runtime itself: both sides
// of a condition.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "network/onnx/tests/ort_left.hpp"

namespace octet::tests {
namespace {

using names = onnx_builder::names;
using dims = onnx_builder::dims;

std::vector<float> waves(std::size_t count, float step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = std::sin(static_cast<float>(i) * step);
    return values;
}

void transpose(onnx_builder &m, const char *x, const char *y, const dims &order) {
    m.set(m.node("Transpose", {x}, {y}), "perm", order);
}

TEST(OrtStructure, TransposesGoThroughWhatTheyCanAndMeet) {
    const struct {
        const char *op;
        bool is_passed;
    } cases[] = {{"Elu", true}, {"Softsign", true}, {"GlobalAveragePool", false}};
    for (const auto &c : cases) {
        onnx_builder m(17);
        m.input<float>("x", {2, 3, 4});
        transpose(m, "x", "moved", {0, 2, 1});
        m.node(c.op, {"moved"}, {"y"});
        transpose(m, "y", "out", {0, 2, 1});
        m.output("out");
        EXPECT_EQ(sorted_operators(m), c.is_passed ? names{c.op} : (names{c.op, "Transpose", "Transpose"}));
    }
}

TEST(OrtStructure, ASumOfATransposeAndAnImageWouldNeedAsManyTransposes) {
    for (const bool is_constant : {true, false}) {
        onnx_builder m(17);
        m.input<float>("x", {2, 3, 4});
        transpose(m, "x", "moved", {0, 2, 1});
        if (is_constant)
            m.constant<float>("z", {3}, {1, 2, 3});
        else
            m.input<float>("z", {2, 4, 3});
        m.node("Add", {"moved", "z"}, {"y"});
        transpose(m, "y", "out", {0, 2, 1});
        m.output("out");
        EXPECT_EQ(sorted_operators(m), is_constant ? names{"Add"} : (names{"Add", "Transpose", "Transpose"}));
    }
}

TEST(OrtStructure, AProductTakesATransposeOfABatchIfBothHaveOne) {
    for (const bool has_batch : {true, false}) {
        onnx_builder m(17);
        m.input<float>("x", {3, 2, 4});
        m.input<float>("b", has_batch ? dims{2, 4, 5} : dims{4, 5});
        transpose(m, "x", "moved", {1, 0, 2});
        m.node("MatMul", {"moved", "b"}, {"out"});
        m.output("out");
        EXPECT_EQ(sorted_operators(m), has_batch ? names{"FusedMatMul"} : (names{"MatMul", "Transpose"}));
    }
}

TEST(OrtStructure, AConstantOfOneDimensionIsNoScalarForWhere) {
    for (const bool is_scalar : {true, false}) {
        onnx_builder m(17);
        m.input<float>("x", {2, 3});
        m.scalar<float>("scale", 0.1f), m.scalar<std::uint8_t>("zp", 7);
        m.constant<float>("c", is_scalar ? dims{} : dims{1}, {2.f});
        m.input<float>("a", {3}), m.input<float>("b", {3});
        m.node("Less", {"a", "b"}, {"which"});
        m.node("QuantizeLinear", {"x", "scale", "zp"}, {"codes"});
        m.node("DequantizeLinear", {"codes", "scale", "zp"}, {"real"});
        m.node("Where", {"which", "real", "c"}, {"y"});
        m.node("QuantizeLinear", {"y", "scale", "zp"}, {"y_codes"});
        m.node("DequantizeLinear", {"y_codes", "scale", "zp"}, {"out"});
        m.output("out");
        const names all = sorted_operators(m);
        EXPECT_EQ(std::count(all.begin(), all.end(), "QLinearWhere") == 1, is_scalar);
    }
}

TEST(OrtStructure, WhatTheNetworkGivesOutStaysBesideItsEqual) {
    onnx_builder m(17);
    m.input<float>("x", {2, 3});
    for (const char *const y : {"out", "inner"})
        m.node("Neg", {"x"}, {y});
    m.node("Abs", {"inner"}, {"other"});
    m.output("out"), m.output("other");
    EXPECT_EQ(sorted_operators(m), (names{"Abs", "Neg", "Neg"}));
}

TEST(OrtStructure, ViewsInARowAreOneIfTheLastHasKnownSizes) {
    for (const bool is_open : {true, false}) {
        onnx_builder m(17);
        m.input<float>("x", {is_open ? 0 : 2, 6});
        m.constant<std::int64_t>("first", {3}, {0, 2, 3}), m.constant<std::int64_t>("second", {2}, {0, 6});
        m.node("Reshape", {"x", "first"}, {"y"});
        m.node("Reshape", {"y", "second"}, {"out"});
        m.output("out");
        if (is_open) {
            auto &dim = *m.graph()
                             .mutable_input(0)
                             ->mutable_type()
                             ->mutable_tensor_type()
                             ->mutable_shape()
                             ->mutable_dim(0);
            dim.clear_dim_value();
            dim.set_dim_param("batch");
        }
        EXPECT_EQ(sorted_operators(m).size(), is_open ? 2U : 1U);
    }
}

TEST(OrtStructure, APartOfAConcatTellsItsSizesToTheOthers) {
    onnx_builder m(12); // so that MatMul + Add is a Gemm
    m.input<float>("x", {1, 2, 4}), m.input<float>("z", {1, 2, 4});
    m.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("n");
    m.set(m.node("Concat", {"x", "z"}, {"both"}), "axis", std::int64_t{1});
    m.constant<float>("w", {4, 3}, waves(12, 0.7f)), m.constant<float>("c", {3}, {1, 2, 3});
    m.node("MatMul", {"both", "w"}, {"y"});
    m.node("Add", {"y", "c"}, {"out"});
    m.output("out");
    const names all = sorted_operators(m);
    EXPECT_EQ(std::count(all.begin(), all.end(), "Gemm"), 1);
}

// ---- Convolutions of groups that fit no blocks of channels

std::vector<float> run_convolution(const dims &x, const dims &w, std::int64_t groups, bool has_summand) {
    onnx_builder m(17);
    m.input<float>("x", x);
    const auto weights = static_cast<std::size_t>(w[0] * w[1] * w[2] * w[3]);
    m.constant<float>("w", w, waves(weights, 0.9f));
    m.constant<float>("b", {w[0]}, waves(static_cast<std::size_t>(w[0]), 2.3f));
    m.set(m.node("Conv", {"x", "w", "b"}, {"y"}), "group", groups);
    if (has_summand) {
        m.input<float>("z", {x[0], w[0], x[2] - w[2] + 1, x[3] - w[3] + 1});
        m.node("Add", {"y", "z"}, {"out"});
    }
    m.output(has_summand ? "out" : "y");
    const std::vector<std::uint8_t> file = m.finish();
    network net(file.data(), file.size(), "conv.onnx");
    for (std::size_t i = 0; i < net.get_graph().inputs.size(); i++) {
        const auto count = static_cast<std::size_t>(model::element_count(net.input(i).dims()));
        const std::vector<float> values = waves(count, 1.7f + static_cast<float>(i));
        net.input(i).copy_bytes_from(values.data(), count * sizeof(float));
    }
    net.run();
    const auto *y = static_cast<const float *>(net.output(0).get_memory().get_data_handle());
    return {y, y + model::element_count(net.output(0).dims())};
}

/// A channel alone: four products, rounded, are added up before they come to the sum, then two, then one.
TEST(OrtStructure, AChannelOfItsOwnIsARowOfFourProductsAtATime) {
    for (const bool has_summand : {false, true}) {
        const std::vector<float> y = run_convolution({1, 3, 3, 4}, {3, 1, 3, 3}, 3, has_summand),
                                 x = waves(36, 1.7f), w = waves(27, 0.9f), b = waves(3, 2.3f),
                                 z = waves(6, 2.7f);
        for (std::size_t c = 0; c < 3; c++)
            for (std::size_t o = 0; o < 2; o++) {
                float p[9];
                for (std::size_t k = 0; k < 9; k++)
                    p[k] = w[9 * c + k] * x[12 * c + 4 * (k / 3) + k % 3 + o];
                const float first = p[0] + p[1] + p[2] + p[3], second = p[4] + p[5] + p[6] + p[7];
                const float sum = (has_summand ? z[2 * c + o] + first : first) + second + p[8];
                EXPECT_EQ(y[2 * c + o], sum + b[c]) << c << ", " << o << ", " << has_summand;
            }
    }
}

/// Two channels of a group: fma in order over channels and taps, from the summand on.
TEST(OrtStructure, ChannelsOfAGroupAreAProductOfMatrices) {
    for (const bool has_summand : {false, true}) {
        const std::vector<float> y = run_convolution({1, 4, 2, 3}, {4, 2, 2, 2}, 2, has_summand),
                                 x = waves(24, 1.7f), w = waves(32, 0.9f), b = waves(4, 2.3f),
                                 z = waves(8, 2.7f);
        for (std::size_t c = 0; c < 4; c++)
            for (std::size_t o = 0; o < 2; o++) {
                float sum = 0;
                for (std::size_t k = 0; k < 8; k++)
                    sum = std::fma(w[8 * c + k], x[(c / 2 * 2 + k / 4) * 6 + k % 4 / 2 * 3 + k % 2 + o], sum);
                const float before = has_summand ? z[2 * c + o] + sum : sum;
                EXPECT_EQ(y[2 * c + o], before + b[c]) << c << ", " << o << ", " << has_summand;
            }
    }
}

/// A root that a network computes from sizes is a constant where all sizes of that tensor are in the file.
TEST(OrtStructure, AFactorOfSizesIsComputedWhereOneOfThemIsOpen) {
    for (const bool is_open : {true, false}) {
        onnx_builder m(17);
        m.input<float>("x", {is_open ? -1 : 4, 6});
        m.constant<float>("w", {6, 3}, waves(18, 0.9f));
        m.scalar<std::int64_t>("last", 1);
        m.node("MatMul", {"x", "w"}, {"product"});
        m.node("Shape", {"x"}, {"sizes"});
        m.node("Gather", {"sizes", "last"}, {"columns"});
        m.set(m.node("Cast", {"columns"}, {"number"}), "to", std::int64_t{onnx::TensorProto::FLOAT});
        m.node("Sqrt", {"number"}, {"root"});
        m.node("Div", {"product", "root"}, {"y"});
        m.output("y");
        network_options options;
        options.shapes["x"] = {4, 6};
        EXPECT_EQ(sorted_operators(m, options), is_open ? (names{"Div", "MatMul"}) : names{"FusedMatMul"});
    }
}

} // namespace
} // namespace octet::tests
