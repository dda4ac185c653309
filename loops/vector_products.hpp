#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of one row or one column of floats, in ONNX Runtime's orders of sums for them.

#include "octet/types.hpp"

namespace octet::loops {

/// Results that a thread computes at a time: a multiple of the rows that the loops below take together.
inline constexpr dim_t vector_part = 256;

/// y[columns] = a[inner] * b, whose rows lie `row_stride` apart. Four rows of b are taken at a time, then
/// two, then one: their rounded products are added up in order, and the sum is added to those before; to 0 at
/// first if it `begins`, otherwise to what y has.
void multiply_row(const float *a, const float *b, dim_t row_stride, dim_t inner, float *y, dim_t columns,
                  bool begins);

/// y[count] = rows, which lie `row_stride` apart, * column[inner]. Each element is eight sums of rounded
/// products, which are added up in one order for groups of four rows, in another for two, in a third for one.
/// The sum is added to what y has unless it `begins`.
void multiply_column(const float *rows, dim_t row_stride, const float *column, dim_t inner, float *y,
                     dim_t count, bool begins);

/// multiply_column(…, true) of a matrix whose `count` columns are the rows; its own rows lie `row_stride` apart.
void multiply_column_by_transposed(const float *matrix, dim_t row_stride, const float *column, dim_t inner,
                                   float *y, dim_t count);

/// Eight sums of one element, `step` apart. Elements are taken four, two or one at a time, and each way adds in an
/// order of its own.
float add_eight(const float *s, dim_t step, dim_t taken_together);

} // namespace octet::loops
