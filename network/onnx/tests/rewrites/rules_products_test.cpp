// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

const std::string rules = "L1.1 Level1_RuleBasedTransformer: ";

TEST(GemmSumFusion, WantsASumOfTwoAndNoC) {
    const char *const sum = "(float[2,4] x, float[2,3] c) => (float[] y) <float[4,3] w, float[3] row> { p = "
                            "Gemm($1) y = Sum($2) }";
    EXPECT_EQ(rewritten(filled(sum, {"x, w", "p, c"})), rules + "Gemm");
    EXPECT_EQ(rewritten(filled(sum, {"x, w, row", "p, c"})), "Gemm Sum");
    EXPECT_EQ(rewritten(filled(sum, {"x, w", "p, c, row"})), "Gemm Sum");
}

TEST(GemmTransposeFusion, TakesAMatrixThatGemmsAloneRead) {
    const char *const before =
        "(float[4,2] x) => (float[] y) <float[4,3] w> { t = Transpose<perm=[1,0]>(x) p = Gemm(t, w) y = $1 }";
    EXPECT_EQ(rewritten(filled(before, {"Neg(p)"})), rules + "Gemm Neg");
    EXPECT_EQ(rewritten(filled(before, {"Concat<axis=1>(p, t)"})), "Transpose Gemm Concat");
}

TEST(GemmTransposeFusion, TakesAResultOfTwoInputs) {
    const char *const behind =
        "(float[2,4] x) => (float[] y) <float[4,3] w, float[3] row> { p = Gemm($1) y = Transpose(p) }";
    EXPECT_EQ(rewritten(filled(behind, {"x, w"})), rules + "Gemm");
    EXPECT_EQ(rewritten(filled(behind, {"x, w, row"})), "Gemm Transpose");
}

/// A convolution, and $1, which reads it.
const char *const convolution = R"(
    (float[1,2,3,3] x, float[4] computed) => (float[] y)
    <float[4,2,1,1] w, float[4,1,1] c, float[4] r, float number = {2}, float[4] v = {1, 2, 3, 4}> {
    p = Conv(x, w)  y = $1 })";

TEST(ConvAddFusion, WantsAConstantOfChannelsBehind) {
    EXPECT_EQ(rewritten(filled(convolution, {"Add(p, c)"})), rules + "Conv");
    EXPECT_EQ(rewritten(filled(convolution, {"Add(c, p)"})), "Conv Add");
    EXPECT_EQ(rewritten(filled(convolution, {"Add(p, number)"})), "Conv Add");
}

TEST(ConvMulFusion, TakesANumberToo) {
    EXPECT_EQ(rewritten(filled(convolution, {"Mul(p, c)"})), rules + "Conv");
    EXPECT_EQ(rewritten(filled(convolution, {"Mul(p, number)"})), rules + "Conv");
    EXPECT_EQ(rewritten(filled(convolution, {"Mul(c, p)"})), "Conv Mul");
}

TEST(ConvBnFusion, WantsConstantsOfEachChannel) {
    EXPECT_EQ(rewritten(filled(convolution, {"BatchNormalization(p, r, r, r, v)"})), rules + "Conv");
    EXPECT_EQ(rewritten(filled(convolution, {"BatchNormalization(p, computed, r, r, v)"})),
              "Conv BatchNormalization");
}

/// Padding $1 of the value $2, and $3, which reads it.
const char *const padded = R"(
    (float[1,2,4,4] x) => (float[] y)
    <int64[8] pads = {$1}, float value = {$2}, float[3,2,3,3] w> { p = Pad(x, pads, value)  y = $3 })";
const std::string around = "0,0,1,1,0,0,1,1";

TEST(PadFusion, WantsZerosAroundPixels) {
    EXPECT_EQ(rewritten(filled(padded, {around, "0", "Conv(p, w)"})), rules + "Conv");
    EXPECT_EQ(rewritten(filled(padded, {around, "1", "Conv(p, w)"})), "Pad Conv");
    EXPECT_EQ(rewritten(filled(padded, {"1,0,1,1,0,0,1,1", "0", "Conv(p, w)"})), "Pad Conv");
}

TEST(PadFusion, LetsAMaximumPadWithInfinity) {
    EXPECT_EQ(rewritten(filled(padded, {around, "0", "MaxPool<kernel_shape=[3,3]>(p)"})), rules + "MaxPool");
    EXPECT_EQ(rewritten(filled(padded, {around, "0", "AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(p)"})),
              "Pad AveragePool");
}

/// The norm of a product, or of $2 of it.
const char *const norm_of_product = R"(
    (float[$1] x) => (float[] y) <float[4,4] w, float[4] r, float[4] v = {1, 2, 3, 4}> {
        p = MatMul(x, w)  t = $2  y = BatchNormalization(t, r, r, r, v)
    })";

TEST(MatmulBnFusion, OverlooksWhatMovesElements) {
    EXPECT_EQ(rewritten(filled(norm_of_product, {"4,4", "Transpose(p)"})), rules + "Gemm Transpose");
    EXPECT_EQ(rewritten(filled(norm_of_product, {"4,4", "Neg(p)"})), "MatMul Neg BatchNormalization");
    EXPECT_EQ(rewritten(filled(norm_of_product, {"2,4,4", "Transpose<perm=[0,2,1]>(p)"})),
              "MatMul Transpose BatchNormalization");
}

} // namespace
} // namespace octet::tests
