#pragma once // SPDX-License-Identifier: Apache-2.0

// TFLite's ADD and SUB: both operands are brought to twice the larger scale, 20 bits up, and the sum to the
// result's scale. ADD derives its multipliers in f64, SUB in f32 (`Real`).

#include <algorithm>

#include "common/requantize.hpp"
#include "octet/requantization.hpp"

namespace octet::impl {

constexpr int add_left_shift =
    20; // TFLite's constant for 8-bit operands: room for the rounding of M_i <= 1/2

/// A code less its zero point, in the scale of the sum.
inline std::int32_t rescaled_code(requantization_rule rule, std::int32_t centred,
                                  const fixed_point_multiplier &m) {
    return requantize(rule, wrap(centred * (std::int64_t{1} << add_left_shift)), m);
}

template <typename Real>
add_multipliers scaled_sum_multipliers(requantization_rule rule, Real scale_a, Real scale_b, Real dst_scale) {
    const Real twice_larger = 2 * std::max(scale_a, scale_b);
    const auto fixed = [&](Real real) { return from_double(rule, static_cast<double>(real)); };
    return {fixed(scale_a / twice_larger), fixed(scale_b / twice_larger),
            fixed(twice_larger / (Real{1 << add_left_shift} * dst_scale))};
}

} // namespace octet::impl
