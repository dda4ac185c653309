// NaN, infinities, the sign of zero and the ends of tensors: what ONNX Runtime 1.30 gave, bit for bit.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using bits = std::vector<std::uint32_t>;

constexpr float infinity = std::numeric_limits<float>::infinity(),
                largest = std::numeric_limits<float>::max();
const float none = std::numeric_limits<float>::quiet_NaN();

bits bits_of(const std::vector<float> &values) {
    bits result(values.size());
    std::memcpy(result.data(), values.data(), values.size() * sizeof(float));
    return result;
}

/// A function of single floats, `n` with what else it takes, at more places than a group of four has.
void expect_values(one_node n, const std::vector<float> &x, const std::vector<float> &y) {
    std::vector<float> all, expected;
    for (int repeated = 0; repeated < 3; repeated++) {
        all.insert(all.end(), x.begin(), x.end());
        expected.insert(expected.end(), y.begin(), y.end());
    }
    n.input({static_cast<dim_t>(all.size())}, all);
    std::vector<int> &inputs = n.graph.nodes[0].inputs;
    std::rotate(inputs.begin(), inputs.end() - 1, inputs.end());
    EXPECT_EQ(bits_of(n.run<float>()), bits_of(expected)) << n.graph.nodes[0].op;
}

one_node clip(float low, float high) {
    return one_node("Clip").constant({}, std::vector<float>{low}).constant({}, std::vector<float>{high});
}

const std::vector<float> specials = {-0.f, 0.f, none, -infinity, infinity, -1e-40f, 0.5f};

TEST(SpecialValues, LimitsKeepNanAndTheSignOfZero) {
    expect_values(one_node("Relu"), specials, {-0.f, 0.f, none, 0, infinity, 0, 0.5f});
    expect_values(clip(0, 1), specials, {-0.f, 0, none, 0, 1, 0, 0.5f});
    expect_values(clip(-0.f, 1), specials, {-0.f, 0, none, -0.f, 1, -0.f, 0.5f});
    expect_values(clip(-1, 0), specials, {-0.f, 0, none, -1, 0, -1e-40f, 0});
    expect_values(clip(none, 0.25f), specials, {-0.f, 0, none, -infinity, 0.25f, -1e-40f, 0.25f});
    expect_values(clip(-1, none), specials, {-0.f, 0, none, -1, infinity, -1e-40f, 0.5f});
    expect_values(clip(3, 1), specials, {1, 1, none, 1, 1, 1, 1});
    expect_values(one_node("Clip"), specials, {-0.f, 0, none, -largest, largest, -1e-40f, 0.5f});
    expect_values(one_node("HardSigmoid"), {none, -infinity, infinity, -0.f}, {none, 0, 1, 0.5f});
}

TEST(SpecialValues, DilatedMaximaKeepTheFirstOfEqualElements) {
    const auto maximum = [](const std::vector<float> &x, const list &dilations) {
        return bits_of(one_node("MaxPool")
                           .input({1, 1, 1, 3}, x)
                           .set("kernel_shape", list{1, 3})
                           .set("dilations", dilations)
                           .run<float>());
    };
    EXPECT_EQ(maximum({0.f, -0.f, -0.f}, {2, 1}), bits_of({0.f})); // one tap is dilated
    EXPECT_EQ(maximum({none, 1.f, 2.f}, {2, 1}), bits_of({none}));
    EXPECT_EQ(maximum({none, 1.f, 2.f}, {1, 1}), bits_of({2.f}));
}

/// Windows of planes begin with their first element, those of volumes do not, not even where their depth is 1.
TEST(SpecialValues, WindowsOfPlanesAndOfVolumes) {
    const auto pooled = [](const char *op, float left, float right, const dims &image, const list &kernel) {
        return bits_of(one_node(op)
                           .input(image, std::vector<float>{left, right, left, right})
                           .set("kernel_shape", kernel)
                           .run<float>());
    };
    const dims plane = {1, 1, 2, 2}, volume = {1, 1, 1, 2, 2};
    EXPECT_EQ(pooled("MaxPool", -infinity, 1.f, plane, {2, 1}), bits_of({-infinity, 1.f}));
    EXPECT_EQ(pooled("MaxPool", -infinity, 1.f, volume, {1, 2, 1}), bits_of({-largest, 1.f}));
    EXPECT_EQ(pooled("AveragePool", -0.f, 1.f, plane, {2, 1}), bits_of({-0.f, 1.f}));
    EXPECT_EQ(pooled("AveragePool", -0.f, 1.f, volume, {1, 2, 1}), bits_of({0.f, 1.f}));
}

