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

} // namespace
} // namespace octet::tests
