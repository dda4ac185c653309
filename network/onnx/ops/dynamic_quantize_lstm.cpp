// ONNX Runtime's DynamicQuantizeLSTM: LSTM whose products are P(x, W) = f32(exact sum) * (s_x s_W), where all
// rows of x are quantized together, as DynamicQuantizeLinear does.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "network/onnx/ops/dynamic_quantization.hpp"
#include "network/onnx/ops/lstm.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

namespace in = recurrent_inputs;

/// Inputs behind those of LSTM: the scale and the zero point of W, then of R.
constexpr std::size_t scales_of(std::size_t weights) { return weights == in::w ? 8 : 10; }
constexpr std::size_t zero_points_of(std::size_t weights) { return scales_of(weights) + 1; }

class code_product final : public gate_product {
public:
    /// Adds to dst if it `adds`. Where `has_tail`, rows of the source behind those of a run do not count.
    code_product(const lowering &l, const buffer &src, std::size_t weights, dim_t direction,
                 const buffer &dst, bool adds, bool has_tail)
        : given_(src), src_(has_tail ? l.scratch(src.get_desc()) : src),
          scale_(l.scratch(memory::desc({1}, data_type::f32, format_tag::x))),
          weights_scales_(l.input_buffer(scales_of(weights))), direction_(direction), has_tail_(has_tail) {
        const memory::dims x = src.get_desc().dims();
        const tensor &w = l.input(weights);
        const dim_t columns = w.dims[2];
        const buffer codes = l.scratch(memory::desc(x, data_type::u8, memory::dims()));
        quantize_ = std::make_unique<dynamic_quantize_step>(
            l, src_, codes, scale_, l.scratch(memory::desc({1}, data_type::u8, format_tag::x)));
        scale_count_ = element_count(l.input(scales_of(weights)).dims) / w.dims[0];
        scales_ = l.scratch(memory::desc({scale_count_}, data_type::f32, format_tag::x));

        const memory::desc all({w.dims[0] * w.dims[1], columns}, w.type, memory::dims()),
            plain = all.submemory_desc({w.dims[1], columns}, {direction * w.dims[1], 0});
        primitive_attr attr;
        attr.set_requantization(onnxruntime_rule);
        attr.set_zero_points_mask(OCTET_ARG_SRC, 0);
        set_zero_points(attr, OCTET_ARG_WEIGHTS, 0, {zero_point(l, weights, direction)});
        attr.set_output_scales(scale_count_ == 1 ? 0 : 1 << 1, {OCTET_RUNTIME_F32_VAL});
        if (adds) {
            post_ops ops;
            ops.append_sum(1.f);
            attr.set_post_ops(ops);
        }
        const matmul::primitive_desc pd({codes.get_desc(), planned_weights(plain, w), dst.get_desc()}, attr,
                                        l.get_engine());
        product_.add(pd, {{OCTET_ARG_SRC, codes},
                          {OCTET_ARG_WEIGHTS, l.packed_input(weights, plain, pd.weights_desc())},
                          {OCTET_ARG_DST, dst},
                          {OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_SRC, quantize_->zero_point()},
                          {OCTET_ARG_ATTR_OUTPUT_SCALES, scales_}});
    }

    void make_primitives() override {
        quantize_->make_primitives();
        product_.make_primitives();
    }

    void run(const stream &s, const run_memory &m, dim_t rows) const override {
        if (has_tail_)
            copy_rows(m, rows);
        quantize_->run(s, m);
        const float scale = *m.at<float>(scale_), *const of_weights = m.at<float>(weights_scales_) +
                                                                      direction_ * scale_count_;
        for (dim_t i = 0; i < scale_count_; i++)
            m.at<float>(scales_)[i] = scale * of_weights[i];
        product_.run(s, m);
    }

