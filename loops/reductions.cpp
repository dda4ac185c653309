// One function for each place of the reduced dimensions. Threads divide results; where vectors hold several,
// these do not wait for each other.
// SPDX-License-Identifier: Apache-2.0
#include "loops/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/parallel.hpp"
#include "loops/rows.hpp"

namespace octet::loops {
namespace {

constexpr dim_t work_of_function = 16; ///< of the C library, in additions

/// Calls work(result) for each.
template <typename Work> void for_results(const reduction &r, dim_t cost, const Work &work) {
    parallel_for(r.count, cost, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++)
            work(i);
    });
}

/// Calls work(result, element), for each result in the order of memory.
template <typename Work> void for_elements(const reduction &r, dim_t cost, const float *x, const Work &work) {
    r.walk.for_each_row(cost, [&, step = r.walk.result_step()](dim_t element, dim_t result, dim_t n) {
        for (dim_t k = 0; k < n; k++)
            work(result + k * step, x[element + k]);
    });
}

/// Columns `first` to `last` - 1 of one of several matrices.
struct columns {
    dim_t matrix, rows, n, first, last;
};

/// Calls work(columns) for all columns of the matrices, some of one matrix at a time.
template <typename Work> void for_columns(dim_t matrices, dim_t rows, dim_t n, const Work &work) {
    constexpr dim_t part = 1024;
    for_parts(matrices, n, part, rows, [&](dim_t matrix, dim_t first, dim_t count) {
        work(columns{matrix, rows, n, first, first + count});
    });
}

/// For "rkr": each result folds of_row(place, size) of its rows in order.
template <typename OfRow, typename Fold>
void fold_outer_rows(const std::vector<dim_t> &size, float *y, const OfRow &of_row, const Fold &fold) {
    parallel_for(size[1], size[0] * size[2], [&](dim_t begin, dim_t end) {
        for (dim_t k = begin; k < end; k++)
            for (dim_t o = 0; o < size[0]; o++) {
                const float next = of_row((o * size[1] + k) * size[2], size[2]);
                y[k] = o == 0 ? next : fold(y[k], next);
            }
    });
}

bool are_rows(const reduction_form &f) { return f.kinds == "r" || f.kinds == "kr"; }
bool are_columns(const reduction_form &f) { return f.kinds == "rk" || (f.kinds == "krk" && f.sizes[0] == 1); }

// ---- Sums

/// y = sums of `rows` rows of n elements, `stride` apart, one after the other for each column.
void add_rows(const float *x, dim_t rows, dim_t stride, dim_t n, float *y) {
    std::copy_n(x, n, y);
    dim_t r = 1;
    for (; r + 4 <= rows; r += 4) { // in one pass over y
        const float *const r0 = x + r * stride, *const r1 = r0 + stride, *const r2 = r1 + stride,
                           *const r3 = r2 + stride;
        for (dim_t i = 0; i < n; i++)
            y[i] = (((y[i] + r0[i]) + r1[i]) + r2[i]) + r3[i];
    }
    for (; r < rows; r++)
        for (dim_t i = 0; i < n; i++)
            y[i] += x[r * stride + i];
}

/// Sums of columns as a product with a row of ones gives them: four rows, then two, then one, are added up before.
void add_rows_by_four(const float *x, dim_t rows, dim_t stride, dim_t n, float *y) {
    for (dim_t r = 0; r < rows;) {
        const dim_t left = rows - r, count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        const float *const r0 = x + r * stride, *const r1 = r0 + stride, *const r2 = r1 + stride,
                           *const r3 = r2 + stride;
        const auto add = [=](const auto &sum_at) {
            if (r == 0)
                for (dim_t i = 0; i < n; i++)
                    y[i] = sum_at(i);
            else
                for (dim_t i = 0; i < n; i++)
                    y[i] = y[i] + sum_at(i);
        };
        if (count == 4)
            add([=](dim_t i) { return ((r0[i] + r1[i]) + r2[i]) + r3[i]; });
        else if (count == 2)
            add([=](dim_t i) { return r0[i] + r1[i]; });
        else
            add([=](dim_t i) { return r0[i]; });
        r += count;
    }
}

