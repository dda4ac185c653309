// Conditions of ONNX Runtime's rules, norms and sums, each as it holds and as it does not: what is left of
// small graphs is what version 1.30 left of them. tests/onnxruntime asks the runtime itself about thousands
// of others; codes are in ort_codes_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "network/onnx/tests/ort_left.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

std::string sliced(std::int64_t start, std::int64_t end, std::int64_t step = 1) {
    b m(17);
    m.input<float>("x", {4, 8});
    m.node("Tanh", {"x"}, {"t"});
    m.constant<std::int64_t>("start", {1}, {start});
    m.constant<std::int64_t>("end", {1}, {end});
    m.constant<std::int64_t>("axis", {1}, {1});
    m.constant<std::int64_t>("step", {1}, {step});
    m.node("Slice", {"t", "start", "end", "axis", "step"}, {"s"});
    m.node("Neg", {"s"}, {"y"});
    m.output("y");
    return operators_left(m);
}

TEST(OrtRules, ASliceGoesThatEndsAtTheLargestNumber) {
    const std::int64_t end = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(sliced(0, end), "Tanh Neg");
    EXPECT_EQ(sliced(0, 8), "Tanh Slice Neg"); // all, too
    EXPECT_EQ(sliced(-8, end), "Tanh Slice Neg");
}