TEST(SpecialValues, SlopesMultiplyWhatIsBelowZero) {
    expect_values(one_node("LeakyRelu").set("alpha", -0.5f), {-0.f, 0, none, -infinity, 2, -2},
                  {-0.f, 0, none, infinity, 2, 1});
    expect_values(one_node("PRelu").constant({1}, std::vector<float>{-0.5f}),
                  {-0.f, 0, none, -infinity, 2, -2}, {-0.f, 0, none, infinity, 2, 1});
    expect_values(one_node("PRelu").constant({1}, std::vector<float>{-infinity}), {-0.f, 0, 2}, {-0.f, 0, 2});
}

TEST(SpecialValues, WhatIsLeftBehindGroupsOfFourIsTheCLibrarys) {
    EXPECT_EQ(bits_of(one_node("Elu")
                          .set("alpha", 0.3f)
                          .input<float>({7}, {-0.00039099084f, -0.42741042f, -2.75f, 0.5f, -0.00039099084f,
                                              -0.42741042f, -2.75f})
                          .run<float>()),
              (bits{0xb8f5f667, 0xbdd5b0dd, 0xbe8fc7db, 0x3f000000, 0xb8f5eccd, 0xbdd5b0df, 0xbe8fc7db}));
    const auto of = [](const char *op, float x) {
        return bits_of(one_node(op).input<float>({5}, std::vector<float>(5, x)).run<float>());
    };
    EXPECT_EQ(of("Softplus", -3.f), (bits{0x3d470389, 0x3d470389, 0x3d470389, 0x3d470389, 0x3d470388}));
    EXPECT_EQ(of("Log", 0.0558f), (bits{0xc038b3ec, 0xc038b3ec, 0xc038b3ec, 0xc038b3ec, 0xc038b3eb}));
    EXPECT_EQ(of("Log", -1.f), (bits{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffc00000}));
}

TEST(SpecialValues, OfTwoZerosGroupsOfFourTakeTheSecond) {
    const std::vector<float> zeros(6, 0.f), negative(6, -0.f);
    const bits second = {0, 0, 0, 0, 0x80000000, 0x80000000};
    for (const char *op : {"Max", "Min"}) {
        EXPECT_EQ(bits_of(one_node(op).input({6}, negative).input({6}, zeros).run<float>()), second) << op;
        EXPECT_EQ(bits_of(one_node(op).input({6}, negative).input<float>({1}, {0.f}).run<float>()), second)
            << op;
        EXPECT_EQ(bits_of(one_node(op).input<float>({1}, {0.f}).input({6}, negative).run<float>()), second)
            << op << ": one number is the second, wherever it stands";
        // Rows of three are spans of their own: groups begin at multiples of four of the whole result.
        EXPECT_EQ(
            bits_of(one_node(op).input({2, 3}, negative).input<float>({3}, {0.f, 0.f, 0.f}).run<float>()),
            bits(6, 0x80000000))
            << op;
    }
    EXPECT_EQ(bits_of(one_node("Max").input({6}, negative).run<float>()), bits(6, 0x80000000));
}

TEST(SpecialValues, DimensionsOf1AreSpansOfTheirOwn) {
    const std::vector<float> zeros(9, 0.f), negative(9, -0.f);
    for (const char *op : {"Max", "Min"}) {
        const auto of = [&](const dims &a, const std::vector<float> &first, const dims &b, float second) {
            return bits_of(one_node(op).input(a, first).input<float>(b, {second}).run<float>());
        };
        // A span of one number shares both, the first before the second.
        EXPECT_EQ(of({9, 1}, negative, {}, 0.f), bits(9, 0)) << op;
        EXPECT_EQ(of({9, 1}, zeros, {1}, -0.f), bits(9, 0x80000000)) << op;
        EXPECT_EQ(of({1}, {-0.f}, {1}, 0.f), bits{0}) << op;
        EXPECT_EQ(of({}, {0.f}, {}, -0.f), bits{0x80000000}) << op;
        // Dimensions of 1 that both have last are no spans.
        EXPECT_EQ(of({9, 1}, zeros, {1, 1}, -0.f), (bits{0x80000000, 0x80000000, 0x80000000, 0x80000000,
                                                         0x80000000, 0x80000000, 0x80000000, 0x80000000, 0}))
            << op;
    }
}

