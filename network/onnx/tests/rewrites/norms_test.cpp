// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// (x - mean) / sqrt(mean of squares + epsilon) * scale + shift,
/// with means over the axes $1 and the exponent $2.
const char *const norm = R"(
    (float[2,3,8] x) => (float[] y)
    <float exponent = {$2}, float epsilon = {0.00001}, float[8] scale, float[8] shift> {
        m = ReduceMean<axes=[$1]>(x)  d = Sub(x, m)
        p = Pow(d, exponent)  v = ReduceMean<axes=[$1]>(p)  a = Add(v, epsilon)  r = Sqrt(a)
        q = Div(d, r)  s = Mul(q, scale)  y = Add(s, shift)
    })";
const std::string parts = "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add";

TEST(LayerNormFusion, IsOverTheLastDimensionAlone) {
    EXPECT_EQ(rewritten(filled(norm, {"-1", "2"})), "L1.1 LayerNormFusionL1: LayerNormalization");
    EXPECT_EQ(rewritten(filled(norm, {"2", "2"}), 16), "L2.1 LayerNormFusionL2: LayerNormalization");
    EXPECT_EQ(rewritten(filled(norm, {"1", "2"})), parts);
    EXPECT_EQ(rewritten(filled(norm, {"1, 2", "2"})), parts);
}

TEST(LayerNormFusion, DoesNotLookAtTheExponent) {
    EXPECT_EQ(rewritten(filled(norm, {"-1", "3"})), "L1.1 LayerNormFusionL1: LayerNormalization");
}

/// x / sqrt(mean of squares + epsilon) * scale, with the exponent $1 and the quotient $2.
const char *const root_mean_square = R"(
    (float[2,3,8] x) => (float[] y) <float exponent = {$1}, float epsilon = {0.00001}, float[8] scale> {
        p = Pow(x, exponent)  v = ReduceMean<axes=[-1]>(p)  a = Add(v, epsilon)  r = Sqrt(a)  q = Div($2)
        y = Mul(q, scale)
    })";

TEST(LayerNormFusion, WithoutAMeanIsOfSquares) {
    EXPECT_EQ(rewritten(filled(root_mean_square, {"2", "x, r"})),
              "L2.1 SimplifiedLayerNormFusion: SimplifiedLayerNormalization");
    EXPECT_EQ(rewritten(filled(root_mean_square, {"3", "x, r"})), "Pow ReduceMean Add Sqrt Div Mul");
    EXPECT_EQ(rewritten(filled(root_mean_square, {"2", "r, x"})), "Pow ReduceMean Add Sqrt Div Mul");
}

/// The norm of a sum.
const char *const norm_of_sum = R"(
    (float[$1] a, float[$2] b) => (float[] y)
    <float[8] scale, float[8] shift> { z = Add(a, b)  y = LayerNormalization(z, scale, shift) })";

TEST(SkipLayerNormFusion, TakesSumsOfThreeDimensions) {
    EXPECT_EQ(rewritten(filled(norm_of_sum, {"2,3,8", "2,3,8"})),
              "L2.1 SkipLayerNormFusion: SkipLayerNormalization");
    EXPECT_EQ(rewritten(filled(norm_of_sum, {"6,8", "6,8"})), "Add LayerNormalization");
    EXPECT_EQ(rewritten(filled(norm_of_sum, {"2,3,8", "1,3,8"})), "Add LayerNormalization");
}

TEST(SkipLayerNormFusion, WantsOneNameForSizesThatAreOpen) {
    EXPECT_EQ(rewritten(filled(norm_of_sum, {"n,3,8", "n,3,8"})),
              "L2.1 SkipLayerNormFusion: SkipLayerNormalization");
    EXPECT_EQ(rewritten(filled(norm_of_sum, {"n,3,8", "m,3,8"})), "Add LayerNormalization");
}

/// A SkipLayerNormalization of a sum.
const char *const skip_of_sum = R"(
    (float[n,s,8] a, float[n,s,8] b) => (float[] y)
    <float[8] scale, float[8] shift, float[8] row, float[8,8] w> {
        p = MatMul(a, w)  t = Add($1)  z = com.microsoft.SkipLayerNormalization(t, b, scale, shift)
        y = Neg(z)
    })";

TEST(BiasSkipLayerNormFusion, TakesTheRowOfAProduct) {
    for (const char *const sum : {"p, row", "row, p"})
        EXPECT_EQ(rewritten(filled(skip_of_sum, {sum})),
                  "L2.1 BiasSkipLayerNormFusion: MatMul SkipLayerNormalization Neg");
    EXPECT_EQ(rewritten(filled(skip_of_sum, {"a, row"})), "Add SkipLayerNormalization Neg");
}

} // namespace
} // namespace octet::tests