/// Rows, and many columns, begin with their first element, which may be -0.
bool begins_with_first(const reduction_form &f) {
    constexpr dim_t many_rows = 17, many = 257;
    return are_rows(f) ||
           (f.kinds == "rk" && f.sizes[0] >= many_rows && std::max(f.sizes[0], f.sizes[1]) >= many);
}

void add_in_order(const reduction &r, const float *x, float *y) {
    std::fill_n(y, r.count, -0.f);
    r.walk.for_each_row(1, [=, step = r.walk.result_step()](dim_t element, dim_t result, dim_t n) {
        if (step == 1)
            for (dim_t i = 0; i < n; i++)
                y[result + i] += x[element + i];
        else
            for (dim_t i = 0; i < n; i++)
                y[result + i * step] += x[element + i];
    });
}

void add(const reduction &r, const float *x, float *y) {
    const std::vector<dim_t> &size = r.form.sizes;
    const auto of_row = [=](dim_t place, dim_t n) {
        return sum_of_row(n, place, [row = x + place](dim_t i) { return row[i]; });
    };
    const auto by_columns = [=](void (*add_columns)(const float *, dim_t, dim_t, dim_t, float *)) {
        return [=](const columns &c) {
            add_columns(x + c.matrix * c.rows * c.n + c.first, c.rows, c.n, c.last - c.first,
                        y + c.matrix * c.n + c.first);
        };
    };
    if (are_rows(r.form))
        for_results(r, size.back(), [=, n = size.back()](dim_t k) { y[k] = of_row(k * n, n); });
    else if (are_columns(r.form))
        for_columns(1, r.elements / r.count, r.count, by_columns(add_rows));
    else if (r.form.kinds == "krk")
        for_columns(size[0], size[1], size[2], by_columns(add_rows_by_four));
    else if (r.form.kinds == "rkr" && r.count > 1)
        fold_outer_rows(size, y, of_row, [](float a, float b) { return a + b; });
    else
        add_in_order(r, x, y);
}

// ---- Extremes

struct larger {
    float operator()(float so_far, float next) const { return next > so_far ? next : so_far; }
};
struct smaller {
    float operator()(float so_far, float next) const { return next < so_far ? next : so_far; }
};

/// A fold keeps what it has unless the next element is larger (smaller).
template <typename Fold> struct extreme_rows {
    const float *x;
    float *y;

    static float of(float so_far, float next) { return Fold()(so_far, next); }

    float of_row(dim_t place, dim_t n) const {
        return fold_row(
            n, place, [row = x + place](dim_t i) { return row[i]; }, of);
    }

    /// A row for "rkr", of which the first one of a result begins with the first element, wherever that stands
    /// in the order of the row: it decides which of two zeros is left, and whether a NaN is.
    float of_begun_row(dim_t place, dim_t n, dim_t results) const {
        return place < results * n ? of(x[place], of_row(place, n)) : of_row(place, n);
    }

    /// Rows one after the other; or, if they go `by_four` behind the first one, as long as four are left.
    void fold_rows(const columns &c, bool by_four = false) const {
        const float *const from = x + c.matrix * c.rows * c.n;
        float *const to = y + c.matrix * c.n;
        std::copy(from + c.first, from + c.last, to + c.first);
        dim_t r = 1;
        for (; by_four && r + 4 <= c.rows; r += 4) {
            const float *const r0 = from + r * c.n, *const r1 = r0 + c.n, *const r2 = r1 + c.n,
                               *const r3 = r2 + c.n;
            for (dim_t i = c.first; i < c.last; i++)
                to[i] = of(to[i], of(of(r0[i], r1[i]), of(r2[i], r3[i])));
        }
        for (; r < c.rows; r++)
            for (dim_t i = c.first; i < c.last; i++)
                to[i] = of(to[i], from[r * c.n + i]);
    }

    /// Vectors of four that begin at multiples of 16 bytes go by four.
    void fold_columns(const columns &c) const {
        const dim_t begin = std::min(c.n, (4 - c.matrix * c.n % 4) % 4), end = begin + (c.n - begin) / 4 * 4,
                    first = std::clamp(begin, c.first, c.last), last = std::clamp(end, c.first, c.last);
        fold_rows({c.matrix, c.rows, c.n, c.first, first});
        fold_rows({c.matrix, c.rows, c.n, first, last}, true);
        fold_rows({c.matrix, c.rows, c.n, last, c.last});
    }

    void fold_in_order(const reduction &r, std::uint8_t *has_begun) const {
        std::fill_n(has_begun, r.count, std::uint8_t{0});
        for_elements(r, 2, x, [=, to = y](dim_t result, float next) {
            to[result] = has_begun[result] ? of(to[result], next) : next;
            has_begun[result] = 1;
        });
    }

    void run(const reduction &r, std::uint8_t *has_begun) const {
        const std::vector<dim_t> &size = r.form.sizes;
        if (are_rows(r.form))
            for_results(r, size.back(), [&](dim_t k) { y[k] = of_row(k * size.back(), size.back()); });
        else if (are_columns(r.form))
            for_columns(1, r.elements / r.count, r.count, [&](const columns &c) { fold_rows(c); });
        else if (r.form.kinds == "krk")
            for_columns(size[0], size[1], size[2], [&](const columns &c) { fold_columns(c); });
        else if (r.form.kinds == "rkr" && r.count > 1)
            fold_outer_rows(
                size, y, [&](dim_t place, dim_t n) { return of_begun_row(place, n, r.count); }, of);
        else
            fold_in_order(r, has_begun);
    }
};

