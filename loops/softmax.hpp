#pragma once // SPDX-License-Identifier: Apache-2.0

// The loops of softmax over a row, without its exponentials, which are a primitive's.

#include "octet/types.hpp"

namespace octet::loops {

/// The loops for the level in use.
struct softmax_loops {
    softmax_loops();

    /// y = x - max(x), of n elements.
    void (*subtract_largest)(const float *x, dim_t n, float *y);
    /// The sum over 16 lanes, which are added up by halves, then by neighbours.
    float (*sum)(const float *x, dim_t n);
};

} // namespace octet::loops
