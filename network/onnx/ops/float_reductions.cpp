// LogSoftmax, norms and other reductions, and InstanceNormalization with ONNX
// Runtime's orders of sums, which no primitive has.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "loops/normalization.hpp"
#include "loops/softmax.hpp"
#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::model {
namespace {

/// e^(x - max) along an axis, and its sums in the order of Softmax: as many rows at a time as a cache holds.
/// The exponentials are a primitive's.
class exponentials {
public:
    exponentials(const lowering &l, const softmax_rows &rows) {
        const memory::dims dims = rows.md.dims();
        const auto middle = dims.begin() + rows.axis;
        size = *middle;
        inner = element_count({middle + 1, dims.end()});
        count = element_count({dims.begin(), middle}) * inner;
        constexpr dim_t elements = 1 << 14;
        at_a_time_ = std::clamp<dim_t>(elements / std::max<dim_t>(size, 1), 1, std::max<dim_t>(count, 1));
        whole_.plan = plan_of(l, at_a_time_ * size);
        if (count % at_a_time_ != 0)
            last_.plan = plan_of(l, count % at_a_time_ * size);
    }

    void make_primitives() {
        for (exponential *e : {&whole_, &last_})
            if (e->plan) {
                e->what = primitive(e->plan);
                e->plan = {};
            }
    }

    /// Calls work(r, n, raise) for disjoint ranges of rows from r to r + n - 1, on several threads. There,
    /// raise(x, y) makes e^x of n dense rows.
    template <typename Work> void for_ranges(const stream &s, const Work &work) const {
        parallel_loop((count + at_a_time_ - 1) / at_a_time_, 1, [&](dim_t begin, dim_t end) {
            for (dim_t i = begin; i < end; i++) {
                const dim_t r = i * at_a_time_, n = std::min(at_a_time_, count - r);
                const primitive &p = n == at_a_time_ ? whole_.what : last_.what;
                work(r, n, [&](float *x, float *y) {
                    const primitive::argument args[] = {{OCTET_ARG_SRC, x}, {OCTET_ARG_DST, y}};
                    p.execute(s, args, 2);
                });
            }
        });
    }

    /// Works on a row whose elements are neighbours.
    void subtract_largest(const float *x, float *y) const { loops_.subtract_largest(x, size, y); }
    float sum(const float *powers) const { return loops_.sum(powers, size); }

    std::string implementation() const { return name() + " + loop"; }
    std::string explain() const {
        return whole_.what.get_primitive_desc().problem_str() + "\n  runs on " + name() +
               "\na plain loop over " + std::to_string(count) + " rows, " + std::to_string(at_a_time_) +
               " at a time";
    }

    dim_t count = 0, size = 0, inner = 0; ///< of rows and what they have; their elements lie `inner` apart

private:
    struct exponential {
        primitive_desc_base plan; ///< empty once the primitive is there
        primitive what;
    };

    static primitive_desc_base plan_of(const lowering &l, dim_t elements) {
        const memory::desc md({elements}, data_type::f32, format_tag::x);
        return eltwise_forward::primitive_desc(
            {prop_kind::forward_inference, algorithm::eltwise_ort_exp, md, md, 0.f}, l.get_engine());
    }
    std::string name() const { return whole_.what.get_primitive_desc().impl_info_str(); }

    const loops::softmax_loops loops_;
    dim_t at_a_time_ = 1;
    exponential whole_, last_; ///< of all that are taken at a time, and of those that are left at the end
};

/// x - max - ln(sum of e^(x - max)). Rows whose elements do not lie side by side are gathered first.
class log_softmax_step final : public step {
public:
    log_softmax_step(const lowering &l, const softmax_rows &rows)
        : src_(l.input_buffer(0, rows.md)), dst_(l.output_buffer(rows.md)), powers_(l, rows) {
        if (powers_.inner > 1)
            rows_ = l.scratch(memory::desc({element_count(rows.md.dims())}, data_type::f32, format_tag::x));
    }

    void make_primitives() override { powers_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        const float *const x = m.at<float>(src_);
        float *const y = m.at<float>(dst_), *const rows = rows_ ? m.at<float>(*rows_) : nullptr;
        const dim_t size = powers_.size;
        powers_.for_ranges(s, [&](dim_t first, dim_t count, const auto &raise) {
            if (rows)
                for_elements(first, count, [=](dim_t row, dim_t place) { rows[row] = x[place]; });
            const float *const from = (rows ? rows : x) + first * size;
            float *const powers = y + first * size; // until all sums are there
            for (dim_t r = 0; r < count; r++)
                powers_.subtract_largest(from + r * size, powers + r * size);
            raise(powers, powers);
            for (dim_t r = 0; r < count; r++) {
                const float logarithm = std::log(powers_.sum(powers + r * size));
                float *const to = (rows ? rows : y) + (first + r) * size;
                powers_.subtract_largest(from + r * size, to);
                for (dim_t k = 0; k < size; k++)
                    to[k] -= logarithm;
            }
        });
        if (rows)
            powers_.for_ranges(s, [&](dim_t first, dim_t count, const auto &) {
                for_elements(first, count, [=](dim_t row, dim_t place) { y[place] = rows[row]; });
            });
    }
    std::string implementation() const override { return powers_.implementation(); }
    std::string explain() const override { return powers_.explain(); }

private:
    /// Calls work(place in dense rows, place in the tensor) for each element of some rows, neighbours in
    /// memory one after the other.
    template <typename Work> void for_elements(dim_t first, dim_t count, const Work &work) const {
        const dim_t size = powers_.size, inner = powers_.inner;
        for (dim_t r = first, n = 0; r < first + count; r += n) {
            const dim_t column = r % inner, place = (r - column) * size + column;
            n = std::min(inner - column, first + count - r);
            for (dim_t k = 0; k < size; k++)
                for (dim_t i = 0; i < n; i++)
                    work((r + i) * size + k, place + k * inner + i);
        }
    }

