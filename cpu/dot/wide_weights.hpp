#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights as 16-bit words, for products without a dot-product instruction. They are made of the packed bytes when a
// panel of columns meets a band of rows: what is packed is the same for all instruction sets, and half as long.

#include <cstdint>

#include "cpu/dot/plan.hpp"

namespace octet::impl {

/// A block of 16 columns: [tap][quad][pair][16 columns][2 words], or of filtered rows, in vectors of `lanes` columns,
/// [vector][filtered taps][pass][quad][part of the pass][pair][columns][2 words].
void widen_weights(const dot_plan &p, dim_t kernel_width, int lanes, const std::int8_t *from,
                   std::int8_t *to);

} // namespace octet::impl
