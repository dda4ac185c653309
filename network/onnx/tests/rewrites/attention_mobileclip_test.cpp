// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// An attention of MobileCLIP with two heads of four over nine pixels.
const char *const mobileclip = R"(
    (float[2,8,3,3] image) => (float[] y)
    <float[8,24] w, float[8,8] wo, float[8] b, float factor = {0.5}, int64[3] pixels = {2, 8, 9},
     int64[3] ones = {1, 1, 1}, int64[5] parts = {2, 9, 3, 2, 4}, int64[1] first = {0},
     int64[1] third = {2}, int64[3] flat = {2, 9, 8}> {
        x = Relu(image)  r = Reshape(x, pixels)  s = Transpose<perm=[0,2,1]>(r)  m = MatMul(s, w)
         qkv = Reshape(m, parts)
        q0, k0, v0 = Split<axis=2>(qkv, ones)
        q1 = Transpose<perm=[2,0,3,1,4]>(q0)  q2 = Squeeze(q1, first)  q = Mul(q2, factor)
        k1 = Squeeze(k0, third)               k = Transpose<perm=[0,2,3,1]>(k1)
        v1 = Transpose<perm=[2,0,3,1,4]>(v0)  v = Squeeze(v1, first)
        d = MatMul(q, k)   p = Softmax<axis=$1>(d)
        o = MatMul(p, v)   t = Transpose<perm=[0,2,1,3]>(o)  j = Reshape(t, flat)
        z0 = MatMul(j, wo) z = Add(z0, b)  y = Tanh(z)
    })";

TEST(AttentionFusion, OfMobileClipCountsTheAxisFromTheEnd) {
    EXPECT_EQ(rewritten(filled(mobileclip, {"-1"})),
              "L1.1 MatMulAddFusion, L1.1 ReshapeFusion, L2.1 AttentionFusion, L2.1 MatmulTransposeFusion: "
              "Relu Reshape FusedMatMul Split MultiHeadAttention Reshape Gemm Reshape Reshape Tanh");
    EXPECT_EQ(rewritten(filled(mobileclip, {"3"})).find("AttentionFusion"), std::string::npos);
}

} // namespace
} // namespace octet::tests
