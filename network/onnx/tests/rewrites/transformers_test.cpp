// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(GraphTransformerUtils, RepeatsALevelUntilNothingChanges) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) { b = Tanh(x) c = Identity(b) y = Neg(c) }"),
              "L1.1 Level1_RuleBasedTransformer: Tanh Neg");
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) <float[4] c, float half = {0.5}, float two = {2}> "
                        "{ z = Mul(half, two) b = Tanh(x) d = Mul(b, z) y = Neg(d) }"),
              "L1.1 ConstantFolding, L1.2 Level1_RuleBasedTransformer: Tanh Neg");
}

TEST(GraphTransformerUtils, MovesTransposesInTheFirstStepAlone) {
    EXPECT_EQ(rewritten("(float[2,3,4] x) => (float[] y) { t = Transpose<perm=[0,2,1]>(x) u = Elu(t) y = "
                        "Transpose<perm=[0,2,1]>(u) }"),
              "L1.1 TransposeOptimizer: Elu");
}

} // namespace
} // namespace octet::tests
