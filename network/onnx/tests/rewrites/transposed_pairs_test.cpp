// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Scales along an axis, so that pairs are not pushed past a Transpose before.
const std::string constants = "<float[2] s = {0.02, 0.03}, uint8[2] z = {100, 100}>";

TEST(OnnxTransposeOptimization, GivesATransposeThePairThatItLacks) {
    EXPECT_EQ(rewritten("(float[2,4] x) => (float[] y) " + constants + R"({
                  t = Tanh(x)  m = Transpose<perm=[1,0]>(t)  q = QuantizeLinear<axis=1>(m, s, z)
                  y = DequantizeLinear<axis=1>(q, s, z) })"),
              "L1.1 TransposeOptimizer: Tanh QuantizeLinear DequantizeLinear Transpose QuantizeLinear "
              "DequantizeLinear");
    EXPECT_EQ(rewritten("(uint8[2,4] x) => (float[] y) " + constants + R"({
                  d = DequantizeLinear<axis=0>(x, s, z)  t = Transpose<perm=[1,0]>(d)  y = Tanh(t) })"),
              "L1.1 TransposeOptimizer: DequantizeLinear Transpose QuantizeLinear DequantizeLinear Tanh");
}

TEST(OnnxTransposeOptimization, NeedsNoPermForThePairOfOneScale) {
    const std::string graph =
        R"((float[2,4] x) => (float[] t, float[] y) <float s = {0.02}, uint8 z = {100}> {
        t = Tanh(x)  m = Transpose$1(t)  q = QuantizeLinear(m, s, z)  y = DequantizeLinear(q, s, z) })";
    const std::string with_perm = rewritten(filled(graph, {"<perm=[1,0]>"}));
    EXPECT_NE(with_perm.find("Tanh QuantizeLinear DequantizeLinear"), std::string::npos) << with_perm;
    EXPECT_EQ(rewritten(filled(graph, {""})), with_perm);
}

TEST(OnnxTransposeOptimization, GivesNoPairToTwoReaders) {
    EXPECT_EQ(rewritten("(float[2,4] x) => (float[] y, float[] u) " + constants + R"({
                  t = Tanh(x)  m = Transpose<perm=[1,0]>(t)  u = Neg(t)
                  q = QuantizeLinear<axis=1>(m, s, z)  y = DequantizeLinear<axis=1>(q, s, z) })"),
              "Tanh Transpose Neg QuantizeLinear DequantizeLinear");
}

} // namespace
} // namespace octet::tests
