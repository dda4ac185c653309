// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// A pair with other parameters, $1, behind a pair; $2 may read what is between them.
const char *const pairs = R"(
    (float[4] x) => ($3) <float s = {0.02}, uint8 z = {100}, float t = {0.03}, uint8 w = {120}> {
        a = QuantizeLinear(x, s, z)  b = DequantizeLinear(a, s, z)  c = QuantizeLinear(b, $1)
        y = DequantizeLinear(c, $1)  $2
    })";

TEST(DoubleQdqPairsRemover, WantsZeroPoints) {
    EXPECT_EQ(rewritten(filled(pairs, {"t, w", "", "float[] y"})),
              "L1.1 DoubleQDQPairsRemover: QuantizeLinear DequantizeLinear");
    EXPECT_EQ(rewritten(filled(pairs, {"t", "", "float[] y"})),
              "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear");
}

TEST(DoubleQdqPairsRemover, WantsNoOtherReaderBetweenThem) {
    EXPECT_EQ(rewritten(filled(pairs, {"t, w", "v = Neg(b)", "float[] y, float[] v"})).find("DoubleQDQ"),
              std::string::npos);
}

} // namespace
} // namespace octet::tests
