#pragma once // SPDX-License-Identifier: Apache-2.0

// Keys and values of attention as codes of 8 or 4 bits, in ONNX Runtime's arithmetic: what a cache of a decoder may
// hold.

#include "octet/types.hpp"

namespace octet::loops {

/// Rows of `width` codes x ≈ code * scale, with one scale for all or one for each element of a row. Codes of 4 bits are
/// code + 8, two in a byte, the first one in the low half.
struct cached_codes {
    const void *codes;
    const float *scales;
    dim_t width;
    int bits; ///< 8 or 4
    bool is_per_element;

    dim_t row_bytes() const { return width * bits / 8; }
    bool has_one_scale_behind_sums() const { return bits == 8 && !is_per_element; }

    /// Writes row `row` of codes as floats: the codes themselves as `codes_of`, and what products are made of, codes of
    /// 8 bits with one scale or codes times scales.
    void read(dim_t row, float *codes_of, float *values) const;
    /// Rounds a row of floats to codes.
    void round(const float *x, void *to) const;
    float scale(dim_t i) const { return scales[is_per_element ? i : 0]; }
};

/// Products with a row as `read` gives it.
struct cached_code_loops {
    cached_code_loops(); ///< for the level in use

    /// q · row: two sets of 16 lanes with fma; elements behind the last 16 in order.
    float (*dot)(const cached_codes &c, const float *q, const float *codes_of, const float *values);
    /// y = y + p * row, element by element with fma.
    void (*add)(const cached_codes &c, float p, const float *codes_of, const float *values, float *y);
};

} // namespace octet::loops
