// Conditions under which ONNX Runtime's operators on codes and their weights, biases and pairs come about:
// what is left of small graphs is what version 1.30 left of them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "network/onnx/tests/ort_left.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

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

TEST(OrtCodes, ScalesOfWeightsAreThoseOfTheirColumnsWhateverTheAxis) {
    EXPECT_EQ(operators_left(product("MatMul", 0)), "QuantizeLinear QLinearMatMul DequantizeLinear");
    EXPECT_EQ(operators_left(product("Gemm", 0)), "QuantizeLinear QGemm DequantizeLinear");
    EXPECT_EQ(operators_left(product("Conv", 1)), "QuantizeLinear QLinearConv DequantizeLinear");
    EXPECT_EQ(computed(product("MatMul", 0)), computed(product("MatMul", 1)));
    EXPECT_EQ(computed(product("Gemm", -2)), computed(product("Gemm", 1)));
    EXPECT_EQ(computed(product("Conv", -1)), computed(product("Conv", 0)));
}

TEST(OrtCodes, APairThatSharesZeroAloneWithTheNextHasAScaleOfZero) {
    b m(17);
    m.input<float>("in", {2, 5});
    add_pair(m, "in", {"x", 0.02f, 255});
    add_pair(m, "x", {"y", 0.05f, 0});
    m.output("y");
    EXPECT_EQ(operators_left(m), "QuantizeLinear DequantizeLinear");
    EXPECT_EQ(computed(m), std::vector<float>(10));
}

