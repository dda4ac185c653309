#pragma once // SPDX-License-Identifier: Apache-2.0

// Source bytes into scratch rows: transposed to channels-last, padded with the zero point, and as the kernel takes
// codes: with the sign bit of a signed source flipped, or as 16-bit words.

#include <cstdint>

#include "cpu/dot/plan.hpp"

namespace octet::impl {

/// The source and the zero points of one execution, as copies need them.
struct copy_source {
    const std::uint8_t *base; ///< first byte of this outer index
    std::int16_t padding;     ///< zero point of what is copied
};

/// Sum of bytes modulo 2^32.
std::int32_t sum_bytes(const std::uint8_t *from, dim_t count, bool is_signed);
/// Sum of 16-bit words modulo 2^32.
std::int32_t sum_words(const std::uint8_t *from, dim_t count);

/// Rows [first, first + count) of a flat plan (or of the line that starts at row `first`) one below the
/// other.
void copy_rows(const dot_geometry &g, const dot_plan &p, const copy_source &src, dim_t first, dim_t count,
               std::uint8_t *to);

/// Output lines [first, first + count) of output slice `od`, and where on the padded width the copy begins.
struct image_part {
    dim_t od, first, count, column;
};

/// `p.copy[2]` columns of the input positions that these lines read.
void copy_image(const dot_geometry &g, const dot_plan &p, const copy_source &src, const image_part &part,
                std::uint8_t *to);

} // namespace octet::impl
