#pragma once // SPDX-License-Identifier: Apache-2.0

// Normalizations of rows of floats in ONNX Runtime's formulas and orders of sums, on the threads of primitives.

#include <vector>

#include "octet/types.hpp"

namespace octet::loops {

/// y = x / sqrt(mean of x^2 + epsilon) * scale, row by row.
class rms_normalization {
public:
    rms_normalization(); ///< for the level in use
    void run(const float *x, const float *scale, float epsilon, dim_t rows, dim_t n, float *y) const;

private:
    void (*normalize_row_)(const float *x, const float *scale, float epsilon, dim_t n, float *y);
};

/// How the mean of a row and the sum of its squared differences from it are found, element after element.
enum class moments {
    updated, ///< Welford's updates: each element moves the mean
    summed,  ///< two sums, one after the other
    squares  ///< the sum of squares, with a mean of 0
};

struct row_normalization {
    moments how;
    float epsilon;
    const float *scale, *shift; ///< n numbers; shift may be null
};

/// y = (x - mean) / sqrt(squares / n + epsilon) * scale + shift for each row of n elements; y may be x.
/// Writes the mean of each row to `means` unless that is null.
void normalize_rows(const row_normalization &f, const float *x, dim_t rows, dim_t n, float *y, float *means);

/// Numbers that broadcast to rows: element i of row r is values[rows[r] + elements[i]]; `rows` is empty where
/// all rows have the same.
struct spread_numbers {
    std::vector<dim_t> rows, elements;

    double at(const float *values, dim_t row, dim_t i) const {
        const dim_t begin = rows.empty() ? 0 : rows[static_cast<std::size_t>(row)];
        return static_cast<double>(values[begin + elements[static_cast<std::size_t>(i)]]);
    }
    /// One number for each element of a row, the same for all rows.
    bool is_row() const;
};

struct double_normalization {
    spread_numbers scale, shift;
    float epsilon;
    bool has_mean; ///< otherwise the mean counts as 0

    /// `shifts` may be null.
    void run(const float *x, const float *scales, const float *shifts, dim_t rows, float *y) const;
};

/// Images of `size` elements, `channels` of them one after the other have a scale and a shift each: y = (x - mean) /
/// sqrt(variance + epsilon) * scale + shift, with sums in the order of rows.hpp.
void normalize_instances(const float *x, const float *scale, const float *shift, float epsilon, dim_t images,
                         dim_t channels, dim_t size, float *y);

} // namespace octet::loops
