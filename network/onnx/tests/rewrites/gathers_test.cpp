// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Two parts of x.
const char *const parts = R"(
    (float[2,3,4] in) => (float[] y)
    <int64 zero = {0}, int64 one = {1}, int64[1] begin = {1}, int64[1] end = {3}, int64[1] axis = {1}> {
        x = Tanh(in)  a = Gather<axis=1>(x, $1)  b = Slice(x, begin, end, axis)  y = Add(a, b)
    })";

TEST(GatherFusion, WantsAllOfOneDimensionOnce) {
    EXPECT_EQ(rewritten(filled(parts, {"zero"})), "L2.1 GatherSliceToSplitFusion: Tanh Split Squeeze Add");
    EXPECT_EQ(rewritten(filled(parts, {"one"})), "Tanh Gather Slice Add");
}

TEST(GatherFusion, BeginsWithOperatorSet13) {
    const std::string halves = R"(
        (float[2,2,4] in) => (float[] y) <int64 zero = {0}, int64 minus = {-1}> {
            x = Tanh(in)  a = Gather<axis=1>(x, zero)  b = Gather<axis=1>(x, minus)  y = Sub(a, b)
        })";
    EXPECT_EQ(rewritten(halves, 13), "L2.1 GatherSliceToSplitFusion: Tanh Split Squeeze Squeeze Sub");
    EXPECT_EQ(rewritten(halves, 12), "Tanh Gather Gather Sub");
}

} // namespace
} // namespace octet::tests
