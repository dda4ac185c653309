// One product of each sum is rounded, the other one is not: fma. Interleaved pairs behind whole sixteens have both
// rounded, but for the first of them. Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/rotary.hpp"

#include <algorithm>

#include "loops/levels.hpp"

namespace octet::loops {
namespace {

OCTET_LOOP void rotate_halves(const float *x, const float *cosines, const float *sines, dim_t rotated,
                              float *y) {
    const dim_t half = rotated / 2;
    for (dim_t i = 0; i < half; i++) {
        const float a = x[i], b = x[half + i];
        y[i] = __builtin_fmaf(a, cosines[i], -(b * sines[i]));
        y[half + i] = __builtin_fmaf(a, sines[i], b * cosines[i]);
    }
}

OCTET_LOOP void rotate_interleaved(const float *x, const float *cosines, const float *sines, dim_t rotated,
                                   float *y) {
    const dim_t half = rotated / 2, fused = std::min(half, rotated / 16 * 8 + 1);
    for (dim_t i = 0; i < fused; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = __builtin_fmaf(a, cosines[i], -(b * sines[i]));
        y[2 * i + 1] = __builtin_fmaf(a, sines[i], b * cosines[i]);
    }
    for (dim_t i = fused; i < half; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * cosines[i] - b * sines[i];
        y[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
}

} // namespace

rotary_rows::rotary_rows(dim_t row_width, dim_t rotated_elements, bool are_interleaved)
    : width(row_width), rotated(rotated_elements),
      loop_(are_interleaved ? compiled_for_level<rotate_interleaved>()
                            : compiled_for_level<rotate_halves>()) {}

void rotary_rows::rotate(const float *x, const float *cosines, const float *sines, float *y) const {
    loop_(x, cosines, sines, rotated, y);
    std::copy(x + rotated, x + width, y + rotated);
}

} // namespace octet::loops