TEST(OrtRules, AnExpandGoesToKnownDimensionsOrOnes) {
    const auto expanded = [](const b::dims &dims, const std::vector<std::int64_t> &shape) {
        b m(17);
        m.input<float>("x", dims);
        m.node("Tanh", {"x"}, {"t"});
        m.constant<std::int64_t>("shape", {static_cast<std::int64_t>(shape.size())}, shape);
        m.node("Expand", {"t", "shape"}, {"e"});
        m.node("Neg", {"e"}, {"y"});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_EQ(expanded({4, 8}, {4, 8}), "Tanh Neg");
    EXPECT_EQ(expanded({-1, 8}, {1}), "Tanh Neg");
    EXPECT_EQ(expanded({4, 8}, {1, 4, 8}), "Tanh Expand Neg");
    EXPECT_EQ(expanded({1, 8}, {4, 1}), "Tanh Expand Neg");
}

/// Returns the operators left of Where(Not(…), …), if something else reads Not's output or not.
std::string chosen(bool has_other_reader) {
    b m(17);
    m.input<float>("x", {4});
    m.scalar<float>("limit", 0.2f);
    m.node("Less", {"x", "limit"}, {"is_less"});
    m.node("Not", {"is_less"}, {"not"});
    m.node("Tanh", {"x"}, {"t"});
    m.node("Where", {"not", "x", "t"}, {"y"});
    m.output("y");
    if (has_other_reader) {
        b::set(m.node("Cast", {"not"}, {"z"}), "to", std::int64_t{1});
        m.output("z");
    }
    return operators_left(m);
}

TEST(OrtRules, WhereOfNotChoosesTheOtherWayRound) {
    EXPECT_EQ(chosen(false), "Less Tanh Where");
    EXPECT_EQ(chosen(true), "Less Not Tanh Where Cast");
}

/// Zeros around an image, and a window that has padding of its own.
b padded(const std::string &op, float value, std::int64_t own = 0, const char *automatic = nullptr,
         std::int64_t counts = 0, const char *before = "Tanh") {
    b m(17);
    m.input<float>("x", {1, 2, 4, 4});
    m.node(before, {"x"}, {"t"});
    m.constant<std::int64_t>("pads", {8}, {0, 0, 1, 1, 0, 0, 1, 1});
    m.scalar<float>("value", value);
    m.node("Pad", {"t", "pads", "value"}, {"p"});
    auto &n = m.node(op, op == "Conv" ? b::names{"p", "w"} : b::names{"p"}, {"y"});
    if (op == "Conv")
        m.constant<float>("w", {3, 2, 3, 3}, wave(54));
    b::set(n, "kernel_shape", b::dims{3, 3});
    if (automatic)
        b::set(n, "auto_pad", automatic);
    else
        b::set(n, "pads", b::dims{own, own, own, own});
    if (counts != 0)
        b::set(n, "count_include_pad", counts);
    m.output("y");
    return m;
}

TEST(OrtRules, WindowsPadImagesThemselves) {
    EXPECT_EQ(operators_left(padded("Conv", 0.f)), "Tanh Conv");
    EXPECT_EQ(operators_left(padded("MaxPool", 0.f)), "Tanh MaxPool");
    EXPECT_EQ(operators_left(padded("AveragePool", 0.f)), "Tanh AveragePool");
    EXPECT_EQ(operators_left(padded("AveragePool", 0.f, 1, nullptr, 1)), "Tanh AveragePool");
    for (const b &kept : {padded("Conv", -0.f), padded("Conv", 1.f), padded("Conv", 0.f, 0, "VALID")})
        EXPECT_EQ(operators_left(kept), "Tanh Pad Conv");
    EXPECT_EQ(operators_left(padded("AveragePool", 0.f, 1)),
              "Tanh Pad AveragePool"); // does not count its own
}

TEST(OrtRules, AMaximumThatPadsDoesNotSeeTheZeros) {
    const std::vector<float> y = computed(padded("MaxPool", 0.f, 0, nullptr, 0, "LogSoftmax")),
                             z = computed(padded("AveragePool", 0.f));
    EXPECT_LT(*std::max_element(y.begin(), y.end()), 0.f); // as all that is not padding
    float sum = 0; // the first window lies in the padding by five ninths
    for (const std::size_t i : {0u, 1u, 4u, 5u})
        sum += std::tanh(wave(6)[i]);
    EXPECT_NEAR(z[0], sum / 9, 1e-6f);
}

/// x / sqrt(mean of squares + epsilon) * scale
std::string rms(bool is_computed, std::vector<float> &result) {
    b m(17);
    m.input<float>("x", {2, 3, 8});
    m.scalar<float>("two", 2.f);
    m.node("Pow", {"x", "two"}, {"p"});
    auto &mean = m.node("ReduceMean", {"p"}, {"m"});
    b::set(mean, "axes", b::dims{-1});
    if (is_computed)
        m.input<float>("epsilon", {});
    else
        m.scalar<float>("epsilon", 1e-5f);
    m.node("Add", {"m", "epsilon"}, {"a"});
    m.node("Sqrt", {"a"}, {"r"});
    m.node("Div", {"x", "r"}, {"d"});
    m.constant<float>("scale", {8}, wave(8));
    m.node("Mul", {"d", "scale"}, {"y"});
    m.output("y");
    result = computed(m);
    return operators_left(m);
}

TEST(OrtRules, AnEpsilonThatIsComputedIsNotLookedAt) {
    std::vector<float> constant, other;
    EXPECT_EQ(rms(false, constant), "SimplifiedLayerNormalization");
    EXPECT_EQ(rms(true, other), "SimplifiedLayerNormalization");
    EXPECT_EQ(constant, other);
}

/// x / sqrt(mean of squares + epsilon) * scale, of x in dimensions whose last is 4.
b norm_of_rows(const b::dims &dims, std::int64_t axis, const b::dims &epsilon) {
    b m(13);
    m.input<float>("x", dims);
    m.scalar<float>("two", 2);
    m.node("Pow", {"x", "two"}, {"squares"});
    b::set(m.node("ReduceMean", {"squares"}, {"mean"}), "axes", b::dims{axis});
    m.constant<float>("epsilon", epsilon, {1e-6f});
    m.node("Add", {"mean", "epsilon"}, {"sum"});
    m.node("Sqrt", {"sum"}, {"root"});
    m.node("Div", {"x", "root"}, {"quotient"});
    m.constant<float>("scale", {4}, {1, 2, 3, 4});
    m.node("Mul", {"quotient", "scale"}, {"norm"});
    m.node("Neg", {"norm"}, {"y"});
    m.output("y");
    return m;
}
memory::dims shape_of_output(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    const network net(model::read_onnx(file.data(), file.size(), "net.onnx"));
    return net.get_memory(net.get_graph().outputs.at(0)).get_desc().get_dims();
}

TEST(OrtRules, ANormNamesItsOnlyAxisFromTheEnd) {
    EXPECT_EQ(operators_left(norm_of_rows({4}, -1, {})), "SimplifiedLayerNormalization Neg");
    EXPECT_EQ(operators_left(norm_of_rows({4}, 0, {})), "Pow ReduceMean Add Sqrt Div Mul Neg");
    EXPECT_EQ(operators_left(norm_of_rows({3, 4}, 1, {})), "SimplifiedLayerNormalization Neg");
}

/// An epsilon or a row of more dimensions gives the parts more dimensions, but not the operator that takes their place.
TEST(OrtRules, AnOperatorHasTheShapeOfItsSource) {
    EXPECT_EQ(shape_of_output(norm_of_rows({3, 4}, -1, {1, 1, 1})), (memory::dims{3, 4}));
    EXPECT_EQ(computed(norm_of_rows({3, 4}, -1, {1, 1, 1})), computed(norm_of_rows({3, 4}, -1, {})));
    b m(17);
    m.input<float>("x", {2, 4});
    m.node("DynamicQuantizeLinear", {"x"}, {"codes", "scale", "zero"});
    m.constant<std::int8_t>("w", {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    m.node("MatMulInteger", {"codes", "w", "zero"}, {"sums"});
    b::set(m.node("Cast", {"sums"}, {"real"}), "to", std::int64_t{1});
    m.scalar<float>("s", 0.5f);
    m.node("Mul", {"scale", "s"}, {"factor"});
    m.node("Mul", {"real", "factor"}, {"product"});
    m.constant<float>("row", {1, 1, 3}, {1, 2, 3});
    m.node("Add", {"product", "row"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators_left(m), "DynamicQuantizeMatMul");
    EXPECT_EQ(shape_of_output(m), (memory::dims{2, 3}));
}

/// Maxima of 16 channels are in blocks, in which a mean of the image is summed in order.
TEST(OrtRules, AMeanBehindMaximaIsSummedInOrder) {
    b m(13);
    m.input<float>("x", {1, 16, 5, 6});
    m.scalar<float>("tenth", 0.1f);
    m.node("Mul", {"x", "tenth"}, {"t"});
    b::set(m.node("MaxPool", {"t"}, {"maxima"}), "kernel_shape", b::dims{1, 1});
    m.node("GlobalAveragePool", {"maxima"}, {"y"});
    m.output("y");
    const std::vector<float> x = wave(480), means = computed(m);
    for (std::size_t c = 0; c < 16; c++) {
        float sum = 0;
        for (std::size_t i = 0; i < 30; i++)
            sum += x[c * 30 + i] * 0.1f;
        EXPECT_EQ(means[c], sum / 30.f) << c;
    }
}

/// 1 / a of more dimensions than a, times b: the quotient that takes their place has those of a and b.
TEST(OrtRules, AQuotientHasTheShapeOfItsOperands) {
    b m(17);
    m.input<float>("x", {2, 4});
    m.node("Exp", {"x"}, {"a"});
    m.constant<float>("one", {1, 1, 1}, {1.f});
    m.node("Div", {"one", "a"}, {"d"});
    m.node("Mul", {"d", "x"}, {"p"});
    m.constant<std::int64_t>("axis", {1}, {0});
    m.node("ReduceSum", {"p", "axis"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators_left(m), "Exp Div ReduceSum");
    EXPECT_EQ(shape_of_output(m), (memory::dims{1, 4}));
}

/// Sizes of what a vector or a norm gives, of an input of one open size: where they are known, MatMul and Add
/// become one.
TEST(OrtRules, KnownSizesComeOutOfVectors) {
    const auto left = [](const std::string &op) {
        b m(17);
        const bool is_vector = op == "MatMul";
        m.input<float>("x", is_vector ? b::dims{-1} : b::dims{2, -1, 4});
        if (is_vector) {
            m.constant<float>("first", {1, 4}, wave(4));
            m.node("MatMul", {"x", "first"}, {"t"});
        } else {
            m.constant<float>("scale", {4}, wave(4));
            m.node("LayerNormalization", {"x", "scale"}, {"t"});
        }
        m.constant<float>("w", {4, 5}, wave(20));
        m.node("MatMul", {"t", "w"}, {"product"});
        m.constant<float>("row", {5}, wave(5));
        m.node("Add", {"product", "row"}, {"y"});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_EQ(left("MatMul"), "MatMul Reshape Gemm Reshape");
    EXPECT_EQ(left("LayerNormalization"), "LayerNormalization MatMul Add");
}

} // namespace
} // namespace octet::tests
