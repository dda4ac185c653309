// TFLite's operators on single codes: pooling, SOFTMAX, QUANTIZE, DEQUANTIZE.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/groups.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

fixed_point_multiplier fixed_point(double real) { return from_double(tflite_rule, real); }

/// A larger window can only be a mistake or an attack: its work does not show in the size of any tensor.
constexpr dim_t max_padded_window = 4096;

window make_pool_window(const lowering &l, char axis, dim_t size) {
    const dim_t kernel = l.integer(std::string("filter_") + axis);
    if (kernel > std::max(size, max_padded_window))
        refuse("a window of " + std::to_string(kernel) + " elements over " + std::to_string(size) +
               " is not supported");
    return make_window(l, axis, size, kernel);
}

/// Codes are pooled as they are; TFLite lets scales differ by a millionth.
void need_pooled_quantization(const tensor &src, const tensor &dst) {
    const linear_codes x = per_tensor(src, "input 0"), y = per_tensor(dst, "the output");
    if (src.type != dst.type || x.zero_point != y.zero_point || !(std::abs(x.scale - y.scale) <= 1e-6f))
        need_equal_quantization(src, dst, "input and output");
}

template <algorithm alg> std::unique_ptr<step> pooling(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output();
    need_rank(src, "input 0", 4);
    need_pooled_quantization(src, dst);
    const window h = make_pool_window(l, 'h', src.dims[1]), w = make_pool_window(l, 'w', src.dims[2]);
    need_output_dims(l, {src.dims[0], h.positions, w.positions, src.dims[3]});

    primitive_attr attr;
    if (alg != algorithm::pooling_max)
        attr.set_requantization(tflite_rule);
    append_clip(attr, activation_interval(l.text("activation", "NONE"), dst, elementwise_rule(l)),
                0); // raw codes, no zero points
    const pooling_forward::desc d(prop_kind::forward_inference, alg, nhwc_desc(src), nhwc_desc(dst),
                                  {h.stride, w.stride}, {h.kernel, w.kernel}, {h.padding_l, w.padding_l},
                                  {h.padding_r, w.padding_r});
    return one_step(pooling_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, nhwc_desc(src))},
                     {OCTET_ARG_DST, l.output_buffer(nhwc_desc(dst))}});
}

void need_softmax_output(const tensor &dst) {
    const linear_codes q = per_tensor(dst, "the output");
    const bool is_s16 = dst.type == data_type::s16, is_u8 = dst.type == data_type::u8;
    const float scale = is_s16 ? 1.f / 65536 : 1.f / 256;
    const std::int32_t zero_point = is_s16 ? -32768 : is_u8 ? 0 : -128;
    // s16 writers also use 1 / 65535; TFLite allows a thousandth.
    if (std::abs(q.scale - scale) > 0.001f * scale || q.zero_point != zero_point)
        refuse("the output has scale " + std::to_string(q.scale) + " and zero point " +
               std::to_string(q.zero_point) + "; softmax to " + type_text(dst) + " has 1/" +
               (is_s16 ? "65536" : "256") + " and " + std::to_string(zero_point));
}

std::unique_ptr<step> lower_softmax(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8});
    const tensor &dst = l.output({data_type::s8, data_type::u8, data_type::s16});
    need_output_dims(l, src.dims);
    need_softmax_output(dst);
    const double beta = l.real("beta"), scale = per_tensor(src, "input 0").scale;
    if (!(beta > 0 && std::isfinite(beta)))
        refuse("beta is " + std::to_string(beta) + ", allowed are positive numbers");
    primitive_attr attr;
    attr.set_requantization(tflite_rule);
    // From 2^30 on only the largest codes count, and with the number below it no other has a share, either.
    attr.set_input_multiplier(OCTET_ARG_SRC, fixed_point(std::min(beta * scale * 0x1p26, 0x1p30 - 0.5)));
    const memory::desc src_md = dense_desc(src), dst_md = dense_desc(dst);
    const softmax_forward::desc d(prop_kind::forward_inference, src_md, dst_md, src_md.get_ndims() - 1);
    return one_step(softmax_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)}, {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

primitive_attr quantize_attr(const lowering &l) {
    const tensor &src = l.input(0);
    const linear_codes y = per_tensor(l.output(), "the output");
    primitive_attr attr;
    if (src.type == data_type::f32) {
        attr.set_requantization(tflite_rule);
        attr.set_scales(OCTET_ARG_DST, 0, {y.scale});
    } else {
        const linear_codes x = per_tensor(src, "input 0");
        const double ratio = static_cast<double>(x.scale) / static_cast<double>(y.scale);
        attr.set_requantization(elementwise_rule(l), 0, {from_double(elementwise_rule(l), ratio)});
        set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    }
    set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
    return attr;
}

std::unique_ptr<step> lower_quantize(const lowering &l) {
    l.input(0, {data_type::f32, data_type::s8, data_type::u8, data_type::s16, data_type::s32});
    l.output({data_type::s8, data_type::u8, data_type::s16, data_type::s32});
    need_output_dims(l, l.input(0).dims);
    const buffer src = l.input_buffer(0);
    return step_in_groups(
        l, l.output_buffer().get_desc(), [&](primitive_step &s, const lowering &by, const auto &to) {
            const buffer dst = to();
            s.add(reorder_desc(src, dst, quantize_attr(by)), {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
        });
}

std::unique_ptr<step> lower_dequantize(const lowering &l) {
    const linear_codes x = per_tensor(l.input(0, {data_type::s8, data_type::u8, data_type::s16}), "input 0");
    l.output({data_type::f32});
    need_output_dims(l, l.input(0).dims);
    primitive_attr attr;
    attr.set_output_scales(0, {x.scale});
    set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    return one_step(reorder_desc(src, dst, attr), {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
}

using namespace row_words;

constexpr row tflite_pool_softmax_quantize_rows[] = {
    row("AVERAGE_POOL_2D", 1, pooling<algorithm::pooling_avg_exclude_padding>, tflite_shape::pool_2d,
        rows::windows),
    row("DEQUANTIZE", 1, lower_dequantize, tflite_shape::same, rows::first_input),
    row("MAX_POOL_2D", 1, pooling<algorithm::pooling_max>, tflite_shape::pool_2d, rows::windows),
    row("QUANTIZE", 1, lower_quantize, tflite_shape::same, rows::first_input).part(pointwise),
    row("SOFTMAX", 1, lower_softmax, tflite_shape::same, rows::last_axis),
};

} // namespace

operator_rows tflite_pool_softmax_quantize_operators() { return tflite_pool_softmax_quantize_rows; }

} // namespace octet::model
