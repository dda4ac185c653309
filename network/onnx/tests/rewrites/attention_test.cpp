// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// An attention of BERT with two heads of four, softmax(q k / $1 + (1 - mask) * -10000) v, and the
/// sum behind. $2 and $3 unsqueeze the mask.
const char *const bert = R"(
    (float[2,3,8] x, int64[2,3] mask) => (float[] y)
    <float[8] scale, float[8] shift, float[8,8] wq, float[8,8] wk, float[8,8] wv, float[8,8] wo, float[8] b,
     float root = {$1}, float one = {1}, float least = {-10000},
     int64[4] heads = {0, 0, 2, 4}, int64[3] flat = {0, 0, 8}, int64[1] first = {1}, int64[1] second = {2}> {
        n = LayerNormalization(x, scale, shift)
        q0 = MatMul(n, wq)  q1 = Add(q0, b)  q2 = Reshape(q1, heads)  q = Transpose<perm=[0,2,1,3]>(q2)
        k0 = MatMul(n, wk)  k1 = Add(k0, b)  k2 = Reshape(k1, heads)  k = Transpose<perm=[0,2,3,1]>(k2)
        v0 = MatMul(n, wv)  v1 = Add(v0, b)  v2 = Reshape(v1, heads)  v = Transpose<perm=[0,2,1,3]>(v2)
        d = MatMul(q, k)    s = Div(d, root)
        m1 = $2  m2 = $3  m3 = Cast<to=1>(m2)  m4 = Sub(one, m3)  m = Mul(m4, least)
        a = Add(s, m)       p = Softmax<axis=3>(a)
        o = MatMul(p, v)    t = Transpose<perm=[0,2,1,3]>(o)  j = Reshape(t, flat)
        z0 = MatMul(j, wo)  z = Add(z0, b)  y = Add(z, n)
    })";
const std::string by_attribute[] = {"Unsqueeze<axes=[1]>(mask)", "Unsqueeze<axes=[2]>(m1)"},
                  by_input[] = {"Unsqueeze(mask, first)", "Unsqueeze(m1, second)"};

TEST(AttentionFusion, OfBertEndsWithOperatorSet12) {
    EXPECT_EQ(
        rewritten(filled(bert, {"2", by_attribute[0], by_attribute[1]}), 12),
        "L2.1 AttentionFusion, L2.1 MatMulAddFusion: LayerNormalization Attention Reshape Gemm Reshape Add");
    EXPECT_EQ(rewritten(filled(bert, {"2", by_input[0], by_input[1]}), 13).find("AttentionFusion"),
              std::string::npos);
}

TEST(AttentionFusion, OfBertDividesByTheRootOfAHeadsSize) {
    EXPECT_EQ(rewritten(filled(bert, {"3", by_attribute[0], by_attribute[1]}), 12).find("AttentionFusion"),
              std::string::npos);
}

} // namespace
} // namespace octet::tests