TEST(OrtCodes, AProductTakesCodesWithAScaleOfZero) {
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

TEST(OrtCodes, PairsCancelAtTheEndForOneReader) {
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
TEST(OrtCodes, ALimitStaysBeforeCodesThatNameNoZeroPoint) {
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

/// Conv of x, {1, 3, 4}, with constants in codes and a bias of floats: the tensors w, bias and c.
void add_convolution_with_bias(b &m) {
    m.constant<std::int8_t>("codes", {2, 3, 1}, {1, -2, 3, 40, -50, 60});
    m.scalar<float>("w_scale", 0.01f);
    m.scalar<std::int8_t>("w_zero", 0);
    m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
    m.constant<float>("bias", {2}, {0.3f, -0.4f});
    m.node("Conv", {"x", "w", "bias"}, {"c"});
}

/// Scales of one dimension and of none give a bias that is rounded again with each run.
TEST(OrtCodes, ABiasWhoseScaleGainsADimensionIsNotFolded) {
    for (const bool is_list : {false, true}) {
        b m(17);
        m.input<float>("in", {1, 3, 4});
        add_pair(m, "in", {"x", 0.02f, 100, is_list});
        add_convolution_with_bias(m);
        add_pair(m, "c", {"y", 0.02f, 100, is_list});
        m.output("y");
        EXPECT_EQ(operators_left(m).find("QLinearConv") == std::string::npos, is_list);
        EXPECT_EQ(operators_left(m).find("Round") != std::string::npos, is_list);
        EXPECT_EQ(computed(m).size(), 8u);
    }
}

/// Both scales are computed: the operator is one, and its parts are run.
TEST(OrtCodes, AProductOfIntegersTakesScalesThatAreComputed) {
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
TEST(OrtCodes, AConvolutionOnCodesTakesComputedWeights) {
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

/// Equal constants of one element are one, of equal dimensions, unless they are computed, and a scale that is
/// read elsewhere forms no product of blocks.
TEST(OrtCodes, AProductOfBlocksHasAScaleOfItsOwn) {
    const auto left = [](float factor, const b::dims &dims, bool is_computed = false) {
        b m(17);
        m.input<float>("x", {3, 4});
        m.constant<std::int8_t>("codes", {4, 2}, {1, -2, 3, 4, -5, 6, 7, 8});
        m.scalar<float>("w_scale", 0.25f);
        m.scalar<std::int8_t>("w_zero", 0);
        m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"});
        m.node("MatMul", {"x", "w"}, {"product"});
        m.node("Tanh", {"product"}, {"t"});
        if (is_computed) {
            m.constant<float>("negative", dims, {-factor});
            m.node("Neg", {"negative"}, {"factor"});
        } else
            m.constant<float>("factor", dims, {factor});
        m.node("Mul", {"t", "factor"}, {"y"});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_EQ(left(0.5f, {}), "MatMulNBits Tanh Mul");
    EXPECT_EQ(left(0.25f, {1}), "MatMulNBits Tanh Mul");
    EXPECT_EQ(left(0.25f, {}), "DequantizeLinear MatMul Tanh Mul");
    EXPECT_EQ(left(0.25f, {}, true), "MatMulNBits Tanh Mul");
}

TEST(OrtCodes, AConstantOfWhereGetsCodesThoughTheNetworkGivesTheChoice) {
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

TEST(OrtCodes, PairsGoUpToWhatNothingElseReads) {
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

TEST(OrtCodes, ABiasIsFoldedOnceAnotherTransformerHasChangedTheGraph) {
    EXPECT_EQ(operators_left(gemm_with_bias(false)),
              "QuantizeLinear Mul Div Round Cast QGemm DequantizeLinear");
    const std::string left = operators_left(gemm_with_bias(true));
    EXPECT_EQ(left.find("Round"), std::string::npos) << left;
    EXPECT_NE(left.find("QGemm"), std::string::npos) << left;
    EXPECT_EQ(computed(gemm_with_bias(false)), computed(gemm_with_bias(true)));
}

/// s8 that became u8 has lost the dimensions of its zero point.
TEST(OrtCodes, AGemmTakesNoListOfOneScaleFromSignedCodes) {
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

/// Among codes, what chooses pixels works on them, and what computes new ones on floats.
TEST(OrtCodes, AResizeThatComputesStaysOnFloats) {
    const auto left = [](const char *mode) {
        b m(13);
        m.input<float>("in", {1, 2, 3, 4});
        add_pair(m, "in", {"x", 0.02f, 100});
        m.constant<float>("scales", {4}, {1, 1, 2, 2});
        b::set(m.node("Resize", {"x", "", "scales"}, {"resized"}), "mode", mode);
        add_pair(m, "resized", {"y", 0.02f, 100});
        m.output("y");
        return operators_left(m);
    };
    EXPECT_EQ(left("nearest"), "QuantizeLinear Resize DequantizeLinear");
    for (const char *const mode : {"linear", "cubic"})
        EXPECT_EQ(left(mode), "QuantizeLinear DequantizeLinear Resize QuantizeLinear DequantizeLinear");
}

/// A transposed convolution whose weights have a scale for each output or input channel. It stays on floats.
TEST(OrtCodes, ABiasOfATransposedConvolutionTakesScalesOfItsOutputs) {
    for (const std::int64_t axis : {0, 1}) {
        b m(17);
        m.input<float>("in", {1, 4, 5});
        add_pair(m, "in", {"x", 0.02f, 100});
        add_weights(m, {4, 4, 3}, {0.01f, 0.02f, 0.03f, 0.04f}, axis);
        m.constant<float>("bias", {4}, {0.3f, -0.4f, 0.5f, 0.6f});
        m.node("ConvTranspose", {"x", "w", "bias"}, {"c"});
        add_pair(m, "c", {"y", 0.02f, 100});
        m.output("y");
        const std::string left = operators_left(m);
        EXPECT_EQ(std::count(left.begin(), left.end(), 'D'), axis == 1 ? 4 : 3) << left; // DequantizeLinear
    }
}

/// A bias that is folded changes the graph, so that another, whose scale gains a dimension, is folded in the next step.
TEST(OrtCodes, ABiasIsFoldedBesideAnother) {
    for (const bool has_other : {false, true}) {
        b m(17);
        m.input<float>("in", {1, 3, 4});
        add_pair(m, "in", {"x", 0.02f, 100, true});
        add_convolution_with_bias(m);
        add_pair(m, "c", {"y", 0.02f, 100});
        m.output("y");
        if (has_other) {
            add_pair(m, "in", {"x2", 0.02f, 100});
            m.node("Conv", {"x2", "w", "bias"}, {"c2"});
            add_pair(m, "c2", {"y2", 0.02f, 100});
            m.output("y2");
        }
        EXPECT_EQ(operators_left(m).find("Round") == std::string::npos, has_other);
    }
}

TEST(OrtCodes, ExtremesOfRowsAreTakenOfCodes) {
    for (const std::string op : {"ReduceMax", "ReduceMin", "ReduceMean"}) {
        b m(17);
        m.input<float>("in", {2, 5});
        add_pair(m, "in", {"x", 0.02f, 100});
        b::set(m.node(op, {"x"}, {"reduced"}), "axes", b::dims{1});
        add_pair(m, "reduced", {"y", 0.02f, 100});
        m.output("y");
        EXPECT_EQ(operators_left(m).find("QuantizeLinear " + op) != std::string::npos, op != "ReduceMean");
        EXPECT_EQ(computed(m).size(), 2u);
    }
}

/// Two pairs in one keep the dimensions of the first, and a limit goes only before parameters of none.
TEST(OrtCodes, ALimitStaysBeforePairsOfLists) {
    for (const bool is_list : {false, true}) {
        b m(17);
        m.input<float>("in", {2, 5});
        m.node("Tanh", {"in"}, {"t"});
        m.scalar<float>("low", -9.f);
        m.scalar<float>("high", 9.f);
        m.node("Clip", {"t", "low", "high"}, {"limited"});
        add_pair(m, "limited", {"x", 0.02f, 100, is_list});
        add_pair(m, "x", {"y", 0.03f, 120, is_list});
        m.output("y");
        EXPECT_EQ(operators_left(m).find("Clip") != std::string::npos, is_list);
    }
}

/// A Gemm on codes whose scale is 0, and which gives floats.
TEST(OrtCodes, AGemmOfCodesWithAScaleOfZeroGivesZero) {
    b m(17);
    m.input<float>("in", {3, 4});
    add_pair(m, "in", {"x", 0.02f, 255});
    add_pair(m, "x", {"y", 0.05f, 0});
    add_weights(m, {4, 4}, {0.01f, 0.02f, 0.03f, 0.04f}, 1);
    m.node("Gemm", {"y", "w"}, {"z"});
    m.output("z");
    EXPECT_EQ(operators_left(m), "QuantizeLinear QGemm");
    EXPECT_EQ(computed(m), std::vector<float>(12));
}

/// Dequantized constants, what moves their elements, and a reader.
b moved_constants(const char *op) {
    b m(17);
    m.constant<std::int8_t>("codes", {4, 6}, std::vector<std::int8_t>(24, 3));
    m.scalar<float>("scale", 0.01f);
    m.scalar<std::int8_t>("zero", 1);
    m.node("DequantizeLinear", {"codes", "scale", "zero"}, {"w"});
    m.constant<std::int64_t>("sizes", {2}, {6, 4});
    if (std::string(op) == "Reshape")
        m.node(op, {"w", "sizes"}, {"moved"});
    else
        b::set(m.node(op, {"w"}, {"moved"}), "perm", b::dims{1, 0});
    m.input<float>("in", {3, 6});
    m.node("MatMul", {"in", "moved"}, {"y"});
    m.output("y");
    return m;
}

TEST(OrtCodes, NoPairFollowsConstantsPastAReshape) {
    EXPECT_EQ(operators_left(moved_constants("Reshape")), "DequantizeLinear Reshape MatMul");
    EXPECT_EQ(operators_left(moved_constants("Transpose")), "MatMulNBits"); // another transformer moves it up
}

/// A pair behind what moves the elements of s8 codes that have no zero point has none, either, and so writes u8.
TEST(OrtCodes, APairWithoutAZeroPointLosesWhatIsNegative) {
    b m(17);
    m.input<float>("in", {2, 6});
    m.scalar<float>("scale", 0.01f);
    m.scalar<std::int8_t>("zero", 0);
    m.node("QuantizeLinear", {"in", "scale", "zero"}, {"codes"});
    m.node("DequantizeLinear", {"codes", "scale"}, {"x"});
    m.constant<std::int64_t>("sizes", {2}, {4, 3});
    m.node("Reshape", {"x", "sizes"}, {"moved"});
    m.node("Neg", {"moved"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators_left(m),
              "QuantizeLinear DequantizeLinear Reshape QuantizeLinear DequantizeLinear Neg");
    const std::vector<float> y = computed(m);
    EXPECT_LT(*std::min_element(y.begin(), y.end()), -0.1f);
    EXPECT_EQ(*std::max_element(y.begin(), y.end()), 0.f);
}

TEST(OrtCodes, AMaxPoolOfAnEarlyOperatorSetStaysOnFloats) {
    for (const std::int64_t opset : {11, 12}) {
        b m(opset);
        m.input<float>("in", {1, 2, 4, 4});
        add_pair(m, "in", {"x", 0.02f, 128});
        onnx_builder::set(m.node("MaxPool", {"x"}, {"p"}), "kernel_shape", b::dims{2, 2});
        add_pair(m, "p", {"y", 0.02f, 128});
        m.output("y");
        EXPECT_EQ(operators_left(m),
                  opset == 11 ? "QuantizeLinear DequantizeLinear MaxPool QuantizeLinear DequantizeLinear"
                              : "QuantizeLinear MaxPool DequantizeLinear");
    }
}

TEST(OrtCodes, AProductOfBlocksTakesABiasThatIsDequantized) {
    b m(17);
    m.input<float>("in", {3, 4});
    m.constant<std::int8_t>("codes", {4, 2}, {1, -2, 3, 4, -5, 6, 7, 8});
    m.scalar<float>("scale", 0.01f);
    m.node("DequantizeLinear", {"codes", "scale"}, {"w"});
    m.constant<std::uint8_t>("bias_codes", {2}, {30, 200});
    add_parameters(m, {"bias", 0.02f, 128});
    m.node("DequantizeLinear", {"bias_codes", "bias_scale", "bias_zero"}, {"bias"});
    m.node("Gemm", {"in", "w", "bias"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators_left(m), "DequantizeLinear MatMulNBits");
}

} // namespace
} // namespace octet::tests
