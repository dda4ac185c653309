// LogSoftmax, the exponentials of Softmax, norms and other reductions, and InstanceNormalization with ONNX Runtime's orders of sums,
// which no primitive has.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "network/graph/index_walk.hpp"
#include "network/ops/broadcast.hpp"
#include "network/ops/onnx/float_loops.hpp"
#include "network/ops/onnx/onnx.hpp"
#include "network/shapes/node_rows.hpp"
#include "network/shapes/onnx.hpp"

namespace octet::model {
namespace {

/// e^(x - max) by primitives, and its sums along an axis in the order of Softmax.
class exponentials {
public:
    /// `differences`: x - max. `powers` may be the same buffer.
    exponentials(const lowering &l, const memory::desc &md, int axis, const buffer &differences,
                 buffer powers)
        : powers_(std::move(powers)) {
        const memory::dims dims = md.dims();
        const auto middle = dims.begin() + axis;
        outer = element_count({dims.begin(), middle});
        size = *middle;
        inner = element_count({middle + 1, dims.end()});
        memory::dims reduced = dims;
        reduced[static_cast<std::size_t>(axis)] = 1;
        const memory::desc row_md(reduced, data_type::f32, memory::dims());
        const buffer src = l.input_buffer(0, md), largest = l.scratch(row_md);
        primitives.add(
            reduction::primitive_desc({algorithm::reduction_max, md, row_md, 0.f, 0.f}, l.get_engine()),
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, largest}});
        primitives.add(
            binary::primitive_desc({algorithm::binary_sub, md, row_md, md}, primitive_attr(), l.get_engine()),
            {{OCTET_ARG_SRC_0, src}, {OCTET_ARG_SRC_1, largest}, {OCTET_ARG_DST, differences}});
        const eltwise_forward::desc exponential(prop_kind::forward_inference, algorithm::eltwise_ort_exp, md,
                                                md, 0.f);
        primitives.add(eltwise_forward::primitive_desc(exponential, primitive_attr(), l.get_engine()),
                       {{OCTET_ARG_SRC, differences}, {OCTET_ARG_DST, powers_}});
    }

    /// Of the row whose first element is there. Over 16 lanes; of them halves, then neighbours.
    float sum(const run_memory &m, dim_t first) const {
        const float *x = m.at<float>(powers_) + first;
        std::array<float, 16> lanes{};
        for (dim_t k = 0; k < size; k++)
            lanes[static_cast<std::size_t>(k % 16)] += x[k * inner];
        for (std::size_t i = 0; i < 8; i++)
            lanes[i] += lanes[i + 8];
        for (std::size_t distance = 1; distance < 8; distance *= 2)
            for (std::size_t i = 0; i < 8; i += 2 * distance)
                lanes[i] += lanes[i + distance];
        return lanes[0];
    }

    dim_t outer = 0, size = 0, inner = 0; ///< rows lie `inner` apart
    primitive_step primitives;

private:
    buffer powers_;
};

/// x - max - ln(sum of e^(x - max)).
class log_softmax_step final : public step {
public:
    log_softmax_step(const lowering &l, const memory::desc &md, int axis)
        : dst_(l.output_buffer(md)), powers_(l, md, axis, dst_, l.scratch(md)) {}

    void make_primitives() override { powers_.primitives.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        powers_.primitives.run(s, m);
        for (dim_t o = 0; o < powers_.outer; o++)
            for (dim_t i = 0; i < powers_.inner; i++) {
                const dim_t first = o * powers_.size * powers_.inner + i;
                const float logarithm = std::log(powers_.sum(m, first));
                float *y = m.at<float>(dst_) + first;
                for (dim_t k = 0; k < powers_.size; k++)
                    y[k * powers_.inner] -= logarithm;
            }
    }
    std::string implementation() const override { return powers_.primitives.implementation() + " + loop"; }
    std::string explain() const override {
        return powers_.primitives.explain() + "\na plain loop over " +
               std::to_string(powers_.outer * powers_.inner) + " rows";
    }

private:
    buffer dst_;
    exponentials powers_;
};

