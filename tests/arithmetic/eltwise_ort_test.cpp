// ONNX Runtime's functions against what ONNX Runtime 1.30 gave (AVX-512), and against their formulas, written
// here in plain scalar code.
// SPDX-License-Identifier: Apache-2.0
#include "common/eltwise_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace octet::impl;
using octet::algorithm;

namespace {

struct function_case {
    const char *name;
    algorithm alg;
    float alpha;
    std::function<float(float)> formula;
};

/// Coefficients from the highest power down.
float horner(float x, const std::vector<float> &c) {
    float y = c.front();
    for (std::size_t i = 1; i < c.size(); i++)
        y = std::fma(y, x, c[i]);
    return y;
}

/// P(r) 2^m with x = m ln2 + r.
float exp_with(float x, const std::vector<float> &c) {
    const auto m = static_cast<float>(std::nearbyint(static_cast<double>(x) * 1.44269502162933349609375));
    const float r = std::fma(m, -1.42860677e-6f, std::fma(m, -6.93145752e-1f, x));
    return std::ldexp(horner(r, c), static_cast<int>(m));
}

float exp_of(float x) {
    if (x > 104.f)
        return std::numeric_limits<float>::infinity();
    return exp_with(x < -103.972084f ? -103.972084f : x,
                    {0x1.694p-10f, 0x1.125edcp-7f, 0x1.555b5ap-5f, 0x1.55545p-3f, 0x1.fffff6p-2f, 1.f, 1.f});
}

float erf_of(float x) {
    const float a = std::fabs(x) > 3.925f ? 3.925f : std::fabs(x);
    if (a <= 0.921875f)
        return std::copysign(std::fma(horner(a * a, {-5.99104969e-4f, 4.99339588e-3f, -2.67667342e-2f,
                                                     1.12818025e-1f, -3.76124859e-1f, 1.28379151e-1f}),
                                      a, a),
                             x);
    const float t = std::fma(horner(a, {1.72948930e-5f, -3.83208680e-4f, 3.88393435e-3f, -2.42545605e-2f,
                                        1.06777847e-1f, 6.34846687e-1f, 1.28717512e-1f}),
                             a, a);
    const float e = exp_with(
        -t, {1.38319808e-3f, 8.37550033e-3f, 4.16689515e-2f, 1.66664466e-1f, 4.99999851e-1f, 1.f, 1.f});
    return std::copysign(1.f - e, x);
}

float tanh_of(float x) {
    const float v = x > 9.f ? 9.f : x < -9.f ? -9.f : x;
    const float p = horner(v * v, {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                   5.12229709037114e-08f, 1.48572235717979e-05f, 6.37261928875436e-04f,
                                   4.89352455891786e-03f}) *
                    v;
    return p / horner(v * v, {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                              4.89352518554385e-03f});
}

float logistic_of(float x) {
    const float v = x > 18.f ? 18.f : x < -18.f ? -18.f : x;
    const float p = horner(v * v, {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                                   8.51377133304701e-03f, 2.48287947061529e-01f}) *
                    v;
    const float y = p / horner(v * v, {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                                       1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f}) +
                    0.5f;
    return y > 0.f ? y : 0.f;
}

float gelu_of(float x) { return 0.5f * x * (erf_of(x * 0.707106769f) + 1.f); }
float fast_gelu_of(float x) {
    const float t = x * (0.0356774069f * x * x + 0.797884583f);
    return 0.5f * x * (tanh_of(t) + 1.f);
}
float quick_gelu_of(float x) { return x * logistic_of(1.702f * x); }

const function_case functions[] = {
    {"Erf", algorithm::eltwise_ort_erf, 0, erf_of},
    {"Exp", algorithm::eltwise_ort_exp, 0, exp_of},
    {"Gelu", algorithm::eltwise_ort_gelu_erf, 0, gelu_of},
    {"FastGelu", algorithm::eltwise_ort_gelu_tanh, 0, fast_gelu_of},
    {"Sigmoid", algorithm::eltwise_ort_logistic, 0, logistic_of},
    {"Tanh", algorithm::eltwise_ort_tanh, 0, tanh_of},
    {"QuickGelu", algorithm::eltwise_ort_swish, 1.702f, quick_gelu_of},
};

/// Bits that ONNX Runtime's operators gave, in the order of `functions`.
const struct {
    float x;
    std::uint32_t y[std::size(functions)];
} recorded[] = {
    {-40.0f, {0xbf800000, 0x229cbc92, 0x80000000, 0x80000000, 0x00000000, 0xbf800000, 0x80000000}},
    {-17.5f, {0xbf800000, 0x32d7b175, 0x80000000, 0x80000000, 0x33000000, 0xbf800000, 0x80000000}},
    {-9.5f, {0xbf800000, 0x389cf9c5, 0x80000000, 0x80000000, 0x389cf000, 0xbf800000, 0xb5980000}},
    {-5.25f, {0xbf800000, 0x3babf360, 0xb4fc0000, 0x80000000, 0x3bab0dc0, 0xbf7ffc62, 0xba351580}},
    {-3.9f, {0xbf7fffff, 0x3ca5d25d, 0xb944b4cd, 0xb8eb7667, 0x3ca28820, 0xbf7fca51, 0xbba72f93}},
    {-2.75f, {0xbf7ff968, 0x3d82ec9c, 0xbc064180, 0xbbfd13f0, 0x3d761d68, 0xbf7dea86, 0xbccf0314}},
    {-1.3125f, {0xbf6fc2f5, 0x3e89cd8d, 0xbdfe7d09, 0xbdfef661, 0x3e592890, 0xbf5d6a85, 0xbe020804}},
    {-0.921875f, {0xbf4ec3b4, 0x3ecba8d7, 0xbe284ff1, 0xbe2870b8, 0x3e91b3f2, 0xbf3a0e78, 0xbe22b3e2}},
    {-0.7f, {0xbf2d8461, 0x3efe406e, 0xbe2d7086, 0xbe2d7f04, 0x3ea9e34c, 0xbf1ab7d9, 0xbe270546}},
    {-0.1f, {0xbde652f5, 0x3f67a36d, 0xbd3c7c8d, 0xbd3c7c96, 0x3ef335ee, 0xbdcc1ebb, 0xbd3b69da}},
    {-0.001f, {0xba93e61c, 0x3f7fbe7f, 0xba02f7a9, 0xba02f7a9, 0x3effdf3b, 0xba83126b, 0xba02f5e1}},
    {0.000001f, {0x359772d0, 0x3f800008, 0x350637c4, 0x350637c4, 0x3f000004, 0x358637bc, 0x350637c4}},
    {0.03f, {0x3d0a9d18, 0x3f83e5ef, 0x3c7ba44a, 0x3c7ba44a, 0x3f01eb7c, 0x3cf5afb1, 0x3c7c086c}},
    {0.33f, {0x3eb7f360, 0x3fb20b3e, 0x3e54a72f, 0x3e54a63e, 0x3f14ee2e, 0x3ea31528, 0x3e573327}},
    {0.65f, {0x3f245c09, 0x3ff53071, 0x3ef6fd22, 0x3ef6f776, 0x3f2831d6, 0x3f1258f6, 0x3efa142b}},
    {0.9218751f, {0x3f4ec3b5, 0x4020e560, 0x3f41ec06, 0x3f41e3d5, 0x3f372607, 0x3f3a0e78, 0x3f435309}},
    {0.999f, {0x3f57a002, 0x402dcbd1, 0x3f571b62, 0x3f571165, 0x3f3b19c4, 0x3f42dc4b, 0x3f58401a}},
    {1.2345678f, {0x3f6b4f51, 0x405bf60c, 0x3f8ce132, 0x3f8cd9f6, 0x3f464d4e, 0x3f5809c7, 0x3f8ccdbc}},
    {1.75f, {0x3f7c9684, 0x40b825b4, 0x3fd706d9, 0x3fd70389, 0x3f5a1994, 0x3f70fdfd, 0x3fd5282a}},
    {2.5f, {0x3f7fe555, 0x4142eb7f, 0x401f01a8, 0x401f08dc, 0x3f6c948f, 0x3f7c92c2, 0x401dc2ca}},
    {3.25f, {0x3f7fffb8, 0x41ce529e, 0x404fe146, 0x404fe64d, 0x3f7671bf, 0x3f7f3b3e, 0x404f2df8}},
    {4.5f, {0x3f800000, 0x42b408c5, 0x408fffe0, 0x408ffff5, 0x3f7d2ff6, 0x3f7fefd3, 0x408fee9e}},
    {7.0f, {0x3f800000, 0x44891443, 0x40e00000, 0x40e00000, 0x3f7fc44b, 0x3f7fffe4, 0x40dfff9c}},
    {11.125f, {0x3f800000, 0x47848325, 0x41320000, 0x41320000, 0x3f7fff08, 0x3f800000, 0x41320000}},
    {17.9f, {0x3f800000, 0x4c62a31e, 0x418f3333, 0x418f3333, 0x3f800000, 0x3f800000, 0x418f3333}},
    {30.0f, {0x3f800000, 0x551b8238, 0x41f00000, 0x41f00000, 0x3f800000, 0x3f800000, 0x41f00000}},
};

TEST(EltwiseOrt, HasTheBitsThatWereRecorded) {
    for (const auto &r : recorded)
        for (std::size_t f = 0; f < std::size(functions); f++)
            EXPECT_EQ(bits(eltwise(functions[f].alg, functions[f].alpha, 0, r.x)), r.y[f])
                << functions[f].name << " of " << r.x;
}

TEST(EltwiseOrt, FollowsTheFormulas) {
    for (const function_case &f : functions) {
        int different = 0;
        for (std::uint64_t u = 0; u < std::uint64_t{1} << 32 && different < 3; u += 40961) {
            const float x = from_bits(static_cast<std::uint32_t>(u)), expected = f.formula(x);
            if (x != x || expected != expected || bits(eltwise(f.alg, f.alpha, 0, x)) == bits(expected))
                continue;
            ADD_FAILURE() << f.name << " of " << x << ", expected " << expected;
            different++;
        }
    }
}

} // namespace
