#pragma once // SPDX-License-Identifier: Apache-2.0

// Reductions of floats in ONNX Runtime's orders, which differ with the place of the reduced dimensions, on
// the threads of primitives.

#include <cstdint>
#include <string>
#include <vector>

#include "loops/kept_walk.hpp"
#include "octet/types.hpp"

namespace octet::loops {

/// The dimensions of a reduction as a word of r (reduced) and k (kept). Neighbours of one kind are one
/// dimension: in "kr" the last dimensions are reduced.
struct reduction_form {
    std::string kinds;
    std::vector<dim_t> sizes;
};
reduction_form reduction_form_of(const std::vector<dim_t> &dims, const std::vector<bool> &is_reduced);

/// A dense tensor that is reduced to `count` results, and where they lie (kept_walk.hpp).
struct reduction {
    reduction_form form;
    kept_walk walk;
    dim_t elements, count;
};

/// Sums or means: a row over lanes, rows one after the other, or four rows at a time.
void reduce_by_sums(const reduction &r, bool is_mean, const float *x, float *y);

/// The largest or the smallest elements: the order decides what becomes of a NaN and which of two zeros is
/// left. `has_begun` is scratch of `count` bytes.
void reduce_to_extremes(const reduction &r, bool is_largest, const float *x, float *y,
                        std::uint8_t *has_begun);

/// Each result takes in its elements in the order of memory; where all dimensions are reduced, in that of rows.hpp.
enum class fold { product, sum_of_magnitudes, sum_of_squares, root_of_squares, logarithm_of_sum };
void reduce_by_fold(const reduction &r, fold f, const float *x, float *y);

/// The logarithm of a sum of exponentials, less the largest finite element before. If the first element is
/// infinite, 0 counts as one; where all dimensions are reduced, a largest element that is infinite is the
/// result. `largest` is scratch of `count` floats.
void reduce_by_log_sum_exp(const reduction &r, const float *x, float *y, float *largest);

/// Means of images that lie one after the other: pixels over four lanes, or in order.
void reduce_images(const float *x, dim_t images, dim_t pixels, bool is_in_order, float *y);

} // namespace octet::loops
