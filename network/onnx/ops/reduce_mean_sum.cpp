// ReduceMean and ReduceSum in ONNX Runtime's orders of sums, which differ with the place of the reduced
// dimensions: a row over lanes, rows one after the other, or four rows at a time. Plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "loops/parallel.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

class float_sums final : public loop_step {
public:
    float_sums(const lowering &l, loops::reduction r, bool is_mean)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), reduction_(std::move(r)), is_mean_(is_mean) {}

    void run(const stream &, const run_memory &m) const override {
        loops::reduce_by_sums(reduction_, is_mean_, m.at<float>(src_), m.at<float>(dst_));
    }
    std::string explain() const override { return explain_reduction(src_); }

private:
    buffer src_, dst_;
    loops::reduction reduction_;
    bool is_mean_;
};

/// Integers: INT32 wraps around, and of INT64 that leave s32 none is written.
class integer_sums final : public loop_step {
public:
    integer_sums(const lowering &l, const loops::reduction &r)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), walk_(r.walk), count_(r.count),
          is_wide_(l.marks().is_wide),
          sums_(l.scratch(memory::desc({2 * count_}, data_type::s32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *x = m.at<std::int32_t>(src_);
        auto *y = m.at<std::int32_t>(dst_);
        auto *const sums = m.at<std::int64_t>(sums_);
        std::fill_n(sums, count_, 0);
        walk_.for_each_row(2, [=, step = walk_.result_step()](dim_t element, dim_t result, dim_t n) {
            for (dim_t i = 0; i < n; i++)
                sums[result + i * step] += x[element + i];
        });
        const auto leaves = [=](dim_t i) { return sums[i] != static_cast<std::int32_t>(sums[i]); };
        if (const dim_t i = is_wide_ ? loops::first_of(count_, 1, leaves) : count_; i < count_)
            throw error(status::unimplemented,
                        "the sum " + std::to_string(sums[i]) + " leaves 32 bits, which INT64 has here");
        loops::parallel_for(count_, 1, [=](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++)
                y[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]));
        });
    }
    std::string explain() const override { return explain_reduction(src_); }

private:
    buffer src_, dst_;
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

std::string explain_reduction(const buffer &src) {
    return "a plain loop over " + to_text(src.get_desc().dims()) + " elements";
}

loops::reduction reduction_of(const lowering &l, data_type type) {
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
    return {loops::reduction_form_of(x.dims, is_reduced),
            {x.dims, broadcast_strides(reduced, x.dims)},
            element_count(x.dims),
            element_count(y.dims)};
}

namespace {

template <bool is_mean> std::unique_ptr<step> reduce_by_sums(const lowering &l) {
    const bool is_integer = !is_mean && l.input(0, {data_type::f32, data_type::s32}).type == data_type::s32;
    loops::reduction r = reduction_of(l, is_integer ? data_type::s32 : data_type::f32);
    const memory::dims &x = l.input(0).dims;
    const bool has_one_term = reduced_shape(l) == x;
    // A tensor without dimensions is reduced by all of them: its number is added to 0.
    const bool is_number = x.empty() && l.integer("noop_with_empty_axes", 0) == 0;
    const bool is_reduced = is_number || r.form.kinds.find('r') != std::string::npos;
    if (!is_reduced || (is_integer && has_one_term))
        return make_view(l);
    if (is_integer)
        return std::make_unique<integer_sums>(l, r);
    return std::make_unique<float_sums>(l, std::move(r), is_mean);
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
    const loops::reduction_form form = loops::reduction_form_of(dims, is_reduced);
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
        loops::reduce_images(m.at<float>(src_), images_, pixels_, is_in_order_, m.at<float>(dst_));
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(images_) + " images of " + std::to_string(pixels_) +
               " pixels";
    }

private:
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

constexpr row onnx_reduce_mean_sum_rows[] = {
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

operator_rows onnx_reduce_mean_sum_operators() { return onnx_reduce_mean_sum_rows; }

} // namespace octet::model
