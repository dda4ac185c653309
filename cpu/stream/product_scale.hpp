#pragma once // SPDX-License-Identifier: Apache-2.0

// A fixed-point rule's scaling of products of two 8-bit codes as one fused multiply-add of floats:
//
//   round_to_even(fma(p, factor, p < 0 && is_symmetric ? -offset : offset))
//
// Products have 17 bits, so they are floats; results that are codes have so few that a factor of 24 bits can
// tell all of them apart. The offset is what the rule does with ties, and with numbers near them.

#include <optional>

#include "common/requantize.hpp"

namespace octet::impl::stream {

struct product_scale {
    float factor, offset;
    bool is_symmetric;
};

/// Equal to requantize(rule, p, m) for all p from `least` to `greatest` (at most 2^17 from 0) where it is within
/// 9 bits of 0, and beyond them where it is not; nothing if no factor and offset are found.
std::optional<product_scale> make_product_scale(requantization_rule rule, const fixed_point_multiplier &m,
                                                std::int32_t least, std::int32_t greatest);

/// The result that generated code computes.
std::int32_t apply(const product_scale &s, std::int32_t product);

} // namespace octet::impl::stream
