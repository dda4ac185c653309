// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Gelu of x in parts: x / sqrt(2) first.
const char *const gelu = R"(
    (float[2,8] in) => (float[] y)
    <float root = {1.41421356}, float one = {1}, float half = {0.5}, float[8] row> {
        x = $1  q = Div(x, root)  e = Erf(q)  s = Add(e, one)  p = Mul(x, s)  y = Mul(p, half)
    })";

TEST(GeluFusion, IsAtLevel1OnceTheOperatorIsStandard) {
    EXPECT_EQ(rewritten(filled(gelu, {"Neg(in)"}), 19), "L2.1 GeluFusionL2: Neg Gelu");
    EXPECT_EQ(rewritten(filled(gelu, {"Neg(in)"}), 20), "L1.1 GeluFusionL1: Neg Gelu");
}

TEST(GeluFusion, TakesAProductThatItIsOfForThatByOneHalf) {
    EXPECT_EQ(rewritten(filled(gelu, {"Mul(in, root)"})), "Mul Div Erf Add Mul Mul");
}

TEST(BiasGeluFusion, TakesARowOfTheLastDimension) {
    EXPECT_EQ(rewritten(filled(gelu, {"Add(in, row)"})), "L2.1 GeluFusionL2, L2.1 BiasGeluFusion: BiasGelu");
    EXPECT_EQ(rewritten("(float[2,8] in) => (float[] y) <float[8] row> { x = Add(in, row) y = "
                        "com.microsoft.FastGelu(x) }"),
              "L2.1 BiasGeluFusion: FastGelu");
}

TEST(BiasGeluFusion, LooksAtTheFirstOperandOfOneDimensionAlone) {
    const char *const sum =
        "(float[$1] a, float[$2] b) => (float[] y) { x = Add(a, b) y = com.microsoft.Gelu(x) }";
    EXPECT_EQ(rewritten(filled(sum, {"8", "8"})), "L2.1 BiasGeluFusion: BiasGelu");
    EXPECT_EQ(rewritten(filled(sum, {"1", "8"})), "Add Gelu");
    EXPECT_EQ(rewritten(filled(sum, {"8", "1"})), "Add Gelu");
}

/// x * 0.5 * (1 + tanh(u)) for the parts of u, $1.
const char *const fast_gelu = R"(
    (float[2,8] x) => (float[] y)
    <float cubic = {0.044715}, float root = {0.7978846}, float one = {1}, float half = {0.5},
     float three = {3}> {
        $1
        t = Tanh(u)  s = Add(t, one)  h = Mul(x, half)  $2
    })";
const std::string by_powers = "p = Pow(x, three)  c = Mul(p, cubic)  a = Add(x, c)  u = Mul(a, root)",
                  by_products =
                      "i = Mul(x, cubic)  q = Mul(i, x)  a = Add(q, one)  l = Mul(x, root)  u = Mul(a, l)";

TEST(FastGeluFusion, FindsBothFormsOfItsArgument) {
    for (const std::string &u : {by_powers, by_products})
        EXPECT_EQ(rewritten(filled(fast_gelu, {u, "z = Mul(s, h)  y = Neg(z)"})),
                  "L2.1 FastGeluFusion: FastGelu Neg");
}

TEST(FastGeluFusion, GivesNoOutputOfTheNetwork) {
    EXPECT_EQ(rewritten(filled(fast_gelu, {by_powers, "y = Mul(s, h)"})), "Pow Mul Add Mul Tanh Add Mul Mul");
}

TEST(QuickGeluFusion, TakesAFactorOfOneDimensionAtMost) {
    const char *const quick_gelu = "(float[2,8] x) => (float[] y) <float[$1] alpha = {1.702}> { s = Mul(x, "
                                   "alpha) g = Sigmoid(s) y = Mul(x, g) }";
    EXPECT_EQ(rewritten(filled(quick_gelu, {"1"})), "L2.1 QuickGeluFusion: QuickGelu");
    EXPECT_EQ(rewritten(filled(quick_gelu, {"1,1"})), "Mul Sigmoid Mul");
}

TEST(QuickGeluFusion, NeedsNoFactor) {
    EXPECT_EQ(rewritten("(float[2,8] x) => (float[] y) { g = Sigmoid(x) y = Mul(x, g) }"),
              "L2.1 QuickGeluFusion: QuickGelu");
}

} // namespace
} // namespace octet::tests