    std::string implementation() const override { return product_.implementation(); }
    std::string explain() const override { return quantize_->explain() + "\n" + product_.explain(); }

private:
    static std::int32_t zero_point(const lowering &l, std::size_t weights, dim_t direction) {
        const tensor &t = l.input(zero_points_of(weights));
        const std::vector<std::uint8_t> points = values_of<std::uint8_t>(t);
        if (points.size() == static_cast<std::size_t>(l.input(weights).dims[0])) {
            const std::uint8_t code = points[static_cast<std::size_t>(direction)];
            return t.type == data_type::u8 ? code : static_cast<std::int8_t>(code);
        }
        if (!std::all_of(points.begin(), points.end(), [](std::uint8_t p) { return p == 0; }))
            refuse(
                "input " + std::to_string(zero_points_of(weights)) +
                " has a zero point for each column that is not 0, allowed are 0 or one for each direction");
        return 0;
    }

    /// Zeros are in every range.
    void copy_rows(const run_memory &m, dim_t rows) const {
        const memory::dims x = src_.get_desc().dims();
        const float *const given = m.at<float>(given_);
        float *const to = m.at<float>(src_);
        std::copy_n(given, rows * x[1], to);
        std::fill_n(to + rows * x[1], (x[0] - rows) * x[1], 0.f);
    }

    buffer given_, src_, scale_, weights_scales_, scales_;
    dim_t direction_, scale_count_ = 1;
    bool has_tail_;
    std::unique_ptr<dynamic_quantize_step> quantize_;
    primitive_step product_;
};

void check_weights(const lowering &l, const recurrent_sizes &z, std::size_t weights, dim_t inner) {
    const std::string who = "input " + std::to_string(weights);
    const memory::dims dims = {z.directions, inner, lstm_gates * z.units};
    const tensor &w = l.input(weights, {data_type::u8, data_type::s8});
    if (w.dims != dims)
        refuse(who + " has dimensions " + to_text(w.dims) + ", allowed is " + to_text(dims));
    for (const std::size_t i : {weights, scales_of(weights), zero_points_of(weights)})
        if (!l.input(i).is_constant)
            refuse_as_unimplemented("input " + std::to_string(i) + " ('" + l.input(i).name +
                                    "') is computed, allowed is a constant");
    l.input(scales_of(weights), {data_type::f32});
    l.input(zero_points_of(weights), {w.type});
    for (const std::size_t i : {scales_of(weights), zero_points_of(weights)})
        if (const dim_t count = element_count(l.input(i).dims);
            count != z.directions && count != z.directions * dims[2])
            refuse("input " + std::to_string(i) + " has " + std::to_string(count) +
                   " values, allowed is one for each direction or for each of its " +
                   std::to_string(dims[2]) + " columns");
}

std::unique_ptr<step> lower_dynamic_quantize_lstm(const lowering &l) {
    const recurrent_sizes z = recurrent_sizes_of(l, lstm_gates, 3, gate_weights::transposed);
    check_weights(l, z, in::w, z.inputs);
    check_weights(l, z, in::r, z.units);
    return lstm_step(
        l, z, [&](const buffer &src, std::size_t weights, dim_t direction, const buffer &dst, bool adds) {
            const bool has_tail = weights == in::w && l.has_input(in::lengths);
            return std::make_unique<code_product>(l, src, weights, direction, dst, adds, has_tail);
        });
}

using namespace row_words;

/// The weights of the hidden state are [directions, units, gates units].
void dynamic_quantize_lstm_shape(node_shapes &n) { recurrent_shape(n, n.dims_of_rank(in::r, 3)[1]); }

constexpr row onnx_dynamic_quantize_lstm_rows[] = {
    row("DynamicQuantizeLSTM", {12, 12}, lower_dynamic_quantize_lstm, dynamic_quantize_lstm_shape,
        rows::never)
        .in(domains::microsoft)
        .sizes(flow::lost)
        .sums(products::of_codes),
};

} // namespace

operator_rows onnx_dynamic_quantize_lstm_operators() { return onnx_dynamic_quantize_lstm_rows; }

} // namespace octet::model
