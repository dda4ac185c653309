// ReduceMean and ReduceSum in ONNX Runtime's orders of sums, which differ with the place of the reduced dimensions: a row over
// lanes, rows one after the other, or four rows at a time. Plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "loops/kept_walk.hpp"
#include "loops/rows.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/choosing.hpp"
#include "network/ops/moving.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

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

reduction_form form_of(const memory::dims &dims, const std::vector<bool> &is_reduced) {
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

class float_sums final : public loop_step {
public:
    float_sums(const lowering &l, const reduction_form &form, bool is_mean)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), form_(form), dims_(l.input(0).dims),
          walk_(dims_, broadcast_strides(reduced_shape(l), dims_)), count_(element_count(l.output().dims)) {
        if (is_mean)
            divisor_ = static_cast<float>(element_count(dims_) / count_);
    }

    void run(const stream &, const run_memory &m) const override {
        float *y = m.at<float>(dst_);
        add(m.at<float>(src_), y);
        const bool adds_zero = !begins_with_first();
        loops::parallel_for(count_, 4, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; adds_zero && i < end; i++)
                y[i] += 0.f; // with which sums begin
            for (dim_t i = begin; divisor_ != 0.f && i < end; i++)
                y[i] /= divisor_;
        });
    }
    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    /// Rows, and many columns, begin with their first element, which may be -0.
    bool begins_with_first() const {
        constexpr dim_t many_rows = 17, many = 257;
        const memory::dims &size = form_.sizes;
        return form_.kinds == "r" || form_.kinds == "kr" ||
               (form_.kinds == "rk" && size[0] >= many_rows && std::max(size[0], size[1]) >= many);
    }
    void add(const float *x, float *y) const {
        const std::string &kinds = form_.kinds;
        const memory::dims &size = form_.sizes;
        if (kinds == "r" || kinds == "kr") {
            const dim_t n = size.back();
            loops::parallel_for(count_, n, [=](dim_t begin, dim_t end) {
                for (dim_t k = begin; k < end; k++)
                    y[k] = loops::sum_of_row(n, k * n, [row = x + k * n](dim_t i) { return row[i]; });
            });
        } else if (kinds == "rk" || (kinds == "krk" && size[0] == 1)) {
            add_columns(add_rows, x, 1, element_count(dims_) / count_, count_, y);
        } else if (kinds == "krk") {
            add_columns(add_rows_by_four, x, size[0], size[1], size[2], y);
        } else if (kinds == "rkr" && count_ > 1) {
            loops::parallel_for(size[1], size[0] * size[2], [&](dim_t begin, dim_t end) {
                for (dim_t k = begin; k < end; k++)
                    for (dim_t o = 0; o < size[0]; o++) {
                        const dim_t place = (o * size[1] + k) * size[2];
                        const float sum = loops::sum_of_row(
                            size[2], place, [first = x + place](dim_t i) { return first[i]; });
                        y[k] = o == 0 ? sum : y[k] + sum;
                    }
            });
        } else {
            add_in_order(x, y);
        }
    }

    /// Of matrices with `rows` rows of n elements, some columns at a time.
    static void add_columns(void (*add)(const float *, dim_t, dim_t, dim_t, float *), const float *x,
                            dim_t matrices, dim_t rows, dim_t n, float *y) {
        constexpr dim_t part = 1024;
        const dim_t parts = (n + part - 1) / part;
        loops::parallel_for(matrices * parts, rows * std::min(n, part), [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t k = i / parts, first = i % parts * part;
                add(x + k * rows * n + first, rows, n, std::min(part, n - first), y + k * n + first);
            }
        });
    }

    void add_in_order(const float *x, float *y) const {
        std::fill_n(y, count_, -0.f);
        const dim_t step = walk_.result_step();
        walk_.for_each_row(1, [=](dim_t element, dim_t result, dim_t n) {
            if (step == 1)
                for (dim_t i = 0; i < n; i++)
                    y[result + i] += x[element + i];
            else
                for (dim_t i = 0; i < n; i++)
                    y[result + i * step] += x[element + i];
        });
    }

    buffer src_, dst_;
    reduction_form form_;
    memory::dims dims_;
    loops::kept_walk walk_;
    dim_t count_;
    float divisor_ = 0.f;
};

