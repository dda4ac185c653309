// Float operators that compute with whole rows or channels: each is one primitive with rule f32, whose sums have a
// fixed order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/onnx/ops/float_loops.hpp"
#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/ops/slice_gather_extreme.hpp"
#include "network/ops/view_transpose_pad.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

using flags = normalization_flags;

/// ONNX Runtime's own polynomials and orders of sums.
primitive_attr ort_attr() {
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    return attr;
}

/// One f32 per element of a row.
buffer row_parameter(const lowering &l, std::size_t i, dim_t size) {
    const tensor &t = l.input(i, {data_type::f32});
    if (element_count(t.dims) != size)
        refuse("input " + std::to_string(i) + " (" + to_text(t.dims) + ") is not one value for each of " +
               std::to_string(size));
    return l.input_buffer(i, memory::desc({size}, data_type::f32, format_tag::x));
}

struct row_parameters {
    std::size_t scale, shift;
};

void add_layer_normalization(primitive_step &s, const lowering &l, const buffer &src, const buffer &dst,
                             row_parameters inputs) {
    const dim_t size = src.get_desc().dims().back();
    flags f = flags::none;
    arguments args{{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}};
    if (l.has_input(inputs.scale)) {
        f = f | flags::use_scale;
        args[OCTET_ARG_SCALE] = row_parameter(l, inputs.scale, size);
    }
    if (l.has_input(inputs.shift)) {
        f = f | flags::use_shift;
        args[OCTET_ARG_SHIFT] = row_parameter(l, inputs.shift, size);
    }
    const layer_normalization_forward::desc d(inference, src.get_desc(), dst.get_desc(), memory::desc(),
                                              l.real("epsilon", 1e-5f), f);
    s.add(layer_normalization_forward::primitive_desc(d, ort_attr(), l.get_engine()), args);
}

/// x times one factor plus one summand for each channel, each rounded, as ONNX Runtime folds the statistics:
/// the primitive of the name is oneDNN's, with one fused multiply-add.
class batch_normalization_step final : public step {
public:
    batch_normalization_step(const lowering &l, const memory::desc &md, dim_t channels)
        : scale_(row_parameter(l, 1, channels)), shift_(row_parameter(l, 2, channels)),
          mean_(row_parameter(l, 3, channels)), variance_(row_parameter(l, 4, channels)), channels_(channels),
          epsilon_(l.real("epsilon", 1e-5f)) {
        memory::dims of_channels(md.dims().size(), 1);
        of_channels[1] = channels;
        const memory::desc parameters(of_channels, data_type::f32, memory::dims());
        factors_ = l.scratch(parameters);
        summands_ = l.scratch(parameters);
        primitive_attr attr;
        post_ops behind;
        behind.append_binary(algorithm::binary_add, parameters);
        attr.set_post_ops(behind);
        product_.add(
            binary::primitive_desc({algorithm::binary_mul, md, parameters, md}, attr, l.get_engine()),
            {{OCTET_ARG_SRC_0, l.input_buffer(0)},
             {OCTET_ARG_SRC_1, factors_},
             {OCTET_ARG_ATTR_MULTIPLE_POST_OP(0) | OCTET_ARG_SRC_1, summands_},
             {OCTET_ARG_DST, l.output_buffer(0)}});
    }

    void make_primitives() override { product_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        const float *scale = m.at<float>(scale_), *shift = m.at<float>(shift_), *mean = m.at<float>(mean_),
                    *variance = m.at<float>(variance_);
        float *factors = m.at<float>(factors_), *summands = m.at<float>(summands_);
        for (dim_t c = 0; c < channels_; c++) {
            factors[c] = 1.f / std::sqrt(variance[c] + epsilon_) * scale[c];
            summands[c] = shift[c] - mean[c] * factors[c];
        }
        product_.run(s, m);
    }
    std::string implementation() const override { return product_.implementation(); }
    std::string explain() const override { return product_.explain(); }

private:
    buffer scale_, shift_, mean_, variance_, factors_, summands_;
    dim_t channels_;
    float epsilon_;
    primitive_step product_;
};

} // namespace

void need_equal_dims(const tensor &x, const tensor &y) {
    if (x.dims != y.dims)
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) + " differ in shape");
}

