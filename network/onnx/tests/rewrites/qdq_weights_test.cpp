// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

const char *const product = R"(
    (uint8[2,4] x) => (float[] y) <float s = {0.02}, uint8 z = {100}, float[4,3] w, float[3] b> {
        r = DequantizeLinear(x, s, z)  $1  q = QuantizeLinear(p, s, z)  y = DequantizeLinear(q, s, z)
    })";

TEST(WeightBiasQuantization, RoundsFloatsBetweenCodes) {
    EXPECT_EQ(rewritten(filled(product, {"p = Gemm(r, w, b)"})),
              "L1.1 WeightBiasQuantization, L1.2 ConstantFolding, L2.1 QDQSelectorActionTransformer: QGemm "
              "DequantizeLinear");
    EXPECT_EQ(rewritten(filled(product, {"g = Gemm(r, w, b)  p = Tanh(g)"})),
              "L2.1 GemmActivationFusion: DequantizeLinear FusedGemm QuantizeLinear DequantizeLinear");
}

TEST(WeightBiasQuantization, LooksPastALimit) {
    EXPECT_EQ(rewritten(filled(product, {"g = Gemm(r, w)  p = Relu(g)"})),
              "L1.1 WeightBiasQuantization, L1.2 ConstantFolding, L2.1 GemmActivationFusion: "
              "DequantizeLinear DequantizeLinear FusedGemm QuantizeLinear DequantizeLinear");
}

} // namespace
} // namespace octet::tests
