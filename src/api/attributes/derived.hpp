#pragma once // SPDX-License-Identifier: Apache-2.0

// Multipliers that nobody gave: of sums of products whose attributes say a fixed-point rule and the scales of src,
// weights and dst. Each framework multiplies and divides the three in a precision of its own, which decides the last
// bits; doc/arithmetic.md, section 4, has the table.

#include "api/attributes/support.hpp"
#include "common/epilogue.hpp"

namespace octet::impl {

/// True if the rule's parameters follow from scales.
bool derives_from_scales(requantization_rule rule);

/// Replaces the scales of an epilogue by the multipliers, or real scales, of its rule. Throws `invalid_arguments`
/// for a missing scale and for a factor outside the rule's domain, `unimplemented` for scales given at execution.
void derive_from_scales(const attribute_support &support, epilogue &e);

} // namespace octet::impl
