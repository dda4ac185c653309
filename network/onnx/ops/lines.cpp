// What depends on the place of an element along an axis: TopK, CumSum, OneHot, Trilu.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/choosing.hpp"
#include "network/ops/moving.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// A tensor's dimensions around an axis.
struct lines {
    dim_t outer, size, inner;

    lines(const memory::dims &dims, std::size_t axis) : size(dims[axis]) {
        const auto at = dims.begin() + static_cast<std::ptrdiff_t>(axis);
        outer = element_count({dims.begin(), at});
        inner = element_count({at + 1, dims.end()});
    }
    /// Calls f(first element of a line); elements lie `inner` apart.
    template <typename F> void for_each(dim_t length, const F &f) const {
        for (dim_t o = 0; o < outer; o++)
            for (dim_t i = 0; i < inner; i++)
                f(o * length * inner + i);
    }
};

// ---- The largest or smallest of a line

/// In order, of equal ones the first first; NaN come last.
class top_k_step final : public loop_step {
public:
    top_k_step(const lowering &l, const lines &x, dim_t count, bool is_largest)
        : src_(l.input_buffer(0)), values_(l.output_buffer(0)), places_(l.output_buffer(1)),
          order_(l.scratch(memory::desc({x.size}, data_type::s32, format_tag::x))), x_(x), count_(count),
          is_largest_(is_largest) {}

    void run(const stream &, const run_memory &m) const override {
        const float *src = m.at<float>(src_);
        float *values = m.at<float>(values_);
        auto *places = m.at<std::int32_t>(places_), *order = m.at<std::int32_t>(order_);
        for (dim_t o = 0; o < x_.outer; o++)
            for (dim_t i = 0; i < x_.inner; i++) {
                const float *line = src + o * x_.size * x_.inner + i;
                std::iota(order, order + x_.size, 0);
                std::partial_sort(order, order + count_, order + x_.size,
                                  [&](std::int32_t a, std::int32_t b) { return is_before(line, a, b); });
                for (dim_t k = 0; k < count_; k++) {
                    const dim_t to = (o * count_ + k) * x_.inner + i;
                    values[to] = line[order[k] * x_.inner];
                    places[to] = order[k];
                }
            }
    }
    std::string explain() const override { return "a plain loop over the elements"; }

private:
    bool is_before(const float *line, std::int32_t a, std::int32_t b) const {
        const float x = line[a * x_.inner], y = line[b * x_.inner];
        if (std::isnan(x) || std::isnan(y))
            return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
        return x == y ? a < b : is_largest_ ? x > y : x < y;
    }

    buffer src_, values_, places_, order_;
    lines x_;
    dim_t count_;
    bool is_largest_;
};

std::unique_ptr<step> lower_top_k(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32});
    const std::size_t axis = axis_among(l.integer("axis", -1), x.dims.size());
    const memory::dims &y = l.output(0, {data_type::f32}).dims;
    const dim_t count = y.size() == x.dims.size() ? y[axis] : -1;
    memory::dims expected = x.dims;
    expected[axis] = std::clamp<dim_t>(count, 0, x.dims[axis]);
    if (y != expected || l.output(1, {data_type::s32}).dims != expected)
        refuse("outputs " + to_text(y) + " and " + to_text(l.output(1, {data_type::s32}).dims) +
               " are no part of " + to_text(x.dims));
    if (l.integer("sorted", 1) == 0 && count > 1)
        refuse_as_unimplemented("attribute 'sorted' is 0, allowed is 1: the order is not defined");
    return std::make_unique<top_k_step>(l, lines(x.dims, axis), count, l.integer("largest", 1) != 0);
}

void top_k_shape(node_shapes &n) {
    memory::dims result = n.dims_of_rank(0, 1);
    const std::vector<std::int64_t> k =
        n.has_input(1) ? n.constant(1) : std::vector<std::int64_t>{n.integer("k", -1)};
    dim_t &size = result[n.axis(n.integer("axis", -1), result.size())];
    if (k.size() != 1 || k[0] < 0 || k[0] > size)
        refuse("k is " + to_text(k) + ", allowed is one number from 0 to " + std::to_string(size));
    size = k[0];
    n.set_output(n.input(0).type, result);
    n.set_output(data_type::s32, result, 1);
}