TEST(SpecialValues, OneExponentServesASpan) {
    const std::vector<float> x = numbers(112, 3.f);
    std::vector<float> exponents(16), shared(112), alone(112);
    for (std::size_t i = 0; i < 112; i++) {
        const std::size_t e = 2 + i / 7 % 2;
        exponents[i / 7] = static_cast<float>(e);
        shared[i] = e == 2 ? x[i] * x[i] : x[i] * x[i] * x[i];
        alone[i] = std::pow(x[i], exponents[i / 7]);
    }
    EXPECT_NE(bits_of(shared), bits_of(alone));
    EXPECT_EQ(bits_of(one_node("Pow").input({16, 7, 1}, x).input({16, 1, 1}, exponents).run<float>()),
              bits_of(shared));
    std::vector<float> one_by_one;
    for (const float e : exponents)
        one_by_one.insert(one_by_one.end(), 7, e);
    EXPECT_EQ(bits_of(one_node("Pow").input({16, 7, 1}, x).input({16, 7, 1}, one_by_one).run<float>()),
              bits_of(alone));
    // An exponent without dimensions serves a span of one number each, which shares the base as well.
    std::vector<float> cubes(112), powers(112);
    std::transform(x.begin(), x.end(), cubes.begin(), [](float v) { return v * v * v; });
    std::transform(x.begin(), x.end(), powers.begin(), [](float v) { return std::pow(v, 3.f); });
    const auto cubes_of = [&](const dims &exponent, bool is_constant) {
        one_node n("Pow");
        n.input({112, 1}, x).add<float>(exponent, {3}, is_constant);
        return bits_of(n.run<float>());
    };
    for (const bool is_constant : {false, true}) {
        EXPECT_EQ(cubes_of({}, is_constant), bits_of(powers));
        EXPECT_EQ(cubes_of({1}, is_constant), bits_of(powers));
        EXPECT_EQ(cubes_of({1, 1}, is_constant), bits_of(cubes));
    }
}

TEST(SpecialValues, PowersOfASignallingNan) {
    std::vector<float> x(4, 2.f);
    const std::uint32_t signalling = 0x7f800001;
    std::memcpy(x.data(), &signalling, sizeof signalling);
    const auto first = [&](one_node n) { return bits_of(n.run<float>())[0]; };
    for (const float exponent : {0.f, 1.f, 2.f, 3.f}) {
        EXPECT_EQ(first(one_node("Pow").input({4}, x).constant({}, std::vector<float>{exponent})),
                  0x7fc00001u)
            << exponent;
    }
    EXPECT_EQ(first(one_node("Pow").input({4}, x).constant({}, std::vector<std::int32_t>{0})), 0x3f800000u)
        << "f64 has no signalling NaN of it";
}

TEST(SpecialValues, SinesOfLargeAngles) {
    const bits large = {0x78bdb92a, 0x526af4bb, 0x7d13ef0f, 0x68db0f9f,
                        0x741f0b4b, 0x68310e32, 0x51402295, 0x74adeb1d};
    std::vector<float> x(8);
    std::memcpy(x.data(), large.data(), 8 * sizeof(float));
    EXPECT_EQ(bits_of(one_node("Sin").input({8}, x).run<float>()),
              (bits{0x3f4c7ed4, 0xbf7dff4d, 0x3f7e6b2e, 0x3dcd1d00, 0x3e933558, 0x3f6f1dab, 0xbf436b00,
                    0xbf7c0222}));
    EXPECT_EQ(bits_of(one_node("Cos").input({8}, x).run<float>()),
              (bits{0xbf1a0159, 0xbdffac3d, 0x3de34827, 0x3f7eb67d, 0x3f7530ca, 0x3eb6dc93, 0xbf255f2b,
                    0x3e341fd4}));
}

TEST(SpecialValues, ReductionsOfZeros) {
    const auto of = [](const char *op, const dims &d, float zero) {
        return bits_of(one_node(op).input(d, std::vector<float>(count_of(d), zero)).run<float>())[0];
    };
    for (const char *op : {"ReduceSum", "ReduceMean"}) {
        EXPECT_EQ(of(op, {}, -0.f), 0u) << op;
        EXPECT_EQ(of(op, {1}, -0.f), 0x80000000u) << op;
        EXPECT_EQ(of(op, {4}, -0.f), 0x80000000u) << op;
    }
    for (const float zero : {0.f, -0.f})
        for (const dims &d : {dims{}, dims{1}, dims{4}, dims{3, 5}})
            EXPECT_EQ(of("ReduceL1", d, zero), 0u) << zero << " of " << model::to_text(d);
    EXPECT_EQ(of("ReduceMax", {}, -0.f), 0x80000000u);
}

