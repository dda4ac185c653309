#pragma once // SPDX-License-Identifier: Apache-2.0

// Rotation of pairs of elements by angles, by which decoders mark positions, in ONNX Runtime's arithmetic.

#include "octet/types.hpp"

namespace octet::loops {

/// Rows of `width` elements, of which the first `rotated` are pairs: (x[i], x[i + rotated / 2]), or
/// (x[2 i], x[2 i + 1]) where they are interleaved. The others are copied.
struct rotary_rows {
    rotary_rows(dim_t row_width, dim_t rotated_elements, bool are_interleaved); ///< for the level in use

    /// y = (a cos - b sin, a sin + b cos) for each pair (a, b) of a row; `cosines` and `sines` have one number for each
    /// pair. y is not x.
    void rotate(const float *x, const float *cosines, const float *sines, float *y) const;

    dim_t width, rotated;

private:
    void (*loop_)(const float *x, const float *cosines, const float *sines, dim_t rotated, float *y);
};

} // namespace octet::loops
