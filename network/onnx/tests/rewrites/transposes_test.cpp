// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Two Transposes that undo each other, and $1 between them.
const char *const between = R"(
    (float[2,3,4] x, float[2,4,3] z) => (float[] y)
    <float[3] c> { t = Transpose<perm=[0,2,1]>(x)  u = $1  y = Transpose<perm=[0,2,1]>(u) })";

TEST(TransposeOptimizer, PushesTransposesThatMeet) {
    EXPECT_EQ(rewritten(filled(between, {"Elu(t)"})), "L1.1 TransposeOptimizer: Elu");
    EXPECT_EQ(rewritten(filled(between, {"Add(t, c)"})), "L1.1 TransposeOptimizer: Add");
}

TEST(OnnxTransposeOptimization, LeavesThoseOfWhichMoreWouldBeNeeded) {
    EXPECT_EQ(rewritten(filled(between, {"Add(t, z)"})), "Transpose Add Transpose");
}

TEST(OnnxTransposeOptimization, OverlooksOrdersThatTheFileLeavesOut) {
    EXPECT_EQ(rewritten("(float[3,4] x) => (float[] y) { t = Transpose(x) u = Elu(t) y = Transpose(u) }"),
              "Transpose Elu Transpose");
}

} // namespace
} // namespace octet::tests
