// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

TEST(ReshapeFusion, JoinsViewsIfTheLastHasKnownSizes) {
    const char *const views = R"(
        (float[$1,6] x) => (float[] y)
        <int64[3] first = {0, 2, 3}, int64[2] second = {0, 6}> {
            v = Reshape(x, first)  y = Reshape(v, second)
        })";
    EXPECT_EQ(rewritten(filled(views, {"2"})), "L1.1 ReshapeFusion: Reshape");
    EXPECT_EQ(rewritten(filled(views, {"n"})), "Reshape Reshape");
}

/// Two sizes that the Shape of $1 tells are the first ones of a view.
const char *const computed_sizes = R"(
    (float[n,s,4] x, float[m,t,4] z) => (float[] y)
    <int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[1] rest = {-1}, int64[1] two = {2}> {
        b = Tanh(x)  h = Shape($1)
        g0 = Gather(h, zero)  u0 = Unsqueeze(g0, axis)
        g1 = Gather(h, one)   u1 = Unsqueeze(g1, axis)
        l = Concat<axis=0>(u0, u1, two, rest)  y = Reshape(b, l)
    })";

TEST(ReshapeFusion, CopiesSizesOfItsOwnSource) {
    EXPECT_EQ(rewritten(filled(computed_sizes, {"b"})), "L1.1 ReshapeFusion: Tanh Reshape");
    EXPECT_EQ(rewritten(filled(computed_sizes, {"z"})), "Tanh Reshape");
}

} // namespace
} // namespace octet::tests
