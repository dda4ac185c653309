// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(GraphUtils, ARuleRemovesNoNodeThatGivesAnOutput) {
    const char *const graph = "(float[4] x) => ($2) <float one = {1}> { b = $1 t = Mul(b, one) y = Neg(t) }";
    EXPECT_EQ(rewritten(filled(graph, {"Tanh(x)", "float[] y"})),
              "L1.1 Level1_RuleBasedTransformer: Tanh Neg");
    EXPECT_EQ(rewritten(filled(graph, {"Tanh(x)", "float[] y, float[] t"})), "Tanh Mul Neg");
}

TEST(GraphUtils, ARuleRemovesNoNodeWhoseOperandsNoNodeComputes) {
    EXPECT_EQ(rewritten("(float[4] x) => (float[] y) <float one = {1}> { t = Mul(x, one) y = Neg(t) }"),
              "Mul Neg");
}

} // namespace
} // namespace octet::tests