TEST(SpecialValues, AChosenNegativeZeroIsPositive) {
    EXPECT_EQ(bits_of(one_node("Where")
                          .input<std::uint8_t>({4}, {1, 1, 0, 1})
                          .input<float>({4}, {-0.f, none, 1, -2})
                          .input<float>({1}, {-0.f})
                          .run<float>()),
              bits_of({0.f, none, -0.f, -2.f}));
    for (const float second : {-0.f, 3.f}) // one number of each row: it comes first
        EXPECT_EQ(bits_of(one_node("Where")
                              .input<std::uint8_t>({2, 1}, {1, 0})
                              .input<float>({2, 2}, {-0.f, 1, -0.f, 1})
                              .input<float>({1}, {second})
                              .run<float>()),
                  bits_of({-0.f, 1, second + 0.f, second + 0.f}));
}

TEST(SpecialValues, NanIsTheLargestElementOfAVectorAlone) {
    const std::vector<float> x = {1, 2, none, 5, none};
    EXPECT_EQ(one_node("ArgMax").set("keepdims", std::int64_t{0}).input({5}, x).run<std::int32_t>(),
              (std::vector<std::int32_t>{2}));
    EXPECT_EQ(one_node("ArgMax")
                  .set("axis", std::int64_t{1})
                  .set("keepdims", std::int64_t{0})
                  .input({1, 5}, x)
                  .run<std::int32_t>(),
              (std::vector<std::int32_t>{3}));
}

// ---- DynamicQuantizeLinear

struct quantized {
    float scale;
    std::uint8_t zero_point;
    std::vector<std::uint8_t> codes;
};

quantized dynamically_quantized(const std::vector<float> &x) {
    one_node n("DynamicQuantizeLinear");
    n.input({static_cast<dim_t>(x.size())}, x).output().output().output();
    return {n.run<float>(1)[0], n.run<std::uint8_t>(2)[0], n.run<std::uint8_t>(0)};
}

void expect_quantized(const std::vector<float> &x, float scale, int zero_point,
                      const std::vector<std::uint8_t> &codes) {
    const quantized q = dynamically_quantized(x);
    if (scale == scale)
        EXPECT_EQ(q.scale, scale);
    else
        EXPECT_NE(q.scale, q.scale);
    EXPECT_EQ(q.zero_point, zero_point);
    EXPECT_EQ(q.codes, codes);
}

/// -3 to 3 and again, with one element of another value.
std::vector<float> ramp(std::size_t count, std::size_t place, float value) {
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; i++)
        x[i] = static_cast<float>(i % 7) - 3.f;
    x[place] = value;
    return x;
}

TEST(DynamicQuantization, OfNanDependsOnItsPlace) {
    using codes = std::vector<std::uint8_t>;
    expect_quantized(std::vector<float>(20, none), none, 255, codes(20, 0));
    expect_quantized({none, none}, 1.f, 0, {0, 0}); // too few for a vector: NaN is skipped
    expect_quantized(ramp(8, 7, none), none, 255, codes(8, 0));
    expect_quantized(ramp(8, 3, none), 6.f / 255, 128, {0, 43, 86, 0, 170, 213, 255, 0});
    for (const std::size_t count : {17, 23, 64})
        expect_quantized(ramp(count, count / 8 * 8 - 1, none), none, 255, codes(count, 0));
    // A NaN makes its lane forget what was before: here the lowest number.
    std::vector<float> x(16, 1.f);
    x[2] = -5.f;
    x[10] = none;
    expect_quantized(x, 1.f / 255, 0,
                     {255, 255, 0, 255, 255, 255, 255, 255, 255, 255, 0, 255, 255, 255, 255, 255});
}

TEST(DynamicQuantization, OfInfinities) {
    expect_quantized(ramp(5, 1, infinity), infinity, 0, {0, 0, 0, 0, 0});
    expect_quantized(ramp(5, 1, -infinity), infinity, 255, {255, 0, 255, 255, 255});
    expect_quantized({infinity, -infinity, 1, 1, 1, 1, 1, 1}, infinity, 255,
                     {0, 0, 255, 255, 255, 255, 255, 255});
}

} // namespace
} // namespace octet::tests