/// Integers: INT32 wraps around, and of INT64 that leave s32 none is written.
class integer_sums final : public loop_step {
public:
    explicit integer_sums(const lowering &l)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), dims_(l.input(0).dims),
          walk_(dims_, broadcast_strides(reduced_shape(l), dims_)), count_(element_count(l.output().dims)),
          is_wide_(l.marks().is_wide),
          sums_(l.scratch(memory::desc({2 * count_}, data_type::s32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *x = m.at<std::int32_t>(src_);
        auto *y = m.at<std::int32_t>(dst_);
        auto *const sums = m.at<std::int64_t>(sums_), *const end = sums + count_;
        std::fill(sums, end, 0);
        const dim_t step = walk_.result_step();
        walk_.for_each_row(2, [=](dim_t element, dim_t result, dim_t n) {
            for (dim_t i = 0; i < n; i++)
                sums[result + i * step] += x[element + i];
        });
        const auto leaves =
            std::find_if(sums, end, [](std::int64_t s) { return s != static_cast<std::int32_t>(s); });
        if (is_wide_ && leaves != end)
            throw error(status::unimplemented,
                        "the sum " + std::to_string(*leaves) + " leaves 32 bits, which INT64 has here");
        std::transform(sums, end, y, [](std::int64_t s) {
            return static_cast<std::int32_t>(static_cast<std::uint32_t>(s));
        });
    }
    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    buffer src_, dst_;
    memory::dims dims_;
    loops::kept_walk walk_;
    dim_t count_;
    bool is_wide_;
    buffer sums_; ///< in 64 bits
};

/// Axes as the operator has them, since also a dimension of 1 that is reduced decides.
std::vector<bool> reduced_dimensions(const lowering &l) {
    const std::size_t rank = l.input(0).dims.size();
    const std::vector<std::int64_t> axes = l.has_input(1) ? l.constant_integers(1) : l.integers("axes", {});
    std::vector<bool> is_reduced(rank, axes.empty() && l.integer("noop_with_empty_axes", 0) == 0);
    for (const std::int64_t axis : axes)
        is_reduced[axis_among(axis, rank)] = true;
    return is_reduced;
}

} // namespace

reduction_form reduction_form_of(const lowering &l, data_type type) {
    const tensor &x = l.input(0, {type}), &y = l.output({type});
    const memory::dims reduced = reduced_shape(l);
    const std::vector<bool> is_reduced = reduced_dimensions(l);
    memory::dims expected = x.dims;
    for (std::size_t d = 0; d < expected.size(); d++)
        if (is_reduced[d])
            expected[d] = 1;
    if (reduced != expected || element_count(reduced) != element_count(y.dims))
        refuse("dimensions that are reduced are not inferred for " + to_text(x.dims) + " and " +
               to_text(y.dims));
    if (element_count(x.dims) == 0)
        refuse_as_unimplemented("input " + to_text(x.dims) + " has no elements");
    return form_of(x.dims, is_reduced);
}

