// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// $1 of x {2, 4}, given as $2, for the outputs $3.
const char *const graph = R"(
    ($2[2,4] x) => ($3)
    <float s = {0.02}, uint8 z = {128}, uint8 z0 = {0}, int8 sz = {3}, float half = {0.5},
     float[1] list = {0.5}, float low = {-9}, float high = {9}, float inner = {1}> { $1 })";
std::string from_floats(const std::string &nodes, const std::string &outputs = "float[] y") {
    return filled(graph, {nodes, "float", outputs});
}
/// Codes of x and what they stand for, y.
std::string pair(const std::string &x, const std::string &y, const std::string &parameters = "s, z") {
    return filled(" $2q = QuantizeLinear($1, $3) $2 = DequantizeLinear($2q, $3) ", {x, y, parameters});
}

TEST(EnsureUniqueDqForNodeUnit, MakesOneForEachReader) {
    EXPECT_EQ(rewritten(from_floats(pair("x", "r") + "y = Neg(r)")), "QuantizeLinear DequantizeLinear Neg");
    EXPECT_EQ(rewritten(from_floats(pair("x", "r") + "a = Neg(r) b = Abs(r) y = Add(a, b)")),
              "L0.0 EnsureUniqueDQForNodeUnit: QuantizeLinear DequantizeLinear DequantizeLinear Neg Abs Add");
}

TEST(QdqPropagation, GoesUpPastWhatNothingElseReads) {
    const std::string moved = "t = Tanh(x) m = Transpose(t) " + pair("m", "y");
    EXPECT_EQ(rewritten(from_floats(moved)),
              "L1.1 QDQPropagationTransformer, L2.1 QDQSelectorActionTransformer: Tanh QuantizeLinear "
              "Transpose DequantizeLinear");
    EXPECT_EQ(rewritten(from_floats(moved + "u = Neg(t)", "float[] y, float[] u")),
              "Tanh Transpose QuantizeLinear DequantizeLinear Neg");
}

TEST(WhereDummyDq, WantsANumberWithoutDimensions) {
    const auto choice = [](const std::string &constant) {
        return from_floats("c = Less(x, half) " + pair("x", "r") + "w = Where(c, r, " + constant + ") " +
                           pair("w", "y"));
    };
    EXPECT_EQ(rewritten(choice("half")), "L1.1 WhereDummyDq, L2.1 QDQSelectorActionTransformer: Less "
                                         "QuantizeLinear QLinearWhere DequantizeLinear");
    EXPECT_EQ(rewritten(choice("list")),
              "Less QuantizeLinear DequantizeLinear Where QuantizeLinear DequantizeLinear");
}

TEST(QdqS8ToU8, IsNotWhereTheSessionAllowsS8) {
    const std::string codes = from_floats(pair("x", "r", "s, sz") + "y = Neg(r)");
    EXPECT_EQ(rewritten(codes), "L2.1 QDQS8ToU8Transformer: QuantizeLinear DequantizeLinear Neg");
    EXPECT_EQ(rewritten(codes, usual_opset, true), "QuantizeLinear DequantizeLinear Neg");
}

TEST(ClipQuantizelinear, WantsLimitsThatCodesDoNotReach) {
    const std::string of_input = "Clip QuantizeLinear DequantizeLinear";
    EXPECT_EQ(rewritten(from_floats("t = Tanh(x) c = Clip(t, low, high) " + pair("c", "y"))),
              "L2.1 Level2_RuleBasedTransformer: Tanh QuantizeLinear DequantizeLinear");
    EXPECT_EQ(rewritten(from_floats("t = Tanh(x) c = Clip(t, low, inner) " + pair("c", "y"))),
              "Tanh " + of_input);
    EXPECT_EQ(rewritten(from_floats("c = Clip(x, low, high) " + pair("c", "y"))), of_input);
}

TEST(ReluQuantizelinear, WantsTheLowestCodeAsZero) {
    EXPECT_EQ(rewritten(from_floats("t = Tanh(x) c = Relu(t) " + pair("c", "y", "s, z0"))),
              "L2.1 Level2_RuleBasedTransformer: Tanh QuantizeLinear DequantizeLinear");
    EXPECT_EQ(rewritten(from_floats("t = Tanh(x) c = Relu(t) " + pair("c", "y"))),
              "Tanh Relu QuantizeLinear DequantizeLinear");
}

TEST(QdqFinalCleanup, WantsOneReader) {
    const std::string requantized = "r = DequantizeLinear(x, s, z) y = QuantizeLinear(r, s, z) ";
    EXPECT_EQ(rewritten(filled(graph, {requantized, "uint8", "uint8[] y"})),
              "L2.1 QDQFinalCleanupTransformer: Identity");
    EXPECT_EQ(rewritten(filled(
                  graph, {requantized + "w = DequantizeLinear(y, s, z)", "uint8", "uint8[] y, float[] w"})),
              "DequantizeLinear QuantizeLinear DequantizeLinear");
}

} // namespace
} // namespace octet::tests
