// ReduceMax and ReduceMin of floats in ONNX Runtime's orders, which decide what becomes of a NaN and which of two zeros is left: a fold keeps
// what it has unless the next element is larger (smaller). Plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loops/kept_walk.hpp"
#include "loops/rows.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/moving.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

struct larger {
    float operator()(float so_far, float next) const { return next > so_far ? next : so_far; }
};
struct smaller {
    float operator()(float so_far, float next) const { return next < so_far ? next : so_far; }
};

template <typename Fold> class row_extremes final : public loop_step {
public:
    row_extremes(const lowering &l, const reduction_form &form)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), form_(form), dims_(l.input(0).dims),
          walk_(dims_, broadcast_strides(reduced_shape(l), dims_)), count_(element_count(l.output().dims)),
          has_begun_(l.scratch(memory::desc({count_}, data_type::u8, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        const float *x = m.at<float>(src_);
        float *y = m.at<float>(dst_);
        const std::string &kinds = form_.kinds;
        const memory::dims &size = form_.sizes;
        if (kinds == "r" || kinds == "kr")
            loops::parallel_for(count_, size.back(), [&](dim_t begin, dim_t end) {
                for (dim_t k = begin; k < end; k++)
                    y[k] = of_row(x, k * size.back(), size.back());
            });
        else if (kinds == "rk" || (kinds == "krk" && size[0] == 1))
            for_columns(1, element_count(dims_) / count_, count_,
                        [&](const columns &c) { fold_rows(x, c, y); });
        else if (kinds == "krk")
            for_columns(size[0], size[1], size[2], [&](const columns &c) { fold_columns(x, c, y); });
        else if (kinds == "rkr" && count_ > 1)
            loops::parallel_for(size[1], size[0] * size[2], [&](dim_t begin, dim_t end) {
                for (dim_t k = begin; k < end; k++)
                    for (dim_t o = 0; o < size[0]; o++) {
                        const float next = of_row(x, (o * size[1] + k) * size[2], size[2]);
                        y[k] = o == 0 ? next : fold_(y[k], next);
                    }
            });
        else
            fold_in_order(x, y, m.at<std::uint8_t>(has_begun_));
    }
    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    float of_row(const float *x, dim_t place, dim_t n) const {
        return loops::fold_row(
            n, place, [&](dim_t i) { return x[place + i]; }, fold_);
    }

    /// Columns `first` to `last` - 1 of one of several matrices.
    struct columns {
        dim_t matrix, rows, n, first, last;
    };
    /// Calls work(columns) for all columns of the matrices, some of one matrix at a time.
    template <typename Work> static void for_columns(dim_t matrices, dim_t rows, dim_t n, const Work &work) {
        constexpr dim_t part = 1024;
        const dim_t parts = (n + part - 1) / part;
        loops::parallel_for(matrices * parts, rows * std::min(n, part), [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t first = i % parts * part;
                work({i / parts, rows, n, first, std::min(first + part, n)});
            }
        });
    }

    void fold_rows(const float *x, const columns &c, float *y) const {
        x += c.matrix * c.rows * c.n;
        y += c.matrix * c.n;
        std::copy(x + c.first, x + c.last, y + c.first);
        for (dim_t r = 1; r < c.rows; r++)
            for (dim_t i = c.first; i < c.last; i++)
                y[i] = fold_(y[i], x[r * c.n + i]);
    }

    /// Vectors of four that begin at multiples of 16 bytes take four rows at a time behind the first one, as long as more
    /// are left.
    void fold_columns(const float *x, const columns &c, float *y) const {
        fold_rows(x, c, y);
        const dim_t place = c.matrix * c.n;
        x += c.matrix * c.rows * c.n;
        y += place;
        const dim_t begin = std::min(c.n, (4 - place % 4) % 4), end = begin + (c.n - begin) / 4 * 4,
                    by_four = (c.rows - 1) / 4 * 4;
        for (dim_t i = std::max(begin, c.first); i < std::min(end, c.last); i++) {
            const auto at = [&](dim_t r) { return x[r * c.n + i]; };
            float result = at(0);
            dim_t r = 1;
            for (; r < by_four; r += 4)
                result = fold_(result, fold_(fold_(at(r), at(r + 1)), fold_(at(r + 2), at(r + 3))));
            for (; r < c.rows; r++)
                result = fold_(result, at(r));
            y[i] = result;
        }
    }

    void fold_in_order(const float *x, float *y, std::uint8_t *has_begun) const {
        std::fill_n(has_begun, count_, std::uint8_t{0});
        const dim_t step = walk_.result_step();
        walk_.for_each_row(2, [&](dim_t element, dim_t result, dim_t n) {
            for (dim_t k = 0; k < n; k++, result += step) {
                y[result] = has_begun[result] ? fold_(y[result], x[element + k]) : x[element + k];
                has_begun[result] = 1;
            }
        });
    }

    buffer src_, dst_;
    reduction_form form_;
    memory::dims dims_;
    loops::kept_walk walk_;
    dim_t count_;
    buffer has_begun_; ///< a result has taken in an element
    Fold fold_;
};

template <typename Fold> std::unique_ptr<step> reduce_to_extremes(const lowering &l) {
    const reduction_form form = reduction_form_of(l, data_type::f32);
    if (reduced_shape(l) == l.input(0).dims)
        return make_view(l);
    return std::make_unique<row_extremes<Fold>>(l, form);
}

using namespace row_words;

constexpr row onnx_float_row_extremes_rows[] = {
    row("ReduceMax", {1, 2}, reduce_to_extremes<larger>, shape::reduce, rows::reduce)
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .becomes(form::moved)
        .assumes("keepdims", std::int64_t{1}),
    row("ReduceMin", {1, 2}, reduce_to_extremes<smaller>, shape::reduce, rows::reduce)
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .becomes(form::moved)
        .assumes("keepdims", std::int64_t{1}),
};

} // namespace

operator_rows onnx_float_row_extremes_operators() { return onnx_float_row_extremes_rows; }

} // namespace octet::model
