#pragma once // SPDX-License-Identifier: Apache-2.0

// Quantizers of products whose source is quantized while they run: scale, zero point and codes of elements that
// share them, which are a tensor, a row or a block of a row. Libraries differ in how they choose the parameters and
// in how they round; each is a row of the table in source_quantizer.cpp. doc/dynamic.md has the formulas.

#include "octet/source_quantization.hpp"

namespace octet::impl {

/// Throws `invalid_arguments` for a mode or a code that the quantizer does not have.
void check(const source_quantization &q);

/// True if code(x) = clamp(rne(x * inverse) + zero_point).
bool multiplies_and_rounds_to_even(source_quantizer by);
/// True if the scales are stored as f16, rounded after the codes are made: ggml's.
bool stores_f16_scales(source_quantizer by);

/// What elements share: x is about scale * (code - zero_point).
struct source_parameters {
    float scale = 1.f;
    float inverse = 0.f; ///< the factor of elements; 0: every code is the zero point
    std::int32_t zero_point = 0;
};

source_parameters parameters_of(const source_quantization &q, const float *x, dim_t count);
std::int32_t code_of(const source_quantization &q, const source_parameters &p, float x);

/// Quantizes rows of `k` elements, each `group` of a row with parameters of their own; the last group of a row may be
/// short. A group of k is a row; one row of all elements is a tensor. `parameters` gets those of all groups.
void quantize_source(const source_quantization &q, const float *x, dim_t rows, dim_t k, dim_t group,
                     void *codes, source_parameters *parameters);

} // namespace octet::impl