/// Softmax before its division: e^(x - max), and the sum of each row.
class exponentials_step final : public step {
public:
    exponentials_step(const lowering &l, const memory::desc &md, int axis)
        : sums_(l.output_buffer(1)),
          powers_(l, md, axis, l.output_buffer(0).seen_through(md), l.output_buffer(0).seen_through(md)) {}

    void make_primitives() override { powers_.primitives.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        powers_.primitives.run(s, m);
        for (dim_t o = 0; o < powers_.outer; o++)
            m.at<float>(sums_)[o] = powers_.sum(m, o * powers_.size);
    }
    std::string implementation() const override { return powers_.primitives.implementation() + " + loop"; }
    std::string explain() const override {
        return powers_.primitives.explain() + "\na plain loop over " + std::to_string(powers_.outer) +
               " rows";
    }

private:
    buffer sums_;
    exponentials powers_;
};

/// How a reduction begins, takes in an element, and ends.
struct reduced_sum {
    static constexpr float start = 0.f;
    static float term(float x) { return x; }
    static float join(float a, float b) { return a + b; }
    static float finish(float y) { return y; }
};
struct reduced_magnitudes : reduced_sum {
    static float term(float x) { return x > 0.f ? x : -x; }
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

/// A tensor whose elements are taken in to the results that they belong to.
struct reduced_tensor {
    buffer src, dst;
    memory::dims dims, strides; ///< of the source; where an element's result lies
    dim_t count;                ///< of results
    bool is_whole;              ///< all dimensions are reduced

    /// Calls f(result, element) in the order of memory.
    template <typename F> void for_each(const run_memory &m, const F &f) const {
        const float *x = m.at<float>(src);
        for_each_offset({dims.begin(), dims.end() - 1}, strides, [&](dim_t place) {
            for (dim_t k = 0; k < dims.back(); k++)
                f(place + k * strides.back(), *x++);
        });
    }
    std::string explain() const { return "a plain loop over " + to_text(dims) + " elements"; }
};

reduced_tensor reduced_input(const lowering &l) {
    const reduction_form form = reduction_form_of(l, data_type::f32);
    const memory::dims &x = l.input(0).dims;
    reduced_tensor t{l.input_buffer(0),
                     l.output_buffer(),
                     x,
                     broadcast_strides(l.integers("reduced", {}), x),
                     element_count(l.output().dims),
                     form.kinds == "r"};
    if (x.empty())
        t.dims = t.strides = {1};
    return t;
}

/// Each result takes in its elements in the order of memory, but that of all dimensions.
template <typename F> class fold_step final : public loop_step {
public:
    explicit fold_step(reduced_tensor t) : t_(std::move(t)) {}

    void run(const stream &, const run_memory &m) const override {
        float *y = m.at<float>(t_.dst);
        if (t_.is_whole) {
            const float *x = m.at<float>(t_.src);
            *y = F::finish(fold_row(
                element_count(t_.dims), 0, [&](dim_t k) { return F::term(x[k]); }, F::join));
            return;
        }
        std::fill_n(y, t_.count, F::start);
        t_.for_each(m, [&](dim_t i, float x) { y[i] = F::join(y[i], F::term(x)); });
        for (dim_t i = 0; i < t_.count; i++)
            y[i] = F::finish(y[i]);
    }
    std::string explain() const override { return t_.explain(); }

private:
    reduced_tensor t_;
};

/// The logarithm of a sum of exponentials, less the largest finite element before. If the first element is infinite, 0 counts as
/// one; where all dimensions are reduced, a largest element that is infinite is the result.
class log_sum_exp_step final : public loop_step {
public:
    log_sum_exp_step(const lowering &l, reduced_tensor t)
        : t_(std::move(t)), largest_(l.scratch(memory::desc({t_.count}, data_type::f32, format_tag::x))) {}

