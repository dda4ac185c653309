// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// $1 between two Transposes, the second of which has the order $2.
const char *const between = R"(
    (float[2,3,4] x) => (float[] y) <int64[6] pads = {0,0,1,0,0,0}, int64[1] axis = {1}> {
        t = Transpose<perm=[0,2,1]>(x)  u = $1  y = Transpose<perm=[$2]>(u)
    })";
const std::string moved = "L1.1 TransposeOptimizer: ";

TEST(OnnxTransposeOptimization, RenamesAxes) {
    for (const std::string op : {"Softmax<axis=1>(t)", "ReduceSum(t, axis)", "Pad(t, pads)"})
        EXPECT_EQ(rewritten(filled(between, {op, "0,2,1"})), moved + op.substr(0, op.find_first_of("<(")));
    EXPECT_EQ(rewritten(filled(between, {"Unsqueeze(t, axis)", "0,1,3,2"})), moved + "Unsqueeze");
}

TEST(OnnxTransposeOptimization, KeepsTheTwoGroupsOfAnEarlySoftmax) {
    EXPECT_EQ(rewritten(filled(between, {"Softmax<axis=1>(t)", "0,2,1"}), 12), moved + "Softmax");
    EXPECT_EQ(rewritten(filled(between, {"Softmax<axis=2>(t)", "0,2,1"}), 12), "Transpose Softmax Transpose");
}

TEST(OnnxTransposeOptimization, ComposesTransposes) {
    EXPECT_EQ(rewritten("(float[2,3,4] x) => (float[] y) { t = Transpose<perm=[0,2,1]>(x) y = "
                        "Transpose<perm=[1,0,2]>(t) }"),
              moved + "Transpose");
    EXPECT_EQ(rewritten(filled(between, {"GlobalAveragePool(t)", "0,2,1"})),
              "Transpose GlobalAveragePool Transpose");
}

} // namespace
} // namespace octet::tests
