#pragma once // SPDX-License-Identifier: Apache-2.0

// Decides where the rows of a band are read: in the user's memory, in scratch memory that is filled here, or
// in both.

#include <array>

#include "cpu/dot/copy.hpp"

namespace octet::impl {

/// Lines (flat plans: rows) [first, first + count) of output slice `od` of one outer index.
struct row_band {
    dim_t outer, od, first, count;
};

/// Rows [first_row, first_row + rows) of every line of a band.
struct row_segment {
    dim_t first_row = 0, rows = 0;
    const std::uint8_t *src = nullptr; ///< that row of the first line
    dim_t line_stride = 0;             ///< bytes
    const std::int64_t *tap_offsets = nullptr;
    dim_t position = 0; ///< gathered rows: of the first row in its line of the image
};

/// Left to right; those without rows are empty.
using row_segments = std::array<row_segment, 3>;

/// `copy.base` is the first byte of the outer index. Copies are valid until the calling thread's next band.
row_segments prepare_rows(const dot_geometry &g, const dot_plan &p, const copy_source &copy,
                          const row_band &band);

} // namespace octet::impl
