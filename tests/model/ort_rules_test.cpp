// Conditions of ONNX Runtime's rules, each as it holds and as it does not: what is left of small graphs is what version 1.30 left
// of them. tests/onnxruntime asks the runtime itself about thousands of others.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/onnx_builder.hpp"
#include "network/passes/ort/transformers.hpp"
#include "network/run/evaluate.hpp"
#include "octet/network.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

/// "Tanh Neg"
std::string operators_left(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    model::graph g = model::read_onnx(file.data(), file.size(), "net.onnx");
    model::transform_as_onnx_runtime(g, model::evaluate);
    std::string names;
    for (const model::node &n : g.nodes)
        names += (names.empty() ? "" : " ") + n.op;
    return names;
}

std::vector<float> wave(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<float>(i * 37 % 11) / 8.f - 0.5f;
    return values;
}

/// The outputs of a network whose inputs are `wave`.
std::vector<float> computed(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    network net(model::read_onnx(file.data(), file.size(), "net.onnx"));
    for (const int t : net.get_graph().inputs) {
        const memory x = net.get_memory(t);
        const std::vector<float> values = wave(x.get_desc().get_size() / sizeof(float));
        std::copy(values.begin(), values.end(), x.map_data<float>());
    }
    net.run();
    const memory y = net.get_memory(net.get_graph().outputs.at(0));
    return {y.map_data<float>(), y.map_data<float>() + y.get_desc().get_size() / sizeof(float)};
}

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

/// Where of Not, whose output something else reads or not.
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
    float sum = 0; // of the first window, which lies in the padding by five ninths
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

// ---- Codes

struct pair_of_codes {
    const char *name;
    float scale;
    std::uint8_t zero_point;
    bool is_list = false; ///< parameters of one dimension
};

