// A row times a matrix, a matrix times a column. What compilers make of these loops has the bits that are written here:
// contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/vector_products.hpp"

#include <algorithm>

namespace octet::loops {

void multiply_row(const float *a, const float *b, dim_t row_stride, dim_t inner, float *y, dim_t columns,
                  bool begins) {
    const auto add = [&](const auto &sum_at) {
        if (begins)
            for (dim_t j = 0; j < columns; j++)
                y[j] = 0.f + sum_at(j); // a sum begins with +0, so that it is never -0
        else
            for (dim_t j = 0; j < columns; j++)
                y[j] = y[j] + sum_at(j);
        begins = false;
    };
    for (dim_t k = 0; k < inner;) {
        const dim_t left = inner - k, rows = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        const float *const r0 = b + k * row_stride, *const r1 = r0 + row_stride;
        if (rows == 4) {
            const float *const r2 = r1 + row_stride, *const r3 = r2 + row_stride;
            add([=, a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3]](dim_t j) {
                return ((a0 * r0[j] + a1 * r1[j]) + a2 * r2[j]) + a3 * r3[j];
            });
        } else if (rows == 2)
            add([=, a0 = a[k], a1 = a[k + 1]](dim_t j) { return a0 * r0[j] + a1 * r1[j]; });
        else
            add([=, a0 = a[k]](dim_t j) { return a0 * r0[j]; });
        k += rows;
    }
}

namespace {

/// Calls work(row, rows at a time) for each row.
template <typename Work> void for_rows(dim_t count, const Work &work) {
    for (dim_t r = 0, last = 0, group = 0; r < count; r++) {
        if (r == last) {
            group = count - r >= 4 ? 4 : count - r >= 2 ? 2 : 1;
            last += group;
        }
        work(r, group);
    }
}

} // namespace

float add_eight(const float *s, dim_t step, dim_t taken_together) {
    const auto at = [=](dim_t i) { return s[i * step]; };
    if (taken_together == 4)
        return (((at(0) + at(1)) + at(2)) + at(3)) + (((at(4) + at(5)) + at(6)) + at(7));
    if (taken_together == 2)
        return ((at(0) + at(2)) + (at(4) + at(6))) + ((at(1) + at(3)) + (at(5) + at(7)));
    return ((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(5)) + (at(6) + at(7)));
}

void multiply_column(const float *rows, dim_t row_stride, const float *column, dim_t inner, float *y,
                     dim_t count, bool begins) {
    for_rows(count, [&](dim_t r, dim_t group) {
        const float *const row = rows + r * row_stride;
        float s[8] = {};
        dim_t k = 0;
        for (; k + 8 <= inner; k += 8)
            for (dim_t i = 0; i < 8; i++)
                s[i] += row[k + i] * column[k + i];
        for (dim_t i = 0; k + i < inner; i++)
            s[i] += row[k + i] * column[k + i];
        y[r] = add_eight(s, 1, group) + (begins ? 0.f : y[r]);
    });
}

void multiply_column_by_transposed(const float *matrix, dim_t row_stride, const float *column, dim_t inner,
                                   float *y, dim_t count) {
    constexpr dim_t block = 64; // a multiple of rows at a time
    for (dim_t first = 0; first < count; first += block) {
        const dim_t size = std::min(block, count - first);
        float s[8][block] = {};
        for (dim_t k = 0; k < inner; k++) {
            const float *const row = matrix + k * row_stride + first;
            float *const sums = s[k % 8];
            for (dim_t r = 0; r < size; r++)
                sums[r] += row[r] * column[k];
        }
        for_rows(size, [&](dim_t r, dim_t group) { y[first + r] = add_eight(s[0] + r, block, group) + 0.f; });
    }
}

} // namespace octet::loops
