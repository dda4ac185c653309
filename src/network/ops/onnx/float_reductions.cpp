// LogSoftmax, the exponentials of Softmax and InstanceNormalization with ONNX Runtime's orders of sums, which no primitive has.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

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

using namespace row_words;

constexpr row onnx_float_reductions_rows[] = {
    row("Exponentials", 1, lower_exponentials, shape::exponentials, rows::inner_axis_or_last).internal(),
    row("InstanceNormalization", 3, lower_instance_normalization, shape::same, rows::windows_in_groups)
        .sizes(flow::first),
    row("LogSoftmax", 1, lower_log_softmax, shape::same, rows::inner_axis_or_last).by_opset(),
};

} // namespace

operator_rows onnx_float_reductions_operators() { return onnx_float_reductions_rows; }

} // namespace octet::model
