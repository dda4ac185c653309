// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// Rows of words, of positions $1 and of segments, their norm, and $2, which reads it.
const char *const embedded = R"(
    (int64[2,3] ids, int64[2,3] kinds) => (float[] y)
    <float[20,8] words, float[5,8] places, float[2,8] segments, int64[2,3] order = {$1}, float[8] scale,
     float[8] shift, float[8,24] w, float[24] bias> {
        a = Gather(words, ids)  b = Gather(places, order)  c = Add(a, b)  d = Gather(segments, kinds)
        e = Add(c, d)
        n = LayerNormalization(e, scale, shift)  y = $2
    })";
const std::string attention = "com.microsoft.Attention<num_heads=2>(n, w, bias)",
                  counted = "0, 1, 2, 0, 1, 2";

TEST(EmbedLayerNormFusion, StandsBeforeAnAttentionAlone) {
    EXPECT_EQ(rewritten(filled(embedded, {counted, attention})),
              "L1.1 ConstantFolding, L2.1 EmbedLayerNormFusion: EmbedLayerNormalization Attention");
    EXPECT_EQ(rewritten(filled(embedded, {counted, "Neg(n)"})).find("Embed"), std::string::npos);
}

TEST(EmbedLayerNormFusion, CountsPositionsFromZeroInEachRow) {
    EXPECT_EQ(rewritten(filled(embedded, {"0, 1, 2, 0, 1, 1", attention})).find("Embed"), std::string::npos);
}

} // namespace
} // namespace octet::tests
