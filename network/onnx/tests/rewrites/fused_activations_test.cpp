// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

const char *const behind = R"(
    (float[2,4] x, float[1,4,3,3] image, float limit) => (float[] y)
    <float[4,3] w, float[5,4,1,1] kernel, float low = {-0.5}> { p = $1  y = $2 })";

TEST(GemmActivationFusion, TakesFunctionsButNoLimits) {
    EXPECT_EQ(rewritten(filled(behind, {"Gemm(x, w)", "Softplus(p)"})),
              "L2.1 GemmActivationFusion: FusedGemm");
    EXPECT_EQ(rewritten(filled(behind, {"Gemm(x, w)", "Clip(p, low)"})), "Gemm Clip");
    EXPECT_EQ(rewritten(filled(behind, {"MatMul(x, w)", "Relu(p)"})), "MatMul Relu");
}

TEST(ConvActivationFusion, TakesConstantLimits) {
    EXPECT_EQ(rewritten(filled(behind, {"Conv(image, kernel)", "Clip(p, low)"})),
              "L2.1 ConvActivationFusion: FusedConv");
    EXPECT_EQ(rewritten(filled(behind, {"Conv(image, kernel)", "Clip(p, limit)"})), "Conv Clip");
    EXPECT_EQ(rewritten(filled(behind, {"Conv(image, kernel)", "Softplus(p)"})), "Conv Softplus");
}

} // namespace
} // namespace octet::tests