// ---- Sums up to an element

template <typename T> class cumulative_step final : public loop_step {
public:
    cumulative_step(const lowering &l, const lines &x)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), x_(x),
          is_exclusive_(l.integer("exclusive", 0) != 0), is_reverse_(l.integer("reverse", 0) != 0),
          is_wide_(l.marks().is_wide) {}

    void run(const stream &, const run_memory &m) const override {
        const T *x = m.at<T>(src_);
        T *y = m.at<T>(dst_);
        const dim_t first = is_reverse_ ? (x_.size - 1) * x_.inner : 0,
                    next = is_reverse_ ? -x_.inner : x_.inner;
        x_.for_each(x_.size, [&](dim_t line) {
            dim_t at = line + first;
            T so_far = is_exclusive_ ? T{0} : x[at];
            for (dim_t k = 0; k < x_.size; k++, at += next) {
                if (k > 0)
                    so_far = sum(so_far, x[is_exclusive_ ? at - next : at]);
                y[at] = so_far;
            }
        });
    }
    std::string explain() const override { return "a plain loop over the elements"; }

private:
    T sum(T a, T b) const {
        if constexpr (std::is_same_v<T, float>)
            return a + b;
        const std::int64_t s = std::int64_t{static_cast<std::int32_t>(a)} + static_cast<std::int32_t>(b);
        if (is_wide_ && s != static_cast<std::int32_t>(s))
            throw error(status::unimplemented,
                        "a sum of " + std::to_string(s) + " leaves 32 bits, which INT64 has here");
        return static_cast<T>(static_cast<std::uint32_t>(s)); // INT32 wraps around
    }

    buffer src_, dst_;
    lines x_;
    bool is_exclusive_, is_reverse_, is_wide_;
};

std::unique_ptr<step> lower_cum_sum(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32, data_type::s32});
    need_equal_dims(x, l.output({x.type}));
    const std::vector<std::int64_t> axis = l.constant_integers(1);
    if (axis.size() != 1 || element_count(x.dims) == 0)
        refuse("the axis is " + to_text(axis) + ", allowed is one number, and an input that has elements");
    const lines along(x.dims, axis_among(axis[0], x.dims.size()));
    if (x.type == data_type::s32)
        return std::make_unique<cumulative_step<std::int32_t>>(l, along);
    return std::make_unique<cumulative_step<float>>(l, along);
}

// ---- Ones and zeros

/// One of two values for each class: the second where it is the index's. No class is that of an index outside.
template <typename T> class one_hot_step final : public loop_step {
public:
    one_hot_step(const lowering &l, const lines &y)
        : indices_(l.input_buffer(0)), values_(l.input_buffer(2)), dst_(l.output_buffer()), y_(y),
          has_reals_(l.input(0).type == data_type::f32) {}

    void run(const stream &, const run_memory &m) const override {
        const T *values = m.at<T>(values_);
        T *y = m.at<T>(dst_);
        std::fill_n(y, y_.outer * y_.size * y_.inner, values[0]);
        dim_t next = 0;
        y_.for_each(y_.size, [&](dim_t line) {
            const float real = has_reals_ ? m.at<float>(indices_)[next] : 0.f;
            const bool fits = std::abs(real) < 0x1p31f; // not NaN
            const dim_t given = !has_reals_ ? m.at<std::int32_t>(indices_)[next]
                                : fits      ? static_cast<dim_t>(real)
                                            : y_.size;
            const dim_t i = given < 0 ? given + y_.size : given;
            next++;
            if (i >= 0 && i < y_.size)
                y[line + i * y_.inner] = values[1];
        });
    }
    std::string explain() const override { return "a plain loop over the indices"; }

private:
    buffer indices_, values_, dst_;
    lines y_;
    bool has_reals_;
};