// ---- Folds in the order of memory

/// How a reduction begins, takes in an element, and ends.
struct reduced_sum {
    static constexpr float start = 0.f;
    static float term(float x) { return x; }
    static float join(float a, float b) { return a + b; }
    static float finish(float y) { return y; }
};
struct reduced_magnitudes : reduced_sum {
    static float term(float x) { return std::abs(x); }
};
struct reduced_squares : reduced_sum {
    static float term(float x) { return x * x; }
};
struct reduced_norm : reduced_squares {
    static float finish(float y) { return std::sqrt(y); }
};
struct reduced_logarithm : reduced_sum {
    static float finish(float y) { return std::log(y); }
};
struct reduced_product : reduced_sum {
    static constexpr float start = 1.f;
    static float join(float a, float b) { return a * b; }
};

template <typename F, int count> void fold_rows_side_by_side(const float *x, dim_t n, float *y) {
    float results[count];
    std::fill_n(results, count, F::start);
    for (dim_t k = 0; k < n; k++)
        for (int r = 0; r < count; r++)
            results[r] = F::join(results[r], F::term(x[r * n + k]));
    for (int r = 0; r < count; r++)
        y[r] = F::finish(results[r]);
}

template <typename F> void run_fold(const reduction &r, const float *x, float *y) {
    if (r.form.kinds == "r") {
        *y = F::finish(fold_row(
            r.elements, 0, [&](dim_t k) { return F::term(x[k]); }, F::join));
        return;
    }
    if (r.form.kinds == "kr") {
        parallel_for(r.count, r.elements / r.count, [=, n = r.elements / r.count](dim_t begin, dim_t end) {
            dim_t row = begin;
            for (; row + 8 <= end; row += 8)
                fold_rows_side_by_side<F, 8>(x + row * n, n, y + row);
            for (; row < end; row++)
                fold_rows_side_by_side<F, 1>(x + row * n, n, y + row);
        });
        return;
    }
    std::fill_n(y, r.count, F::start);
    for_elements(r, 2, x, [=](dim_t i, float v) { y[i] = F::join(y[i], F::term(v)); });
    for_results(r, work_of_function, [=](dim_t i) { y[i] = F::finish(y[i]); });
}

// ---- Images

