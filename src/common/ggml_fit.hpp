#pragma once // SPDX-License-Identifier: Apache-2.0

// Scales of ggml's K formats: a quantizer tries several and keeps the one with the least weighted error. Each sum is
// in f32 and in the order of the elements, since the bytes of a file depend on its last bits.

#include <array>
#include <cstdint>

namespace octet::impl {

/// Codes of up to 32 elements, and what they are multiples of.
struct fitted_group {
    float scale = 0.f;
    float minimum = 0.f; ///< subtracted: an element is about scale * code - minimum
    std::array<int, 32> codes = {};
};

/// q4_K: 32 elements by codes 0 to 15, weighted by their magnitudes.
fitted_group fit_with_minimum(const float *x);

/// q6_K: 16 elements by codes 0 to 63, 32 of which is zero; weighted by their squares.
fitted_group fit_around_zero(const float *x);

/// To nearest even.
int nearest_code(float x);

} // namespace octet::impl
