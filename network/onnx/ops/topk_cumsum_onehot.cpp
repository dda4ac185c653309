// Operators that depend on the place of an element along an axis: TopK, CumSum, OneHot, Trilu.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "loops/parallel.hpp"
#include "loops/top_k.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

/// A tensor's dimensions around an axis.
loops::tensor_lines lines_of(const memory::dims &dims, std::size_t axis) {
    const auto at = dims.begin() + static_cast<std::ptrdiff_t>(axis);
    return {element_count({dims.begin(), at}), *at, element_count({at + 1, dims.end()})};
}

// ---- The largest or smallest of a line

class top_k_step final : public loop_step {
public:
    top_k_step(const lowering &l, const loops::top_k &loop)
        : src_(l.input_buffer(0)), values_(l.output_buffer(0)), places_(l.output_buffer(1)), loop_(loop),
          order_(l.scratch(memory::desc({loop.scratch_size()}, data_type::s32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        loop_.run(m.at<float>(src_), m.at<std::int32_t>(order_), m.at<float>(values_),
                  m.at<std::int32_t>(places_));
    }
    std::string explain() const override { return "a plain loop over the elements"; }

private:
    buffer src_, values_, places_;
    loops::top_k loop_;
    buffer order_;
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
    return std::make_unique<top_k_step>(
        l, loops::top_k(lines_of(x.dims, axis), count, l.integer("largest", 1) != 0));
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
    cumulative_step(const lowering &l, const loops::tensor_lines &x)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), x_(x),
          is_exclusive_(l.integer("exclusive", 0) != 0), is_reverse_(l.integer("reverse", 0) != 0),
          is_wide_(l.marks().is_wide) {}

    void run(const stream &, const run_memory &m) const override {
        const T *x = m.at<T>(src_);
        T *y = m.at<T>(dst_);
        const dim_t first = is_reverse_ ? (x_.size - 1) * x_.inner : 0,
                    next = is_reverse_ ? -x_.inner : x_.inner;
        loops::parallel_for(x_.count(), x_.size, [&](dim_t begin, dim_t end) {
            for (dim_t line = begin; line < end; line++) {
                dim_t at = x_.begin(line, x_.size) + first;
                T so_far = is_exclusive_ ? T{0} : x[at];
                for (dim_t k = 0; k < x_.size; k++, at += next) {
                    if (k > 0)
                        so_far = sum(so_far, x[is_exclusive_ ? at - next : at]);
                    y[at] = so_far;
                }
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
    loops::tensor_lines x_;
    bool is_exclusive_, is_reverse_, is_wide_;
};

std::unique_ptr<step> lower_cum_sum(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32, data_type::s32});
    need_equal_dims(x, l.output({x.type}));
    const std::vector<std::int64_t> axis = l.constant_integers(1);
    if (axis.size() != 1 || element_count(x.dims) == 0)
        refuse("the axis is " + to_text(axis) + ", allowed is one number, and an input that has elements");
    const loops::tensor_lines along = lines_of(x.dims, axis_among(axis[0], x.dims.size()));
    if (x.type == data_type::s32)
        return std::make_unique<cumulative_step<std::int32_t>>(l, along);
    return std::make_unique<cumulative_step<float>>(l, along);
}

// ---- Ones and zeros

/// One of two values for each class: the second where it is the index's. No class is that of an index outside.
template <typename T> class one_hot_step final : public loop_step {
public:
    one_hot_step(const lowering &l, const loops::tensor_lines &y)
        : indices_(l.input_buffer(0)), values_(l.input_buffer(2)), dst_(l.output_buffer()), y_(y),
          has_reals_(l.input(0).type == data_type::f32) {}

    void run(const stream &, const run_memory &m) const override {
        const T *values = m.at<T>(values_);
        T *y = m.at<T>(dst_);
        loops::parallel_for(y_.count() * y_.size, 1,
                            [&](dim_t begin, dim_t end) { std::fill(y + begin, y + end, values[0]); });
        loops::parallel_for(y_.count(), 4, [&](dim_t begin, dim_t end) {
            for (dim_t line = begin; line < end; line++)
                if (const dim_t i = class_of(m, line); i >= 0 && i < y_.size)
                    y[y_.begin(line, y_.size) + i * y_.inner] = values[1];
        });
    }
    std::string explain() const override { return "a plain loop over the indices"; }

private:
    /// The class that an index names; from the end where it is negative.
    dim_t class_of(const run_memory &m, dim_t index) const {
        const float real = has_reals_ ? m.at<float>(indices_)[index] : 0.f;
        const bool fits = std::abs(real) < 0x1p31f; // not NaN
        const dim_t given = !has_reals_ ? m.at<std::int32_t>(indices_)[index]
                            : fits      ? static_cast<dim_t>(real)
                                        : y_.size;
        return given < 0 ? given + y_.size : given;
    }

    buffer indices_, values_, dst_;
    loops::tensor_lines y_;
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
    const loops::tensor_lines classes = lines_of(y.dims, axis);
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
        loops::parallel_for(rows, columns, [&](dim_t begin, dim_t end) {
            for (dim_t r = begin; r < end; r++) {
                const dim_t split =
                    std::clamp<dim_t>(r % height + diagonal_ + (is_upper_ ? 0 : 1), 0, columns);
                const dim_t from = is_upper_ ? split : 0, to = is_upper_ ? columns : split;
                std::memset(y + bytes(r * columns), 0, bytes(columns));
                std::memcpy(y + bytes(r * columns + from), x + bytes(r * columns + from), bytes(to - from));
            }
        });
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

constexpr row onnx_topk_cumsum_onehot_rows[] = {
    row("CumSum", 2, lower_cum_sum, shape::same, rows::never)
        .uses_integers(use::passes_on, use::computes)
        .arithmetic()
        .sizes(flow::first),
    row("OneHot", 3, lower_one_hot, one_hot_shape, rows::never).elements_of(2).sizes(flow::lost),
    row("TopK", {1, 2}, lower_top_k, top_k_shape, rows::inner_axis_or_last).int64().sizes(flow::sorted),
    row("Trilu", {1, 2}, lower_trilu, shape::same, rows::windows).sizes(flow::first),
};

} // namespace

operator_rows onnx_topk_cumsum_onehot_operators() { return onnx_topk_cumsum_onehot_rows; }

} // namespace octet::model
