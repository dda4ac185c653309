// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(CommonSubexpressionElimination, ComparesAttributesAndWhatGoesWithoutSaying) {
    const auto two = [](const std::string &first, const std::string &second) {
        return rewritten("(float[4,8] x) => (float[] y) { a = " + first + " b = " + second +
                         " y = Sub(a, b) }");
    };
    EXPECT_EQ(two("Softmax(x)", "Softmax<axis=-1>(x)"), "L1.1 CommonSubexpressionElimination: Softmax Sub");
    EXPECT_EQ(two("Softmax(x)", "Softmax<axis=0>(x)"), "Softmax Softmax Sub");
    EXPECT_EQ(two("Elu(x)", "Elu<alpha=1.0>(x)"), "L1.1 CommonSubexpressionElimination: Elu Sub");
    EXPECT_EQ(two("Elu(x)", "Elu<alpha=0.5>(x)"), "Elu Elu Sub");
}

} // namespace
} // namespace octet::tests