    buffer src_, dst_;
    exponentials powers_;
    std::optional<buffer> rows_; ///< dense
};

class fold_step final : public loop_step {
public:
    fold_step(const lowering &l, loops::fold f)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), reduction_(reduction_of(l, data_type::f32)),
          fold_(f) {}

    void run(const stream &, const run_memory &m) const override {
        loops::reduce_by_fold(reduction_, fold_, m.at<float>(src_), m.at<float>(dst_));
    }
    std::string explain() const override { return explain_reduction(src_); }

private:
    buffer src_, dst_;
    loops::reduction reduction_;
    loops::fold fold_;
};

class log_sum_exp_step final : public loop_step {
public:
    explicit log_sum_exp_step(const lowering &l)
        : src_(l.input_buffer(0)), dst_(l.output_buffer()), reduction_(reduction_of(l, data_type::f32)),
          largest_(l.scratch(memory::desc({reduction_.count}, data_type::f32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        loops::reduce_by_log_sum_exp(reduction_, m.at<float>(src_), m.at<float>(dst_), m.at<float>(largest_));
    }
    std::string explain() const override { return explain_reduction(src_); }

private:
    buffer src_, dst_;
    loops::reduction reduction_;
    buffer largest_;
};

/// Each channel of each image minus its mean, over its deviation.
class instance_normalization final : public loop_step {
public:
    instance_normalization(const lowering &l, dim_t instances, dim_t channels, dim_t size, float epsilon)
        : src_(l.input_buffer(0)), scale_(l.input_buffer(1)), shift_(l.input_buffer(2)),
          dst_(l.output_buffer()), instances_(instances), channels_(channels), size_(size),
          epsilon_(epsilon) {}

    void run(const stream &, const run_memory &m) const override {
        loops::normalize_instances(m.at<float>(src_), m.at<float>(scale_), m.at<float>(shift_), epsilon_,
                                   instances_, channels_, size_, m.at<float>(dst_));
    }
    std::string explain() const override {
        return "a plain loop over " + std::to_string(instances_) + " images of " + std::to_string(size_) +
               " elements";
    }

private:
    buffer src_, scale_, shift_, dst_;
    dim_t instances_, channels_, size_;
    float epsilon_;
};

std::unique_ptr<step> lower_instance_normalization(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    if (x.dims.size() < 3 || y.dims != x.dims || element_count(x.dims) == 0)
        refuse("input " + to_text(x.dims) + " is no batch of images");
    const dim_t instances = x.dims[0] * x.dims[1];
    for (const std::size_t i : {1u, 2u})
        if (element_count(l.input(i, {data_type::f32}).dims) != x.dims[1])
            refuse("input " + std::to_string(i) + " (" + to_text(l.input(i).dims) +
                   ") is not one value for each of " + std::to_string(x.dims[1]) + " channels");
    return std::make_unique<instance_normalization>(
        l, instances, x.dims[1], element_count(x.dims) / instances, l.real("epsilon", 1e-5f));
}

std::unique_ptr<step> lower_log_softmax(const lowering &l) {
    return std::make_unique<log_softmax_step>(
        l, softmax_rows_of(l, l.input(0, {data_type::f32}), l.output({data_type::f32}), l.get_graph().opset));
}

template <loops::fold f> std::unique_ptr<step> lower_fold(const lowering &l) {
    return std::make_unique<fold_step>(l, f);
}

std::unique_ptr<step> lower_log_sum_exp(const lowering &l) { return std::make_unique<log_sum_exp_step>(l); }

using namespace row_words;

constexpr row reduction_row(const char *name, row::lowering_function lower) {
    return row(name, {1, 2}, lower, shape::reduce, rows::reduce);
}

constexpr row onnx_float_reductions_rows[] = {
    row("InstanceNormalization", 3, lower_instance_normalization, shape::same, rows::windows_in_groups)
        .sizes(flow::first),
    row("LogSoftmax", 1, lower_log_softmax, shape::same, rows::inner_axis_or_last)
        .transposed(passing_kind::softmax),
    reduction_row("ReduceL1", lower_fold<loops::fold::sum_of_magnitudes>).transposed(passing_kind::reduction),
    reduction_row("ReduceL2", lower_fold<loops::fold::root_of_squares>)
        .transposed(passing_kind::reduction)
        .assumes("keepdims", std::int64_t{1}),
    reduction_row("ReduceLogSum", lower_fold<loops::fold::logarithm_of_sum>)
        .transposed(passing_kind::reduction),
    reduction_row("ReduceLogSumExp", lower_log_sum_exp).transposed(passing_kind::reduction),
    reduction_row("ReduceProd", lower_fold<loops::fold::product>).transposed(passing_kind::reduction),
    reduction_row("ReduceSumSquare", lower_fold<loops::fold::sum_of_squares>)
        .transposed(passing_kind::reduction),
};

} // namespace

operator_rows onnx_float_reductions_operators() { return onnx_float_reductions_rows; }

} // namespace octet::model
