// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Every other pixel, four times, of images of three channels, side by side in the order $1.
const char *const focus = R"(
    (float[1,3,4,4] x) => (float[] y)
    <int64[2] s00 = {0, 0}, int64[2] s01 = {0, 1}, int64[2] s10 = {1, 0}, int64[2] s11 = {1, 1},
     int64[2] ends = {9223372036854775807, 9223372036854775807}, int64[2] axes = {2, 3},
     int64[2] steps = {2, 2}> {
        a = Slice(x, s00, ends, axes, steps)  b = Slice(x, s01, ends, axes, steps)
        c = Slice(x, s10, ends, axes, steps)  d = Slice(x, s11, ends, axes, steps)
        y = Concat<axis=1>($1)
    })";

TEST(SliceConcatToSpaceToDepthFusion, OrdersChannelsAnew) {
    EXPECT_EQ(rewritten(filled(focus, {"a, b, c, d"})), "L1.1 SliceConcatToSpaceToDepthFusion: SpaceToDepth");
    EXPECT_EQ(rewritten(filled(focus, {"a, c, b, d"})),
              "L1.1 SliceConcatToSpaceToDepthFusion: SpaceToDepth Gather");
}

TEST(SliceConcatToSpaceToDepthFusion, WantsEachPixelOnce) {
    EXPECT_EQ(rewritten(filled(focus, {"a, b, c, c"})), "Slice Slice Slice Concat");
}

} // namespace
} // namespace octet::tests
