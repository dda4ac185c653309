// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(CommonSubexpressionElimination, KeepsWhatTheNetworkGivesOut) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) { a = Neg(x) b = Neg(x) y = Add(a, b) }"),
              "L1.1 CommonSubexpressionElimination: Neg Add");
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y, float[] z) { y = Neg(x) b = Neg(x) z = Abs(b) }"),
              "Neg Neg Abs"); // the later one is visited first
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y, float[] z) { y = Neg(x) z = Neg(x) }"), "Neg Neg");
}

TEST(ConstantSharing, IsOfEqualConstantsOfEightElementsAtMost) {
    const auto sums = [](const std::string &dims) {
        return "(float[3," + dims + "] x) => (float[] y) <float[" + dims + "] c, float[" + dims +
               "] d> { a = Add(x, c) b = Add(x, d) y = Mul(a, b) }";
    };
    EXPECT_EQ(rewritten(sums("8")), "L1.1 CommonSubexpressionElimination: Add Mul");
    EXPECT_EQ(rewritten(sums("9")), "Add Add Mul");
}

TEST(ConstantFolding, LeavesDequantizedConstants) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) <float[4] c> { n = Neg(c) y = Add(x, n) }"),
              "L1.1 ConstantFolding: Add");
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) <int8[4] c, float s = {0.1}> { n = DequantizeLinear(c, "
                        "s) y = Add(x, n) }"),
              "DequantizeLinear Add");
}

TEST(ConstantFolding, LeavesWhatHasNoKernel) {
    const std::string function =
        "(float[4] x) => (float[] y) <float[4] c> { n = HardSwish(c) y = Add(x, n) }";
    EXPECT_EQ(rewritten(function), "P.0 FunctionInlining: HardSigmoid Mul Add");
}

} // namespace
} // namespace octet::tests