/// Means of `count` images, whose sums do not wait for each other.
template <int count> void average_images(const float *x, dim_t pixels, bool is_in_order, float *y) {
    float lanes[count][4] = {}; // with +0, so that no sum is -0
    const dim_t fours = is_in_order ? 0 : pixels / 4 * 4;
    for (dim_t i = 0; i < fours; i += 4)
        for (int n = 0; n < count; n++)
            for (int k = 0; k < 4; k++)
                lanes[n][k] += x[n * pixels + i + k];
    float sums[count];
    for (int n = 0; n < count; n++)
        sums[n] = (lanes[n][0] + lanes[n][2]) + (lanes[n][1] + lanes[n][3]);
    for (dim_t i = fours; i < pixels; i++)
        for (int n = 0; n < count; n++)
            sums[n] += x[n * pixels + i];
    for (int n = 0; n < count; n++)
        y[n] = sums[n] / static_cast<float>(pixels);
}

} // namespace

reduction_form reduction_form_of(const std::vector<dim_t> &dims, const std::vector<bool> &is_reduced) {
    reduction_form f;
    for (std::size_t d = 0; d < dims.size(); d++) {
        const char kind = is_reduced[d] ? 'r' : 'k';
        if (f.kinds.empty() || f.kinds.back() != kind) {
            f.kinds += kind;
            f.sizes.push_back(1);
        }
        f.sizes.back() *= dims[d];
    }
    return f;
}

void reduce_by_sums(const reduction &r, bool is_mean, const float *x, float *y) {
    add(r, x, y);
    const bool adds_zero = !begins_with_first(r.form);
    const auto divisor = static_cast<float>(r.elements / r.count);
    parallel_for(r.count, 4, [=](dim_t begin, dim_t end) {
        for (dim_t i = begin; adds_zero && i < end; i++)
            y[i] += 0.f; // with which sums begin
        for (dim_t i = begin; is_mean && i < end; i++)
            y[i] /= divisor;
    });
}

void reduce_to_extremes(const reduction &r, bool is_largest, const float *x, float *y,
                        std::uint8_t *has_begun) {
    if (is_largest)
        extreme_rows<larger>{x, y}.run(r, has_begun);
    else
        extreme_rows<smaller>{x, y}.run(r, has_begun);
}

void reduce_by_fold(const reduction &r, fold f, const float *x, float *y) {
    switch (f) {
    case fold::product:
        return run_fold<reduced_product>(r, x, y);
    case fold::sum_of_magnitudes:
        return run_fold<reduced_magnitudes>(r, x, y);
    case fold::sum_of_squares:
        return run_fold<reduced_squares>(r, x, y);
    case fold::root_of_squares:
        return run_fold<reduced_norm>(r, x, y);
    case fold::logarithm_of_sum:
        return run_fold<reduced_logarithm>(r, x, y);
    }
}

void reduce_by_log_sum_exp(const reduction &r, const float *x, float *y, float *largest) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (r.form.kinds == "r") {
        *largest = fold_row(
            r.elements, 0, [&](dim_t k) { return x[k]; }, [](float a, float b) { return b > a ? b : a; });
        if (std::isinf(*largest)) {
            *y = *largest;
            return;
        }
    } else {
        std::fill_n(y, r.count, 0.f); // 1 where an element has been there
        for_elements(r, 4, x, [=](dim_t i, float v) {
            if (y[i] == 0.f)
                largest[i] = std::isinf(v) ? 0.f : v;
            else if (!std::isinf(v) && !std::isnan(v))
                largest[i] = v < largest[i] ? largest[i] : v;
            y[i] = 1.f;
        });
    }
    std::fill_n(y, r.count, 0.f);
    for_elements(r, work_of_function, x, [=](dim_t i, float v) {
        if (v != -infinity)
            y[i] += std::exp(v - largest[i]);
    });
    for_results(r, work_of_function, [=](dim_t i) { y[i] = std::log(y[i]) + largest[i]; });
}

void reduce_images(const float *x, dim_t images, dim_t pixels, bool is_in_order, float *y) {
    parallel_for(images, pixels, [=](dim_t begin, dim_t end) {
        dim_t i = begin;
        for (; i + 4 <= end; i += 4)
            average_images<4>(x + i * pixels, pixels, is_in_order, y + i);
        for (; i < end; i++)
            average_images<1>(x + i * pixels, pixels, is_in_order, y + i);
    });
}

} // namespace octet::loops
