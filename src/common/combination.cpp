// A function per order, each the formula of its library; operations are rounded one by one unless std::fma says
// otherwise.
// SPDX-License-Identifier: Apache-2.0
#include "common/combination.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace octet::impl {

namespace {

/// A row and a column with the exact sums over parts of them.
struct pair_of_vectors {
    dim_t k, group;
    const product_row &x;
    const product_column &w;
    const float *bias;

    dim_t groups() const { return (k + group - 1) / group; }
    dim_t end_of(dim_t g) const { return std::min(k, (g + 1) * group); }
    const source_parameters &parameters(dim_t g) const { return x.parameters[x.has_groups ? g : 0]; }
    /// Absent, it is added all the same.
    float bias_or_zero() const { return bias ? *bias : 0.f; }

    /// Sum of (x - zero_point) * w.
    std::int64_t exact_sum(dim_t begin, dim_t end, std::int32_t zero_point) const {
        std::int64_t sum = 0;
        for (dim_t i = begin; i < end; i++)
            sum += std::int64_t{x.codes[i] - zero_point} * w.codes[i];
        return sum;
    }
    float sum(dim_t begin, dim_t end, std::int32_t zero_point) const {
        return static_cast<float>(exact_sum(begin, end, zero_point));
    }
    float sum_of_group(dim_t g) const { return sum(g * group, end_of(g), parameters(g).zero_point); }
    float sum_of_all() const { return sum(0, k, parameters(0).zero_point); }
    /// Sum of w.
    float sum_of_weights(dim_t begin, dim_t end) const {
        std::int64_t sum = 0;
        for (dim_t i = begin; i < end; i++)
            sum += w.codes[i];
        return static_cast<float>(sum);
    }
};
using operands = const pair_of_vectors &;

// ---- own

template <combination order> float by_columns(operands p) {
    return combine_sum<order>({p.sum_of_all(), p.parameters(0).scale, p.w.scales[0]}, p.bias);
}

float dynamic_group(operands p) {
    float a = 0.f;
    for (dim_t g = 0; g < p.groups(); g++)
        a = std::fma(p.sum_of_group(g),
                     p.x.has_groups ? p.parameters(g).scale * p.w.scales[g] : p.w.scales[g], a);
    if (p.x.has_groups)
        return p.bias ? a + *p.bias : a;
    const float scale = p.parameters(0).scale;
    return p.bias ? std::fma(a, scale, *p.bias) : a * scale;
}

// ---- XNNPACK

/// The weights' part of the zero point, summed in f32 when they are packed; the products are exact.
float sum_of_scaled_weights(operands p, dim_t step) {
    float sum = 0.f;
    for (dim_t j = 0; j < p.k; j += step)
        sum -= p.sum_of_weights(j, j + step) * p.w.scales[j / p.group];
    return sum;
}
constexpr dim_t steps_of_vectors = 16, steps_of_scalars = 2;

/// Kernels keep codes in the upper bits, so scales are a sixteenth.
float sixteenth_of_scale(operands p, dim_t g) { return p.w.scales[g] / 16; }

/// The codes are u8 here.
float xnnpack_groups(operands p) {
    const auto zero_point = static_cast<float>(p.parameters(0).zero_point + 128);
    float a = sum_of_scaled_weights(p, steps_of_vectors) * zero_point;
    for (dim_t g = 0; g < p.groups(); g++)
        a = std::fma(16 * p.sum(g * p.group, p.end_of(g), -128), sixteenth_of_scale(p, g), a);
    return a * p.parameters(0).scale + p.bias_or_zero();
}

/// Four sums; lane l has the elements k with k % 8 / 2 = l.
float xnnpack_groups_avx2(operands p) {
    const auto zero_point = static_cast<float>(p.parameters(0).zero_point);
    std::array<float, 4> a = {};
    for (int lane = 0; lane < 4; lane++) {
        a[lane] = (lane == 0 ? sum_of_scaled_weights(p, steps_of_vectors) : 0.f) * zero_point;
        for (dim_t g = 0; g < p.groups(); g++) {
            std::int64_t sum = 0;
            for (dim_t k = g * p.group + 2 * lane; k < p.end_of(g); k += 8)
                sum += p.exact_sum(k, std::min(k + 2, p.end_of(g)), 0);
            a[lane] = std::fma(16 * static_cast<float>(sum), sixteenth_of_scale(p, g), a[lane]);
        }
    }
    return std::fma((a[0] + a[1]) + (a[2] + a[3]), p.parameters(0).scale, p.bias_or_zero());
}

float xnnpack_groups_unfused(operands p, dim_t step) {
    float a = sum_of_scaled_weights(p, step) * static_cast<float>(p.parameters(0).zero_point);
    for (dim_t g = 0; g < p.groups(); g++)
        a += 16 * p.sum(g * p.group, p.end_of(g), 0) * sixteenth_of_scale(p, g);
    return a * p.parameters(0).scale + p.bias_or_zero();
}
float xnnpack_groups_sse(operands p) { return xnnpack_groups_unfused(p, steps_of_vectors); }
float xnnpack_groups_scalar(operands p) { return xnnpack_groups_unfused(p, steps_of_scalars); }

// ---- KleidiAI

/// Weights are summed in `step` from both halves of 32.
float kleidiai_groups_by(operands p, dim_t step) {
    float weights = 0.f, a = 0.f;
    for (dim_t j = 0; j < p.k; j += 32)
        for (dim_t i = j; i < j + 16; i += step)
            weights += (p.sum_of_weights(i, i + step) + p.sum_of_weights(i + 16, i + 16 + step)) *
                       p.w.scales[j / p.group];
    for (dim_t g = 0; g < p.groups(); g++)
        a = std::fma(p.sum(g * p.group, p.end_of(g), 0), p.w.scales[g], a);
    a = std::fma(weights, static_cast<float>(-p.parameters(0).zero_point), a);
    return a * p.parameters(0).scale + p.bias_or_zero();
}
float kleidiai_groups(operands p) { return kleidiai_groups_by(p, 8); }
float kleidiai_groups_of_4(operands p) { return kleidiai_groups_by(p, 4); }

// ---- ggml

template <typename Term> float ascending(operands p, Term term) {
    float sum = 0.f;
    for (dim_t g = 0; g < p.groups(); g++)
        sum += term(g);
    return sum + p.bias_or_zero();
}

float ggml_q8_0(operands p) {
    return ascending(p, [&](dim_t g) { return p.sum_of_group(g) * (p.w.scales[g] * p.parameters(g).scale); });
}
float ggml_q4_0(operands p) {
    return ascending(p, [&](dim_t g) { return p.sum_of_group(g) * p.w.scales[g] * p.parameters(g).scale; });
}
float offset_of(operands p, dim_t g) { return p.w.offsets[g] * p.x.sums[g]; }
float ggml_q4_1(operands p) {
    return ascending(p, [&](dim_t g) {
        return p.w.scales[g] * p.parameters(g).scale * p.sum_of_group(g) + offset_of(p, g);
    });
}

/// Eight sums, each of four neighbours in a group of 32; the offsets apart, added last.
float ggml_avx2(operands p) {
    std::array<float, 8> a = {};
    float offsets = 0.f;
    for (dim_t g = 0; g < p.groups(); g++) {
        for (int lane = 0; lane < 8; lane++) {
            const dim_t first = g * p.group + 4 * lane;
            a[lane] = std::fma(p.w.scales[g] * p.parameters(g).scale, p.sum(first, first + 4, 0), a[lane]);
        }
        if (p.w.offsets)
            offsets += offset_of(p, g);
    }
    for (int lane = 0; lane < 4; lane++)
        a[lane] = a[lane + 4] + a[lane];
    const float sum = (a[0] + a[2]) + (a[1] + a[3]);
    return (p.w.offsets ? sum + offsets : sum) + p.bias_or_zero();
}

// ---- the table

struct combination_row {
    float (*function)(operands);
    combination_facts facts;
};
constexpr combination_facts columns{false, 1, 0, false, true}, groups_of_any{true, 1, 0, true, true},
    groups_of_32s{true, 32, 0, false, true}, blocks{true, 32, 32, true, false, true},
    blocks_with_offsets{true, 32, 32, true, false, true, true},
    hybrid{false, 1, 0, false, true, false, false, true};

constexpr combination_row rows[] = { // in the order of the enumeration
    {by_columns<combination::dynamic_row>, columns},
    {dynamic_group, groups_of_any},
    {by_columns<combination::xnnpack>, columns},
    {by_columns<combination::xnnpack_unfused>, columns},
    {xnnpack_groups, groups_of_32s},
    {xnnpack_groups_avx2, groups_of_32s},
    {xnnpack_groups_sse, groups_of_32s},
    {xnnpack_groups_scalar, groups_of_32s},
    {by_columns<combination::kleidiai>, columns},
    {kleidiai_groups, groups_of_32s},
    {kleidiai_groups_of_4, groups_of_32s},
    {by_columns<combination::litert>, hybrid},
    {by_columns<combination::onnxruntime>, columns},
    {by_columns<combination::qnnpack>, columns},
    {ggml_q8_0, blocks},
    {ggml_q4_0, blocks},
    {ggml_q4_1, blocks_with_offsets},
    {ggml_avx2, blocks}};
static_assert(std::size(rows) == static_cast<std::size_t>(combination::ggml_avx2) + 1);

} // namespace

const combination_facts &facts_of(combination order) { return rows[static_cast<std::size_t>(order)].facts; }

float combine(combination order, dim_t k, dim_t group, const product_row &x, const product_column &w,
              const float *bias) {
    return rows[static_cast<std::size_t>(order)].function({k, group, x, w, bias});
}

} // namespace octet::impl
