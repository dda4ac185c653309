// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(MatmulAddFusion, TakesRowsColumnsAndMatrices) {
    const char *const of_matrix =
        "(float[2,4] x) => (float[] y) <float[4,3] w, float[$1] c> { p = MatMul(x, w) y = Add(p, c) }";
    for (const char *const c : {"3", "1,3", "2,1", "2,3"})
        EXPECT_EQ(rewritten(filled(of_matrix, {c})), "L1.1 MatMulAddFusion: Gemm") << c;
    EXPECT_EQ(rewritten(filled(of_matrix, {"1"})), "MatMul Add");
}

TEST(MatmulAddFusion, MakesAMatrixOfMoreDimensionsForARow) {
    const char *const of_more =
        "(float[$1,5,4] x) => (float[] y) <float[4,3] w, float[$2] c> { p = MatMul(x, w) y = Add(p, c) }";
    EXPECT_EQ(rewritten(filled(of_more, {"2", "3"})), "L1.1 MatMulAddFusion: Reshape Gemm Reshape");
    EXPECT_EQ(rewritten(filled(of_more, {"2", "1,3"})), "MatMul Add");
    EXPECT_EQ(rewritten(filled(of_more, {"n", "3"})), "MatMul Add");
}

/// The product of integers x and w, and what follows; $2 reads a zero point.
const char *const integer_product = R"(
    (float[2,4] x) => (float[] y) <int8[4,3] w, float s = {0.02}, float[3] row, float[1] one> {
        c, xs, xz = DynamicQuantizeLinear(x)  p = MatMulInteger(c, w, xz)  r = Cast<to=1>(p)
        $1
    })";

TEST(MatmulIntegerToFloat, TakesARowOfConstants) {
    const std::string sum =
        "f = Mul(xs, s)  m = Mul(r, f)  a = Add(m, $1)  z = Cast<to=1>(xz)  y = Add(a, z)";
    EXPECT_EQ(rewritten(filled(integer_product, {filled(sum, {"row"})})),
              "L2.1 MatMulIntegerToFloatFusion: DynamicQuantizeLinear MatMulIntegerToFloat Cast Add");
    EXPECT_EQ(rewritten(filled(integer_product, {filled(sum, {"one"})})),
              "L2.1 MatMulIntegerToFloatFusion: DynamicQuantizeLinear MatMulIntegerToFloat Add Cast Add");
}

TEST(MatmulIntegerToFloat, WantsTheProductOfItsScales) {
    EXPECT_EQ(rewritten(filled(integer_product, {"m = Mul(r, xs)  y = Mul(m, s)"})),
              "DynamicQuantizeLinear MatMulInteger Cast Mul Mul");
}

TEST(DynamicQuantizeMatmulFusion, IsAloneInReadingTheCodes) {
    EXPECT_EQ(rewritten(filled(integer_product, {"f = Mul(xs, s)  y = Mul(r, f)"})),
              "L2.1 MatMulIntegerToFloatFusion, L2.1 DynamicQuantizeMatMulFusion: DynamicQuantizeMatMul");
    EXPECT_EQ(rewritten(filled(integer_product,
                               {"f = Mul(xs, s)  m = Mul(r, f)  z = Cast<to=1>(xz)  y = Add(m, z)"})),
              "L2.1 MatMulIntegerToFloatFusion: DynamicQuantizeLinear MatMulIntegerToFloat Cast Add");
}

const char *const transposed =
    "(float[$1] a, float[$3] b) => (float[] y) { t = Transpose<perm=[$2]>(a) y = MatMul(t, b) }";

TEST(MatmulTransposeFusion, WantsTheLastDimensionAmongTheLastTwo) {
    EXPECT_EQ(rewritten(filled(transposed, {"2,3,4", "0,2,1", "2,3,5"})),
              "L2.1 MatmulTransposeFusion: FusedMatMul");
    EXPECT_EQ(rewritten(filled(transposed, {"3,2,4", "1,0,2", "2,4,5"})),
              "L2.1 MatmulTransposeFusion: FusedMatMul");
    EXPECT_EQ(rewritten(filled(transposed, {"3,4,2", "2,1,0", "2,3,5"})), "Transpose MatMul");
}

TEST(MatmulTransposeFusion, MovesABatchBetweenOperandsOfAsManyDimensionsAlone) {
    EXPECT_EQ(rewritten(filled(transposed, {"3,2,4", "1,0,2", "4,5"})), "Transpose MatMul");
}

const char *const scaled =
    "(float[$1] a, float[$2] b) => (float[] y) <float s = {0.25}, float[1,1,1] cube = {0.25}> { $3 }";

TEST(MatmulScaleFusion, TakesFactorsBeforeAndBehind) {
    EXPECT_EQ(rewritten(filled(scaled, {"2,4", "4,3", "p = Mul(a, s) m = MatMul(p, b) y = Div(m, s)"})),
              "L2.1 MatMulScaleFusion: FusedMatMul");
    EXPECT_EQ(rewritten(filled(scaled, {"2,4", "4,3", "m = MatMul(a, b) y = Div(s, m)"})), "MatMul Div");
}

TEST(MatmulScaleFusion, TakesAFactorOfNoMoreDimensionsThanItScales) {
    EXPECT_EQ(rewritten(filled(scaled, {"2,4", "4,3", "m = MatMul(a, b) y = Mul(m, cube)"})), "MatMul Mul");
    EXPECT_EQ(rewritten(filled(scaled, {"2,2,4", "2,4,3", "m = MatMul(a, b) y = Mul(m, cube)"})),
              "L2.1 MatMulScaleFusion: FusedMatMul");
}

} // namespace
} // namespace octet::tests
