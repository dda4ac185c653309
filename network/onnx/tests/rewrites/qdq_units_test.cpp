// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// An operator that gives r, on what codes stand for, and a pair behind it.
const char *const unit = R"(
    (uint8[2,4] a, uint8[2,4] b) => (float[] y)
    <float s = {0.02}, uint8 z = {100}, float t = {0.03}, int8[4,4] wq, float ws = {0.01}, int8 wz = {0}> {
        ar = DequantizeLinear(a, s, z)  br = DequantizeLinear(b, t, z)  w = DequantizeLinear(wq, ws, wz)
        $1
        q = QuantizeLinear(r, t, z)  y = DequantizeLinear(q, t, z)
    })";
const std::string formed = "L2.1 QDQSelectorActionTransformer: ";

TEST(QdqSelectors, WantCodesOnAllSides) {
    EXPECT_EQ(rewritten(filled(unit, {"r = Add(ar, br)"})), formed + "QLinearAdd DequantizeLinear");
    EXPECT_EQ(rewritten(filled(unit, {"m = Tanh(ar)  r = Add(m, br)"})),
              "DequantizeLinear DequantizeLinear Tanh Add QuantizeLinear DequantizeLinear");
}

TEST(QdqSelectors, MoveElementsOfEqualParametersAlone) {
    EXPECT_EQ(rewritten(filled(unit, {"r = Transpose(br)"})), formed + "Transpose DequantizeLinear");
    EXPECT_EQ(rewritten(filled(unit, {"r = Transpose(ar)"})),
              "DequantizeLinear Transpose QuantizeLinear DequantizeLinear");
}

TEST(QdqSelectors, LeaveWhatIsBeforeALimit) {
    EXPECT_EQ(rewritten(filled(unit, {"m = Add(ar, br)  r = Relu(m)"})),
              "DequantizeLinear DequantizeLinear Add Relu QuantizeLinear DequantizeLinear");
}

TEST(QdqActions, MakeAProductOfFloatsWithoutCodesBehind) {
    EXPECT_EQ(rewritten(filled(unit, {"r = MatMul(ar, w)"})), formed + "QLinearMatMul DequantizeLinear");
    EXPECT_EQ(rewritten(filled(unit, {"p = MatMul(ar, w)  r = Tanh(p)"})),
              formed + "MatMulIntegerToFloat Tanh QuantizeLinear DequantizeLinear");
}

} // namespace
} // namespace octet::tests