    void run(const stream &, const run_memory &m) const override {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        float *y = m.at<float>(t_.dst), *largest = m.at<float>(largest_);
        if (t_.is_whole) {
            const float *x = m.at<float>(t_.src);
            *largest = fold_row(
                element_count(t_.dims), 0, [&](dim_t k) { return x[k]; },
                [](float a, float b) { return b > a ? b : a; });
            if (std::isinf(*largest)) {
                *y = *largest;
                return;
            }
        } else {
            std::fill_n(y, t_.count, 0.f); // 1 where an element has been there
            t_.for_each(m, [&](dim_t i, float x) {
                if (y[i] == 0.f)
                    largest[i] = std::isinf(x) ? 0.f : x;
                else if (!std::isinf(x) && !std::isnan(x))
                    largest[i] = x < largest[i] ? largest[i] : x;
                y[i] = 1.f;
            });
        }
        std::fill_n(y, t_.count, 0.f);
        t_.for_each(m, [&](dim_t i, float x) {
            if (x != -infinity)
                y[i] += std::exp(x - largest[i]);
        });
        for (dim_t i = 0; i < t_.count; i++)
            y[i] = std::log(y[i]) + largest[i];
    }
    std::string explain() const override { return t_.explain(); }

private:
    reduced_tensor t_;
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
        const float *x = m.at<float>(src_);
        float *y = m.at<float>(dst_);
        const auto n = static_cast<float>(size_);
        for (dim_t p = 0; p < instances_; p++, x += size_, y += size_) {
            const float mean = sum_of_row(size_, p * size_, [&](dim_t k) { return x[k]; }) / n;
            const float variance = // of differences, which have no address
                sum_of_row(size_, 0, [&](dim_t k) { return (x[k] - mean) * (x[k] - mean); }) / n;
            const float factor = m.at<float>(scale_)[p % channels_] * (1.f / std::sqrt(variance + epsilon_)),
                        summand = m.at<float>(shift_)[p % channels_] - mean * factor;
            for (dim_t k = 0; k < size_; k++)
                y[k] = x[k] * factor + summand;
        }
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
    const auto [md, axis] = softmax_rows_of(l, l.input(0, {data_type::f32}), l.output({data_type::f32}));
    return std::make_unique<log_softmax_step>(l, md, axis);
}

std::unique_ptr<step> lower_exponentials(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32});
    const auto [md, axis] = softmax_rows_of(l, x, l.output(0, {data_type::f32}));
    if (element_count(l.output(1, {data_type::f32}).dims) * x.dims.back() != element_count(x.dims))
        refuse("output 1 is not one number for each row of " + to_text(x.dims));
    return std::make_unique<exponentials_step>(l, md, axis);
}

template <typename F> std::unique_ptr<step> lower_fold(const lowering &l) {
    return std::make_unique<fold_step<F>>(reduced_input(l));
}

std::unique_ptr<step> lower_log_sum_exp(const lowering &l) {
    return std::make_unique<log_sum_exp_step>(l, reduced_input(l));
}

using namespace row_words;

constexpr row reduction_row(const char *name, row::lowering_function lower) {
    return row(name, {1, 2}, lower, shape::reduce, rows::reduce);
}

constexpr row onnx_float_reductions_rows[] = {
    row("Exponentials", 1, lower_exponentials, shape::exponentials, rows::inner_axis_or_last).internal(),
    row("InstanceNormalization", 3, lower_instance_normalization, shape::same, rows::windows_in_groups)
        .sizes(flow::first),
    row("LogSoftmax", 1, lower_log_softmax, shape::same, rows::inner_axis_or_last).by_opset(),
    reduction_row("ReduceL1", lower_fold<reduced_magnitudes>),
    reduction_row("ReduceL2", lower_fold<reduced_norm>),
    reduction_row("ReduceLogSum", lower_fold<reduced_logarithm>),
    reduction_row("ReduceLogSumExp", lower_log_sum_exp),
    reduction_row("ReduceProd", lower_fold<reduced_product>),
    reduction_row("ReduceSumSquare", lower_fold<reduced_squares>),
};

} // namespace

operator_rows onnx_float_reductions_operators() { return onnx_float_reductions_rows; }

} // namespace octet::model