void need_only_outputs(const lowering &l, std::initializer_list<std::size_t> allowed) {
    const node &n = l.get_node();
    for (std::size_t i = 1; i < n.outputs.size(); i++)
        if (std::count(allowed.begin(), allowed.end(), i) == 0 && is_read(l.get_graph(), output_of(n, i)))
            refuse_as_unimplemented("output " + std::to_string(i) + " is read, allowed is the first");
}

std::int64_t normalized_axis(const lowering &l) {
    const auto rank = static_cast<std::int64_t>(l.input(0).dims.size());
    const std::int64_t given = l.integer("axis", -1);
    return given < 0 ? given + rank : given;
}

memory::desc normalized_rows(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output(0, {data_type::f32});
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    const std::int64_t given = l.integer("axis", -1), axis = normalized_axis(l);
    if (axis < 0 || axis >= rank || y.dims != x.dims)
        refuse("attribute 'axis' is " + std::to_string(given) + ", or input " + to_text(x.dims) +
               " and output " + to_text(y.dims) + " differ in shape");
    const auto middle = x.dims.begin() + axis;
    return memory::desc({element_count({x.dims.begin(), middle}), element_count({middle, x.dims.end()})},
                        x.type, memory::dims());
}

namespace {

std::unique_ptr<step> lower_float_softmax(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    return softmax_step(l, softmax_rows_of(l, x, y, l.get_graph().opset), ort_attr());
}

std::unique_ptr<step> lower_layer_normalization(const lowering &l) {
    need_only_outputs(l, {});
    const memory::desc md = normalized_rows(l);
    if (auto spread = make_spread_normalization(l, l.real("epsilon", 1e-5f), false))
        return spread;
    auto result = std::make_unique<primitive_step>();
    add_layer_normalization(*result, l, l.input_buffer(0, md), l.output_buffer(0).seen_through(md), {1, 2});
    return result;
}

std::unique_ptr<step> lower_batch_normalization(const lowering &l) {
    need_only_outputs(l, {});
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output(0, {data_type::f32});
    if (l.integer("training_mode", 0) != 0)
        refuse_as_unimplemented("attribute 'training_mode' is 1, allowed is 0");
    if (x.dims.size() < 2 || x.dims.size() > 5 || y.dims != x.dims)
        refuse("input " + to_text(x.dims) + " is no batch of channels");
    const dim_t channels = x.dims[1];
    return std::make_unique<batch_normalization_step>(l, dense_desc(x), channels);
}

template <bool is_smallest> std::unique_ptr<step> lower_arg_extreme(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32});
    const bool takes_last = l.integer("select_last_index", 0) != 0;
    return make_arg_extreme(l, axis_among(l.integer("axis", 0), x.dims.size()),
                            {is_smallest, takes_last, x.dims.size() == 1 && !takes_last});
}

using namespace row_words;

constexpr row onnx_argmax_softmax_norms_rows[] = {
    row("ArgMax", 1, lower_arg_extreme<false>, shape::arg_max, rows::inner_axis_or_first)
        .int64()
        .sizes(flow::axis)
        .transposed(passing_kind::index)
        .becomes(form::index)
        .assumes("select_last_index", std::int64_t{0}),
    row("ArgMin", 1, lower_arg_extreme<true>, shape::arg_max, rows::inner_axis_or_first)
        .int64()
        .sizes(flow::axis)
        .transposed(passing_kind::index),
    row("BatchNormalization", 5, lower_batch_normalization, shape::same, rows::last_axis)
        .sizes(flow::first)
        .blocked(block_use::normalize),
    row("LayerNormalization", {2, 3}, lower_layer_normalization, shape::layer_normalization,
        rows::inner_axis_or_last)
        .sizes(flow::first),
    row("Softmax", 1, lower_float_softmax, shape::same, rows::inner_axis_or_last)
        .by_opset()
        .becomes(form::unary, "QLinearSoftmax")
        .transposed(passing_kind::softmax),
};

} // namespace

operator_rows onnx_argmax_softmax_norms_operators() { return onnx_argmax_softmax_norms_rows; }

} // namespace octet::model