std::unique_ptr<step> lower_one_hot(const lowering &l) {
    l.input(0, {data_type::f32, data_type::s32});
    const tensor &y = l.output({any_input(l, 2).type});
    if (element_count(l.input(2).dims) != 2)
        refuse("input 2 has dimensions " + to_text(l.input(2).dims) + ", allowed are two values");
    const std::size_t axis = axis_among(l.integer("axis", -1), y.dims.size());
    memory::dims without_classes = y.dims;
    without_classes.erase(without_classes.begin() + static_cast<std::ptrdiff_t>(axis));
    if (without_classes != l.input(0).dims)
        refuse("indices " + to_text(l.input(0).dims) + " do not give " + to_text(y.dims));
    const lines classes(y.dims, axis);
    switch (memory::data_type_size(y.type)) {
    case 1:
        return std::make_unique<one_hot_step<std::uint8_t>>(l, classes);
    case 2:
        return std::make_unique<one_hot_step<std::uint16_t>>(l, classes);
    default:
        return std::make_unique<one_hot_step<std::uint32_t>>(l, classes);
    }
}

void one_hot_shape(node_shapes &n) {
    memory::dims result = n.dims(0);
    const std::vector<std::int64_t> depth = n.constant(1);
    const std::size_t axis = n.axis(n.integer("axis", -1), result.size() + 1);
    if (depth.size() != 1 || depth[0] < 1 || result.size() >= max_ndims)
        refuse("the depth is " + to_text(depth) + " for indices " + to_text(result) +
               ", allowed is one number from 1 on, and up to " + std::to_string(max_ndims) +
               " dimensions in all");
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), depth[0]);
    n.set_output(n.input(2).type, result);
}

/// Matrices of which what lies below a diagonal, or above it, becomes 0.
class triangle_step final : public loop_step {
public:
    triangle_step(const lowering &l, std::int64_t diagonal)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), dims_(l.output().dims),
          size_(memory::data_type_size(l.output().type)), diagonal_(diagonal),
          is_upper_(l.integer("upper", 1) != 0) {}

    void run(const stream &, const run_memory &m) const override {
        const dim_t columns = dims_.back(), height = dims_[dims_.size() - 2],
                    rows = element_count({dims_.begin(), dims_.end() - 1});
        const auto *x = m.at<std::uint8_t>(src_);
        auto *y = m.at<std::uint8_t>(dst_);
        for (dim_t r = 0; r < rows; r++) {
            const dim_t split = std::clamp<dim_t>(r % height + diagonal_ + (is_upper_ ? 0 : 1), 0, columns);
            const dim_t from = is_upper_ ? split : 0, to = is_upper_ ? columns : split;
            std::memset(y, 0, bytes(columns));
            std::memcpy(y + bytes(from), x + bytes(from), bytes(to - from));
            x += bytes(columns);
            y += bytes(columns);
        }
    }
    std::string explain() const override { return "copies of the rows of " + to_text(dims_); }

private:
    std::size_t bytes(dim_t elements) const { return static_cast<std::size_t>(elements) * size_; }

    buffer src_, dst_;
    memory::dims dims_;
    std::size_t size_;
    std::int64_t diagonal_;
    bool is_upper_;
};

std::unique_ptr<step> lower_trilu(const lowering &l) {
    const tensor &x = any_input(l, 0);
    need_equal_dims(x, l.output({x.type}));
    const std::vector<std::int64_t> diagonal =
        l.has_input(1) ? l.constant_integers(1) : std::vector<std::int64_t>{0};
    if (x.dims.size() < 2 || diagonal.size() != 1)
        refuse("input " + to_text(x.dims) + " is no batch of matrices, or the diagonal is " +
               to_text(diagonal));
    return std::make_unique<triangle_step>(l, diagonal[0]);
}

using namespace row_words;

constexpr row onnx_lines_rows[] = {
    row("CumSum", 2, lower_cum_sum, shape::same, rows::never)
        .uses_integers(use::passes_on, use::computes)
        .arithmetic()
        .sizes(flow::first),
    row("OneHot", 3, lower_one_hot, one_hot_shape, rows::never).elements_of(2).sizes(flow::lost),
    row("TopK", {1, 2}, lower_top_k, top_k_shape, rows::inner_axis_or_last)
        .int64()
        .sizes(flow::first_broadcast),
    row("Trilu", {1, 2}, lower_trilu, shape::same, rows::windows).sizes(flow::first),
};

} // namespace

operator_rows onnx_lines_operators() { return onnx_lines_rows; }

} // namespace octet::model