namespace {

template <bool is_mean> std::unique_ptr<step> reduce_by_sums(const lowering &l) {
    const bool is_integer = !is_mean && l.input(0, {data_type::f32, data_type::s32}).type == data_type::s32;
    const reduction_form form = reduction_form_of(l, is_integer ? data_type::s32 : data_type::f32);
    const memory::dims &x = l.input(0).dims;
    const bool has_one_term = reduced_shape(l) == x;
    // Of no dimensions all are reduced: a number is added to 0.
    const bool is_number = x.empty() && l.integer("noop_with_empty_axes", 0) == 0;
    const bool is_reduced = is_number || form.kinds.find('r') != std::string::npos;
    if (!is_reduced || (is_integer && has_one_term))
        return make_view(l);
    if (is_integer)
        return std::make_unique<integer_sums>(l);
    return std::make_unique<float_sums>(l, form, is_mean);
}

/// Rows of floats begin where vectors do, or are not added up over lanes; a single one has another order than several.
bool sums_keep_rows(const node_rows &o) {
    if (!rows::reduce(o) || o.input(0).type != data_type::f32)
        return rows::reduce(o);
    const memory::dims &dims = o.input(0).dims;
    std::vector<bool> is_reduced(dims.size());
    const std::vector<std::int64_t> axes = o.list("axes", 1).value();
    for (const std::int64_t axis : axes)
        is_reduced[axis_among(axis, dims.size())] = true;
    const reduction_form form = form_of(dims, is_reduced);
    constexpr dim_t rows_of_equal_orders = 5;
    if (form.kinds == "krk")
        return form.sizes[0] > 1 || form.sizes[1] <= rows_of_equal_orders;
    return form.kinds != "kr" || element_count(dims) % 4 == 0;
}

/// Means of images: pixels over four lanes, or in order where a convolution in blocks of channels has written them.
class float_image_means final : public loop_step {
public:
    float_image_means(const lowering &l, dim_t images, dim_t pixels)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), images_(images), pixels_(pixels),
          is_in_order_(l.marks().is_of_blocks) {}

    void run(const stream &, const run_memory &m) const override {
        const float *x = m.at<float>(src_);
        float *y = m.at<float>(dst_);
        loops::parallel_for(images_, pixels_, [=](dim_t begin, dim_t end) {
            dim_t i = begin;
            for (; i + 4 <= end; i += 4) // whose sums do not wait for each other
                add_up<4>(x + i * pixels_, y + i);
            for (; i < end; i++)
                add_up<1>(x + i * pixels_, y + i);
        });
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(images_) + " images of " + std::to_string(pixels_) +
               " pixels";
    }

private:
    /// Means of `count` images.
    template <int count> void add_up(const float *x, float *y) const {
        float lanes[count][4] = {}; // with +0, so that no sum is -0
        const dim_t fours = is_in_order_ ? 0 : pixels_ / 4 * 4;
        for (dim_t i = 0; i < fours; i += 4)
            for (int n = 0; n < count; n++)
                for (int k = 0; k < 4; k++)
                    lanes[n][k] += x[n * pixels_ + i + k];
        float sums[count];
        for (int n = 0; n < count; n++)
            sums[n] = (lanes[n][0] + lanes[n][2]) + (lanes[n][1] + lanes[n][3]);
        for (dim_t i = fours; i < pixels_; i++)
            for (int n = 0; n < count; n++)
                sums[n] += x[n * pixels_ + i];
        for (int n = 0; n < count; n++)
            y[n] = sums[n] / static_cast<float>(pixels_);
    }

    buffer src_, dst_;
    dim_t images_, pixels_;
    bool is_in_order_;
};

std::unique_ptr<step> lower_float_global_average_pool(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    if (x.dims.size() < 3 || element_count(x.dims) == 0 || element_count(y.dims) != x.dims[0] * x.dims[1])
        refuse("input " + to_text(x.dims) + " is no batch of images with output " + to_text(y.dims));
    const dim_t images = x.dims[0] * x.dims[1];
    return std::make_unique<float_image_means>(l, images, element_count(x.dims) / images);
}

using namespace row_words;

constexpr row onnx_float_sums_rows[] = {
    row("GlobalAveragePool", 1, lower_float_global_average_pool, shape::global_pooling, rows::windows)
        .becomes(form::unary, "QLinearGlobalAveragePool")
        .sizes(flow::windows)
        .blocked(block_use::pool_whole),
    row("ReduceMean", {1, 2}, reduce_by_sums<true>, shape::reduce, sums_keep_rows)
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .assumes("keepdims", std::int64_t{1}),
    row("ReduceSum", {1, 2}, reduce_by_sums<false>, shape::reduce, sums_keep_rows)
        .arithmetic()
        .use(aliased_or_persistent)
        .transposed(passing_kind::reduction)
        .assumes("keepdims", std::int64_t{1}),
};

} // namespace

operator_rows onnx_float_sums_operators() { return onnx_float_sums_rows; }

} // namespace octet::model
