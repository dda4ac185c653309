#pragma once // SPDX-License-Identifier: Apache-2.0

// The loops of quantize.cpp over the elements of a row, for levels that have AVX2 alone.

#include <array>
#include <cstdint>

#include "common/source_quantizer.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// Smallest and largest element, zero and, if there is an element that is not finite, a NaN.
using extremes = std::array<float, 3>;
extremes extremes_by_vectors(const float *x, dim_t count);

/// Codes by 32, clamp(rne(x * inverse) + zero point); returns how many elements that were. Codes are those of s8,
/// flipped by `flip`.
dim_t store_codes(const float *x, dim_t count, const source_parameters &p, int low, int high, int flip,
                  std::uint8_t *codes);

} // namespace octet::impl
