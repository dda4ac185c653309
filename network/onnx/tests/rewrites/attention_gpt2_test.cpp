// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/tests/rewrites/rewritten.hpp"

namespace octet::tests {
namespace {

/// A causal attention of GPT-2 with two heads of four, of open sizes, which the network computes.
const char *const gpt2 = R"(
    (float[n,s,8] x, float[n,s,8] z) => (float[] y)
    <float[8] scale, float[8] shift, float[8,24] w, float[24] b, float[8,8] wo, float[8] bo,
     float root = {2}, float least = {-10000},
     int64 zero = {0}, int64 one = {1}, int64[1] zero1 = {0}, int64[1] one1 = {1},
     int64[1] two1 = {2}, int64[1] three1 = {3}, int64[1] last1 = {-1}, int64[1] before1 = {-2},
     int64[1] end1 = {9223372036854775807}, int64[1] wide = {24}, int64[1] width = {8},
     int64[4] heads = {0, 0, 2, -1}, int64[3] joined = {$1},
     uint8[1,1,4,4] triangle = {1,0,0,0, 1,1,0,0, 1,1,1,0, 1,1,1,1}> {
        e = Add(x, z)  a = LayerNormalization(e, scale, shift)

        a0 = Shape(a)  a1 = Slice(a0, last1, end1, zero1)  a2 = Squeeze<axes=[0]>(a1)
        a3 = Unsqueeze<axes=[0]>(a2)
        a4 = Concat<axis=0>(last1, a3)  c0 = Reshape(a, a4)  c1 = Gemm(c0, w, b)
        b0 = Shape(a)  b1 = Gather(b0, zero)  b2 = Unsqueeze<axes=[0]>(b1)
        n0 = Shape(a)  n1 = Gather(n0, one)   n2 = Unsqueeze<axes=[0]>(n1)
        c2 = Concat<axis=0>(b2, n2, wide)  c = Reshape(c1, c2)

        q0, k0, v0 = Split<axis=2, split=[8,8,8]>(c)
        q1 = Reshape(q0, heads)  q = Transpose<perm=[0,2,1,3]>(q1)
        k1 = Reshape(k0, heads)  k = Transpose<perm=[0,2,3,1]>(k1)
        v1 = Reshape(v0, heads)  v = Transpose<perm=[0,2,1,3]>(v1)
        d0 = MatMul(q, k)        d = Div(d0, root)

        t0 = Shape(d)  t1 = Slice(t0, last1, end1, zero1)     t2 = Squeeze<axes=[0]>(t1)
        r0 = Shape(d)  r1 = Slice(r0, before1, last1, zero1)  r2 = Squeeze<axes=[0]>(r1)
        f0 = Sub(t2, r2)  f = Unsqueeze<axes=[0]>(f0)  t3 = Unsqueeze<axes=[0]>(t2)
        t4 = Unsqueeze<axes=[0]>(t2)
        i0 = Slice(triangle, f, t3, two1, one1)  i1 = Slice(i0, zero1, t4, three1, one1)  i = Cast<to=9>(i1)

        p0 = Where(i, d, least)  p = Softmax<axis=3>(p0)
        o0 = MatMul(p, v)        o1 = Transpose<perm=[0,2,1,3]>(o0)  o = Reshape(o1, joined)

        g0 = Shape(o)  g1 = Slice(g0, last1, end1, zero1)  g2 = Squeeze<axes=[0]>(g1)
        g3 = Unsqueeze<axes=[0]>(g2)
        g4 = Concat<axis=0>(last1, g3)  h0 = Reshape(o, g4)  h1 = Gemm(h0, wo, bo)
        m0 = Shape(o)  m1 = Gather(m0, zero)  m2 = Unsqueeze<axes=[0]>(m1)
        l0 = Shape(o)  l1 = Gather(l0, one)   l2 = Unsqueeze<axes=[0]>(l1)
        h2 = Concat<axis=0>(m2, l2, width)  h = Reshape(h1, h2)
        u = Add(e, h)  y = Tanh(u)
    })";

TEST(AttentionFusion, OfGpt2FindsOutTheWidthOfItsHeads) {
    EXPECT_EQ(rewritten(filled(gpt2, {"0, 0, -1"}), 12),
              "L1.1 CommonSubexpressionElimination, L2.1 AttentionFusion: "
              "Add LayerNormalization Attention Reshape Gemm Reshape Add Tanh");
    EXPECT_EQ(rewritten(filled(gpt2, {"0, 0, 8"}), 12).find("AttentionFusion"), std::string::npos);
}

} // namespace
} // namespace octet::tests
