// Rows are independent of each other, so that threads divide them, and vectors hold results of several where
// one row has to be added up in order.
// SPDX-License-Identifier: Apache-2.0
#include "loops/normalization.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "loops/levels.hpp"
#include "loops/parallel.hpp"
#include "loops/rows.hpp"

namespace octet::loops {
namespace {

// ---- By the root of the mean of squares

/// Eight lanes with fma, of them halves; then what is left over, of which the first four without fma if there
/// are so many.
OCTET_LOOP float sum_of_squares(const float *x, dim_t n) {
    float lanes[8] = {};
    dim_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (dim_t l = 0; l < 8; l++)
            lanes[l] = __builtin_fmaf(x[i + l], x[i + l], lanes[l]);
    float sum =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    const dim_t fused_from = n - i >= 4 ? i + 4 : i;
    for (; i < n; i++)
        sum = i < fused_from ? sum + x[i] * x[i] : __builtin_fmaf(x[i], x[i], sum);
    return sum;
}

/// Short rows are added up in order, and divided rather than multiplied.
OCTET_LOOP void normalize_rms_row(const float *x, const float *scale, float epsilon, dim_t n, float *y) {
    constexpr dim_t shortest_vectors = 16;
    if (n < shortest_vectors) {
        float sum = 0.f;
        for (dim_t i = 0; i < n; i++)
            sum += x[i] * x[i];
        const float deviation = std::sqrt(sum / static_cast<float>(n) + epsilon);
        for (dim_t i = 0; i < n; i++)
            y[i] = x[i] / deviation * scale[i];
        return;
    }
    const float factor = 1.f / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + epsilon);
    for (dim_t i = 0; i < n; i++)
        y[i] = x[i] * factor * scale[i];
}

// ---- Rows side by side

constexpr std::size_t rows_at_a_time = 8;
using row_numbers = std::array<float, rows_at_a_time>;
using row_pointers = std::array<const float *, rows_at_a_time>; ///< the last row may be there several times

struct row_moments {
    row_numbers mean, squares; ///< squares: the sum of squared differences
};

row_moments updated_moments(const row_pointers &x, dim_t n) {
    row_moments m{};
    for (dim_t i = 0; i < n; i++)
        for (std::size_t r = 0; r < rows_at_a_time; r++) {
            const float delta = x[r][i] - m.mean[r];
            m.mean[r] += delta / static_cast<float>(i + 1);
            m.squares[r] += delta * (x[r][i] - m.mean[r]);
        }
    return m;
}

row_moments summed_moments(const row_pointers &x, dim_t n) {
    row_moments m{};
    for (dim_t i = 0; i < n; i++)
        for (std::size_t r = 0; r < rows_at_a_time; r++)
            m.mean[r] += x[r][i];
    for (float &mean : m.mean)
        mean /= static_cast<float>(n);
    for (dim_t i = 0; i < n; i++)
        for (std::size_t r = 0; r < rows_at_a_time; r++)
            m.squares[r] += (x[r][i] - m.mean[r]) * (x[r][i] - m.mean[r]);
    return m;
}

row_moments plain_moments(const row_pointers &x, dim_t n) {
    row_moments m{};
    for (dim_t i = 0; i < n; i++)
        for (std::size_t r = 0; r < rows_at_a_time; r++)
            m.squares[r] += x[r][i] * x[r][i];
    return m;
}

row_moments moments_of(moments how, const row_pointers &x, dim_t n) {
    switch (how) {
    case moments::updated:
        return updated_moments(x, n);
    case moments::summed:
        return summed_moments(x, n);
    default:
        return plain_moments(x, n);
    }
}

} // namespace

rms_normalization::rms_normalization() : normalize_row_(compiled_for_level<normalize_rms_row>()) {}

void rms_normalization::run(const float *x, const float *scale, float epsilon, dim_t rows, dim_t n,
                            float *y) const {
    parallel_for(rows, n, [=](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            normalize_row_(x + r * n, scale, epsilon, n, y + r * n);
    });
}

void normalize_rows(const row_normalization &f, const float *x, dim_t rows, dim_t n, float *y, float *means) {
    constexpr auto together = static_cast<dim_t>(rows_at_a_time);
    const auto normalize_block = [&](dim_t first) {
        row_pointers block;
        for (std::size_t r = 0; r < rows_at_a_time; r++)
            block[r] = x + std::min(first + static_cast<dim_t>(r), rows - 1) * n;
        const row_moments m = moments_of(f.how, block, n);
        const auto count = static_cast<std::size_t>(std::min(together, rows - first));
        for (std::size_t r = 0; r < count; r++) {
            const float *from = block[r];
            float *to = y + (first + static_cast<dim_t>(r)) * n;
            if (means)
                means[first + static_cast<dim_t>(r)] = m.mean[r];
            const float mean = m.mean[r],
                        deviation = std::sqrt(m.squares[r] / static_cast<float>(n) + f.epsilon);
            for (dim_t i = 0; i < n; i++) {
                const float scaled = (from[i] - mean) / deviation * f.scale[i];
                to[i] = f.shift ? scaled + f.shift[i] : scaled;
            }
        }
    };
    parallel_for((rows + together - 1) / together, together * n * 4, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++)
            normalize_block(i * together);
    });
}

bool spread_numbers::is_row() const {
    for (std::size_t i = 0; i < elements.size(); i++)
        if (elements[i] != static_cast<dim_t>(i))
            return false;
    return rows.empty();
}

void double_normalization::run(const float *x, const float *scales, const float *shifts, dim_t rows,
                               float *y) const {
    const auto size = static_cast<dim_t>(scale.elements.size());
    const auto n = static_cast<double>(size);
    const auto normalize = [&](dim_t r) {
        const float *const from = x + r * size;
        float *const to = y + r * size;
        double sum = 0, squares = 0;
        for (dim_t i = 0; i < size; i++) {
            const auto v = static_cast<double>(from[i]);
            sum += v;
            squares += v * v;
        }
        const double mean = has_mean ? sum / n : 0.;
        const double deviation = std::sqrt(squares / n - mean * mean + static_cast<double>(epsilon));
        for (dim_t i = 0; i < size; i++) {
            const double scaled = (static_cast<double>(from[i]) - mean) / deviation * scale.at(scales, r, i);
            to[i] = static_cast<float>(shifts ? scaled + shift.at(shifts, r, i) : scaled);
        }
    };
    parallel_for(rows, size * 8, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            normalize(r);
    });
}

void normalize_instances(const float *x, const float *scale, const float *shift, float epsilon, dim_t images,
                         dim_t channels, dim_t size, float *y) {
    const auto n = static_cast<float>(size);
    parallel_for(images, size * 4, [=](dim_t begin, dim_t end) {
        for (dim_t p = begin; p < end; p++) {
            const float *const from = x + p * size;
            float *const to = y + p * size;
            const float mean = sum_of_row(size, p * size, [=](dim_t k) { return from[k]; }) / n;
            const float variance = // of differences, which have no address
                sum_of_row(size, 0, [=](dim_t k) { return (from[k] - mean) * (from[k] - mean); }) / n;
            const float factor = scale[p % channels] * (1.f / std::sqrt(variance + epsilon)),
                        summand = shift[p % channels] - mean * factor;
            for (dim_t k = 0; k < size; k++)
                to[k] = from[k] * factor + summand;
        }
    });
}

} // namespace octet::loops