void add_parameters(b &m, const pair_of_codes &p) {
    const b::dims dims = p.is_list ? b::dims{1} : b::dims{};
    m.constant<float>(std::string(p.name) + "_scale", dims, {p.scale});
    m.constant<std::uint8_t>(std::string(p.name) + "_zero", dims, {p.zero_point});
}
/// Codes of x, and what they stand for: the tensors NAME_codes and NAME.
void add_pair(b &m, const std::string &x, const pair_of_codes &p) {
    const std::string name = p.name;
    add_parameters(m, p);
    m.node("QuantizeLinear", {x, name + "_scale", name + "_zero"}, {name + "_codes"});
    m.node("DequantizeLinear", {name + "_codes", name + "_scale", name + "_zero"}, {name});
}
/// Dequantized constants with scales along one axis, whatever it is.
void add_weights(b &m, const b::dims &dims, const std::vector<float> &scales, std::int64_t axis) {
    const auto count = static_cast<std::size_t>(
        std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
    std::vector<std::int8_t> codes(count);
    for (std::size_t i = 0; i < count; i++)
        codes[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
    const auto n = static_cast<std::int64_t>(scales.size());
    m.constant<std::int8_t>("codes", dims, codes);
    m.constant<float>("w_scale", {n}, scales);
    m.constant<std::int8_t>("w_zero", {n}, std::vector<std::int8_t>(scales.size()));
    b::set(m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"}), "axis", axis);
}

b product(const char *op, std::int64_t axis) {
    b m(17);
    const bool is_conv = std::string(op) == "Conv";
    m.input<float>("in", is_conv ? b::dims{1, 4, 2, 2} : b::dims{3, 4});
    add_pair(m, "in", {"x", 0.02f, 128});
    add_weights(m, is_conv ? b::dims{4, 4, 1, 1} : b::dims{4, 4}, {0.01f, 0.02f, 0.03f, 0.04f}, axis);
    m.node(op, {"x", "w"}, {"p"});
    add_pair(m, "p", {"y", 0.05f, 128});
    m.output("y");
    return m;
}

TEST(OrtRules, ScalesOfWeightsAreThoseOfTheirColumnsWhateverTheAxis) {
    EXPECT_EQ(operators_left(product("MatMul", 0)), "QuantizeLinear QLinearMatMul DequantizeLinear");
    EXPECT_EQ(operators_left(product("Gemm", 0)), "QuantizeLinear QGemm DequantizeLinear");
    EXPECT_EQ(operators_left(product("Conv", 1)), "QuantizeLinear QLinearConv DequantizeLinear");
    EXPECT_EQ(computed(product("MatMul", 0)), computed(product("MatMul", 1)));
    EXPECT_EQ(computed(product("Gemm", -2)), computed(product("Gemm", 1)));
    EXPECT_EQ(computed(product("Conv", -1)), computed(product("Conv", 0)));
}

TEST(OrtRules, APairThatSharesZeroAloneWithTheNextHasAScaleOfZero) {
    b m(17);
    m.input<float>("in", {2, 5});
    add_pair(m, "in", {"x", 0.02f, 255});
    add_pair(m, "x", {"y", 0.05f, 0});
    m.output("y");
    EXPECT_EQ(operators_left(m), "QuantizeLinear DequantizeLinear");
    EXPECT_EQ(computed(m), std::vector<float>(10));
}

TEST(OrtRules, AProductTakesCodesWithAScaleOfZero) {
    b m(17);
    m.input<float>("in", {3, 4});
    add_pair(m, "in", {"x", 0.02f, 255});
    add_pair(m, "x", {"y", 0.05f, 0});
    add_weights(m, {4, 4}, {0.01f, 0.02f, 0.03f, 0.04f}, 1);
    m.node("MatMul", {"y", "w"}, {"z"});
    m.output("z");
    EXPECT_EQ(operators_left(m), "QuantizeLinear MatMulIntegerToFloat");
    EXPECT_EQ(computed(m), std::vector<float>(12));
}

TEST(OrtRules, PairsCancelAtTheEndForOneReader) {
    const auto left = [](int readers) {
        b m(17);
        m.input<std::uint8_t>("in_codes", {2, 8});
        add_parameters(m, {"x", 0.02f, 128});
        m.node("DequantizeLinear", {"in_codes", "x_scale", "x_zero"}, {"x"});
        m.node("QuantizeLinear", {"x", "x_scale", "x_zero"}, {"y"});
        for (int i = 0; i < readers; i++) {
            const std::string name = "z" + std::to_string(i);
            m.node("DequantizeLinear", {"y", "x_scale", "x_zero"}, {name});
            m.output(name);
        }
        return operators_left(m);
    };
    EXPECT_EQ(left(1), "DequantizeLinear");
    EXPECT_EQ(left(2), "DequantizeLinear QuantizeLinear DequantizeLinear DequantizeLinear");
}

/// A Relu before codes that cannot be negative, which say so or not.
TEST(OrtRules, ALimitStaysBeforeCodesThatNameNoZeroPoint) {
    for (const bool names_zero : {true, false}) {
        b m(17);
        m.input<float>("in", {2, 8});
        add_pair(m, "in", {"x", 0.02f, 128});
        m.node("Sigmoid", {"x"}, {"s"});
        m.node("Relu", {"s"}, {"r"});
        add_parameters(m, {"y", 0.02f, 0});
        m.node("QuantizeLinear", names_zero ? b::names{"r", "y_scale", "y_zero"} : b::names{"r", "y_scale"},
               {"y"});
        m.output("y");
        EXPECT_EQ(operators_left(m), names_zero
                                         ? "QuantizeLinear QLinearSigmoid"
                                         : "QuantizeLinear DequantizeLinear Sigmoid Relu QuantizeLinear");
    }
}

/// Scales of one dimension and of none give a bias that is rounded again with each run.
TEST(OrtRules, ABiasWhoseScaleGainsADimensionIsNotFolded) {
    for (const bool is_list : {false, true}) {
        b m(17);
        m.input<float>("in", {1, 3, 4});
        add_pair(m, "in", {"x", 0.02f, 100, is_list});
        m.constant<std::int8_t>("codes", {2, 3, 1}, {1, -2, 3, 40, -50, 60});
        m.scalar<float>("w_scale", 0.01f);
        m.scalar<std::int8_t>("w_zero", 0);
        m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
        m.constant<float>("bias", {2}, {0.3f, -0.4f});
        m.node("Conv", {"x", "w", "bias"}, {"c"});
        add_pair(m, "c", {"y", 0.02f, 100, is_list});
        m.output("y");
        EXPECT_EQ(operators_left(m).find("QLinearConv") == std::string::npos, is_list);
        EXPECT_EQ(operators_left(m).find("Round") != std::string::npos, is_list);
        EXPECT_EQ(computed(m).size(), 8u);
    }
}

/// Both scales are computed: the operator is one, and its parts are run.
TEST(OrtRules, AProductOfIntegersTakesScalesThatAreComputed) {
    std::vector<float> results[2];
    for (const bool is_computed : {false, true}) {
        b m(17);
        m.input<float>("x", {2, 4});
        if (is_computed)
            m.input<float>("s", {});
        else
            m.scalar<float>("s", wave(1)[0]);
        m.node("DynamicQuantizeLinear", {"x"}, {"codes", "scale", "zero"});
        m.constant<std::int8_t>("w", {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
        m.node("MatMulInteger", {"codes", "w", "zero"}, {"sums"});
        b::set(m.node("Cast", {"sums"}, {"real"}), "to", std::int64_t{1});
        m.node("Mul", {"scale", "s"}, {"factor"});
        m.node("Mul", {"real", "factor"}, {"y"});
        m.output("y");
        EXPECT_EQ(operators_left(m), "DynamicQuantizeMatMul");
        results[is_computed ? 1 : 0] = computed(m);
    }
    EXPECT_EQ(results[0], results[1]);
}

/// Weights that are computed have a layout of their own, in which no image is.
TEST(OrtRules, AConvolutionOnCodesTakesComputedWeights) {
    std::vector<float> results[2];
    for (const bool are_computed : {false, true}) {
        b m(17);
        m.input<float>("in", {1, 8, 4, 4});
        if (are_computed)
            m.input<float>("kernel", {5, 8, 3, 3});
        else
            m.constant<float>("kernel", {5, 8, 3, 3}, wave(360));
        add_pair(m, "in", {"x", 0.02f, 128});
        add_pair(m, "kernel", {"w", 0.01f, 120});
        m.node("Conv", {"x", "w"}, {"c"});
        add_pair(m, "c", {"y", 0.05f, 100});
        m.output("y");
        results[are_computed ? 1 : 0] = computed(m);
    }
    EXPECT_EQ(results[0], results[1]);
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

/// Equal constants of one element are one, of equal dimensions, and a scale that is read elsewhere forms no product of blocks.
TEST(OrtRules, AProductOfBlocksHasAScaleOfItsOwn) {
    const auto left = [](float factor, const b::dims &dims) {
        b m(17);
        m.input<float>("x", {3, 4});
        m.constant<std::int8_t>("codes", {4, 2}, {1, -2, 3, 4, -5, 6, 7, 8});
        m.scalar<float>("w_scale", 0.25f);
        m.scalar<std::int8_t>("w_zero", 0);
        m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
        m.node("MatMul", {"x", "w"}, {"product"});
        m.node("Tanh", {"product"}, {"t"});
        m.constant<float>("factor", dims, {factor});
        m.node("Mul", {"t", "factor"}, {"y"});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_EQ(left(0.5f, {}), "MatMulNBits Tanh Mul");
    EXPECT_EQ(left(0.25f, {1}), "MatMulNBits Tanh Mul");
    EXPECT_EQ(left(0.25f, {}), "DequantizeLinear MatMul Tanh Mul");
}

TEST(OrtRules, AConstantOfWhereGetsCodesThoughTheNetworkGivesTheChoice) {
    for (const bool is_given : {false, true}) {
        b m(17);
        m.input<float>("in", {2, 3});
        add_pair(m, "in", {"x", 0.02f, 100});
        m.node("Less", {"in", "x"}, {"condition"});
        m.scalar<float>("constant", 0.5f);
        m.node("Where", {"condition", "x", "constant"}, {"choice"});
        add_pair(m, "choice", {"y", 0.02f, 100});
        m.output("y");
        if (is_given)
            m.output("choice");
        const std::string left = operators_left(m);
        EXPECT_EQ(left.find("QLinearWhere") == std::string::npos, is_given) << left;
        EXPECT_EQ(std::count(left.begin(), left.end(), 'D'), is_given ? 4 : 2) << left; // DequantizeLinear
    }
}

std::string moved_before_codes(std::int64_t opset, bool is_pool, bool is_given) {
    b m(opset);
    m.input<float>("in", {1, 1, 2, 2});
    m.node("Tanh", {"in"}, {"t"});
    if (is_pool)
        b::set(m.node("MaxPool", {"t"}, {"moved"}), "kernel_shape", b::dims{2, 2});
    else
        m.node("Squeeze", {"t"}, {"moved"});
    add_pair(m, "moved", {"y", 0.02f, 100});
    m.output("y");
    if (is_given)
        m.output("t");
    return operators_left(m);
}

TEST(OrtRules, PairsGoUpToWhatNothingElseReads) {
    EXPECT_EQ(moved_before_codes(13, false, false), "Tanh QuantizeLinear Squeeze DequantizeLinear");
    EXPECT_EQ(moved_before_codes(13, false, true), "Tanh Squeeze QuantizeLinear DequantizeLinear");
    EXPECT_EQ(moved_before_codes(12, true, false), "Tanh QuantizeLinear MaxPool DequantizeLinear");
    EXPECT_EQ(moved_before_codes(11, true, false), "Tanh MaxPool QuantizeLinear DequantizeLinear");
}

/// A product of codes with a bias whose scale gains a dimension, and a Where that gets codes, or none.
b gemm_with_bias(bool has_choice) {
    b m(17);
    m.input<float>("in", {3, 4});
    add_pair(m, "in", {"x", 0.02f, 100, true});
    m.constant<std::int8_t>("codes", {4, 2}, {1, -2, 3, 40, -50, 60, 7, 8});
    m.scalar<float>("w_scale", 0.01f);
    m.scalar<std::int8_t>("w_zero", 0);
    m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
    m.constant<float>("bias", {2}, {0.3f, -0.4f});
    m.node("Gemm", {"x", "w", "bias"}, {"product"});
    add_pair(m, "product", {"y", 0.02f, 100});
    m.output("y");
    if (has_choice) {
        add_pair(m, "in", {"a", 0.05f, 7});
        m.node("Less", {"in", "a"}, {"condition"});
        m.scalar<float>("constant", 0.5f);
        m.node("Where", {"condition", "a", "constant"}, {"choice"});
        add_pair(m, "choice", {"z", 0.05f, 7});
        m.output("z");
    }
    return m;
}

TEST(OrtRules, ABiasIsFoldedOnceAnotherTransformerHasChangedTheGraph) {
    EXPECT_EQ(operators_left(gemm_with_bias(false)),
              "QuantizeLinear Mul Div Round Cast QGemm DequantizeLinear");
    const std::string left = operators_left(gemm_with_bias(true));
    EXPECT_EQ(left.find("Round"), std::string::npos) << left;
    EXPECT_NE(left.find("QGemm"), std::string::npos) << left;
    EXPECT_EQ(computed(gemm_with_bias(false)), computed(gemm_with_bias(true)));
}

/// s8 that became u8 has lost the dimensions of its zero point.
TEST(OrtRules, AGemmTakesNoListOfOneScaleFromSignedCodes) {
    const auto left = [](const char *op, bool is_list) {
        b m(17);
        m.input<float>("in", {3, 4});
        m.input<float>("kernel", {4, 2});
        add_pair(m, "in", {"x", 0.02f, 100});
        m.constant<float>("w_scale", is_list ? b::dims{1} : b::dims{}, {0.01f});
        m.constant<std::int8_t>("w_zero", is_list ? b::dims{1} : b::dims{}, {3});
        m.node("QuantizeLinear", {"kernel", "w_scale", "w_zero"}, {"codes"});
        m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
        m.node(op, {"x", "w"}, {"product"});
        add_pair(m, "product", {"y", 0.02f, 100});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_NE(left("Gemm", false).find("QGemm"), std::string::npos);
    EXPECT_EQ(left("Gemm", true).find("QGemm"), std::string::npos);
    EXPECT_NE(left("MatMul", true).find("QLinearMatMul"), std::string::npos);
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

} // namespace
} // namespace octet::tests
