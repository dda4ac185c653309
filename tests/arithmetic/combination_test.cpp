// Orders of a product's floats: where every operation is exact all of them give the exact result; where one is not,
// each gives what its formula says. `octet check` compares them with the libraries.
// SPDX-License-Identifier: Apache-2.0
#include "common/combination.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace octet::impl {
namespace {

/// A row times a column: 64 elements in two groups.
struct problem {
    std::vector<std::int32_t> x = std::vector<std::int32_t>(64), w = std::vector<std::int32_t>(64);
    std::vector<source_parameters> parameters = {{0.5f, 2.f, 0}};
    std::vector<float> w_scales = {0.25f}, offsets, sums;
    float bias = 3.f;

    problem() {
        for (std::size_t i = 0; i < 64; i++) {
            x[i] = static_cast<std::int32_t>(i * 7 % 31) - 15;
            w[i] = static_cast<std::int32_t>(i * 5 % 15) - 7;
        }
    }
    dim_t group() const { return w_scales.size() == 2 ? 32 : 64; }
    float combined(combination order, bool has_bias = true) const {
        return combine(
            order, 64, group(),
            {x.data(), parameters.data(), parameters.size() == 2, sums.empty() ? nullptr : sums.data()},
            {w.data(), w_scales.data(), offsets.empty() ? nullptr : offsets.data()},
            has_bias ? &bias : nullptr);
    }
    double exact(bool has_bias) const {
        double y = has_bias ? double{bias} : 0.;
        for (std::size_t i = 0; i < 64; i++) {
            const std::size_t g = w_scales.size() == 2 ? i / 32 : 0;
            const source_parameters &p = parameters[parameters.size() == 2 ? g : 0];
            y += double{p.scale} * (x[i] - p.zero_point) * double{w_scales[g]} * w[i];
        }
        for (std::size_t g = 0; g < offsets.size(); g++)
            y += double{offsets[g]} * double{sums[g]};
        return y;
    }
};

TEST(Combination, ExactPerColumn) {
    problem p;
    p.parameters[0].zero_point = -9;
    for (const combination order : {combination::dynamic_row, combination::dynamic_group,
                                    combination::xnnpack, combination::xnnpack_unfused, combination::kleidiai,
                                    combination::litert, combination::onnxruntime, combination::qnnpack})
        for (const bool has_bias : {true, false})
            EXPECT_EQ(double{p.combined(order, has_bias)}, p.exact(has_bias)) << static_cast<int>(order);
}

TEST(Combination, ExactInGroups) {
    problem p;
    p.w_scales = {0.25f, 2.f};
    p.parameters[0].zero_point = 11;
    for (const combination order :
         {combination::dynamic_group, combination::xnnpack_groups, combination::xnnpack_groups_avx2,
          combination::xnnpack_groups_sse, combination::xnnpack_groups_scalar, combination::kleidiai_groups,
          combination::kleidiai_groups_of_4})
        for (const bool has_bias : {true, false})
            EXPECT_EQ(double{p.combined(order, has_bias)}, p.exact(has_bias)) << static_cast<int>(order);
    p.parameters = {{0.5f, 2.f, 3}, {4.f, 0.25f, -5}};
    for (const bool has_bias : {true, false})
        EXPECT_EQ(double{p.combined(combination::dynamic_group, has_bias)}, p.exact(has_bias));
}

TEST(Combination, ExactInBlocksOfGgml) {
    problem p;
    p.w_scales = {0.25f, 2.f};
    p.parameters = {{0.5f, 2.f, 0}, {4.f, 0.25f, 0}};
    for (const combination order : {combination::ggml_q8_0, combination::ggml_q4_0, combination::ggml_avx2})
        EXPECT_EQ(double{p.combined(order, false)}, p.exact(false)) << static_cast<int>(order);
    p.offsets = {-1.5f, 0.75f};
    p.sums = {12.f, -5.f};
    for (const combination order : {combination::ggml_q4_1, combination::ggml_avx2})
        EXPECT_EQ(double{p.combined(order, false)}, p.exact(false)) << static_cast<int>(order);
}

/// One product of 1: what is rounded in between shows in the last bit.
TEST(Combination, RoundsWhereTheFormulaSays) {
    problem p;
    p.x.assign(64, 0);
    p.w.assign(64, 0);
    p.x[0] = p.w[0] = 3;
    p.parameters[0].scale = 0.1f;
    p.w_scales[0] = 0.7f;
    p.bias = 0.3f;
    const float s = 0.1f, w = 0.7f, b = 0.3f, product = s * w, scaled = 9.f * s;
    EXPECT_EQ(p.combined(combination::dynamic_row), std::fma(9.f, product, b));
    EXPECT_EQ(p.combined(combination::dynamic_group), std::fma(9.f * w, s, b));
    EXPECT_EQ(p.combined(combination::xnnpack), std::fma(scaled, w, b));
    const float unfused = scaled * w, late = 9.f * product;
    EXPECT_EQ(p.combined(combination::xnnpack_unfused), unfused + b);
    for (const combination order :
         {combination::kleidiai, combination::litert, combination::onnxruntime, combination::qnnpack})
        EXPECT_EQ(p.combined(order), late + b);
    EXPECT_EQ(p.combined(combination::dynamic_row, false), late);
}

/// A source scale of NaN makes the result NaN under Octet's own orders.
TEST(Combination, PoisonSpreads) {
    problem p;
    p.parameters[0].scale = std::nanf("");
    for (const combination order : {combination::dynamic_row, combination::dynamic_group})
        for (const bool has_bias : {true, false})
            EXPECT_TRUE(std::isnan(p.combined(order, has_bias)));
}

} // namespace
} // namespace octet::impl
