// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// A product divided by the root of a size.
const char *const scaled = R"(
    (float[$1,6] x) => (float[] y) <float[6,3] w, int64 last = {1}> {
        p = MatMul(x, w)  h = Shape(x)  g = Gather(h, last)  f = Cast<to=1>(g)  r = Sqrt(f)  y = Div(p, r)
    })";

TEST(ConstantFolding, ComputesOfShapesWhoseSizesAreAllKnown) {
    EXPECT_EQ(rewritten(filled(scaled, {"4"})), "L2.1 MatMulScaleFusion: FusedMatMul");
    EXPECT_EQ(rewritten(filled(scaled, {"n"})), "MatMul Div");
}

} // namespace
} // namespace octet::tests
