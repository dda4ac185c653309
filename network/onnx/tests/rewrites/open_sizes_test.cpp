// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// A product with a row is a Gemm where ONNX Runtime knows all sizes of the matrix z.
const char *const product = R"(
    (float[$1] x) => (float[] y)
    <float[4,3] w, float[3] row, int64[2] fixed = {6, 4}, float[3,4] matrix> {
        z = $2  p = MatMul(z, w)  y = Add(p, row)
    })";

TEST(Graph, KnowsTheSizesOfTheFile) {
    EXPECT_EQ(rewritten(filled(product, {"2,3,4", "Tanh(x)"})),
              "L1.1 MatMulAddFusion: Tanh Reshape Gemm Reshape");
    EXPECT_EQ(rewritten(filled(product, {"2,n,4", "Tanh(x)"})), "Tanh MatMul Add");
}

TEST(Graph, KnowsTheSizesThatAViewOrAProductNames) {
    EXPECT_EQ(rewritten(filled(product, {"2,n,4", "Reshape(x, fixed)"})),
              "L1.1 MatMulAddFusion: Reshape Gemm");
    EXPECT_EQ(rewritten(filled(product, {"n", "MatMul(x, matrix)"})),
              "L1.1 MatMulAddFusion: MatMul Reshape Gemm Reshape");
}

/// A product with a row behind what removes a dimension.
const char *const extremes = R"(
    (float[$1] x) => (float[] y) <float[4,3] w, float[3] row> {
        a = ArgMax<axis=$2,keepdims=0>(x)  z = Cast<to=1>(a)  p = MatMul(z, w)  y = Add(p, row)
    })";

TEST(Graph, KnowsTheOtherSizesOfPlacesOfExtremes) {
    EXPECT_EQ(rewritten(filled(extremes, {"2,n,3,4", "1"})),
              "L1.1 MatMulAddFusion: ArgMax Cast Reshape Gemm Reshape");
    EXPECT_EQ(rewritten(filled(extremes, {"2,n,3,4", "0"})), "ArgMax Cast MatMul Add");
}

/// A Transpose moves past Split and Concat if ONNX Runtime knows how large they are.
const char *const first_elements = R"(
    (float[$1] x) => (float[] y, float[] z) <int64[1] one = {1}> {
        w = Tanh(x)  v, i = TopK<axis=1>(w, one)  t = Transpose<perm=[2,0,1]>(v)
        a, b = Split<axis=1>(t)  y = Concat<axis=1>(a, b)  z = Ceil(v)
    })";

TEST(Graph, KnowsNoSizeOfWhatIsSortedAlongAnOpenOne) {
    EXPECT_EQ(rewritten(filled(first_elements, {"2,n,8"})), "Tanh TopK Transpose Split Concat Ceil");
    EXPECT_EQ(rewritten(filled(first_elements, {"2,3,8"})),
              "L1.1 TransposeOptimizer: Tanh TopK Split Transpose Transpose Concat Ceil");
}

} // namespace
} // namespace octet::tests
