#pragma once // SPDX-License-Identifier: Apache-2.0

// One result of a product whose source was quantized while it runs: how exact sums of codes, scales and a bias become
// a float. The integers need no order; the operations in f32 do, and each library has another one. These are the
// definitions; doc/dynamic.md has them as formulas.

#include <cmath>

#include "common/source_quantizer.hpp"

namespace octet::impl {

/// A row of the source.
struct product_row {
    const std::int32_t *codes;
    const source_parameters *parameters; ///< one, or one for each group
    bool has_groups;                     ///< as many parameters as groups
    const float *sums = nullptr;         ///< q8_1: one for each group, where the weights have offsets
};

/// A column of the weights.
struct product_column {
    const std::int32_t *codes; ///< minus their zero points
    const float *scales;       ///< one for each group
    const float *offsets = nullptr;
};

/// What an order asks of groups, for checks of descriptors.
struct combination_facts {
    bool has_groups;          ///< scales of groups of K; else one for each column
    dim_t unit;               ///< groups are multiples of it, and K one of groups; 1: the last may be short
    dim_t longest;            ///< group; 0: any
    bool takes_source_groups; ///< the source has parameters for each group
    bool takes_other_spans;   ///< or for rows, or one for all
    bool has_negative_scales = false; ///< of weights
    bool has_offsets = false;         ///< of the weights, beside their scales
    bool keeps_bias_of_zeros = false; ///< where the whole source is zero, the result is the bias alone
};
const combination_facts &facts_of(combination order);

/// The exact sum of a row and a column, as f32, and their scales.
struct column_sum {
    float sum, source_scale, weights_scale;
};

/// The orders for one scale per column; null without a bias.
template <combination order> inline float combine_sum(const column_sum &s, const float *bias) {
    const float bias_or_zero = bias ? *bias : 0.f;
    if constexpr (order == combination::dynamic_row) {
        const float scale = s.source_scale * s.weights_scale;
        return bias ? std::fma(s.sum, scale, *bias) : s.sum * scale;
    } else if constexpr (order == combination::xnnpack) {
        return std::fma(s.sum * s.source_scale, s.weights_scale, bias_or_zero);
    } else if constexpr (order == combination::xnnpack_unfused) {
        return s.sum * s.source_scale * s.weights_scale + bias_or_zero;
    } else if constexpr (order == combination::kleidiai) { // absent biases are added
        return s.sum * (s.weights_scale * s.source_scale) + bias_or_zero;
    } else if constexpr (order == combination::onnxruntime) {
        const float y = s.sum * (s.source_scale * s.weights_scale);
        return bias ? y + *bias : y;
    } else {
        static_assert(order == combination::litert || order == combination::qnnpack);
        return bias_or_zero + s.sum * (s.source_scale * s.weights_scale);
    }
}

/// `k` products in groups of `group`, the last of which may be short; `group` is k where there are none. Without a bias
/// that is null.
float combine(combination order, dim_t k, dim_t group, const product_row &x, const product_column &w,
              const float *bias);

} // namespace octet::impl
