// TFLite's operators on two tensors: ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU. The primitives derive
// multipliers from scales.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

/// Both inputs under dimensions of one rank.
std::unique_ptr<step> broadcast_binary(const lowering &l, algorithm alg, const primitive_attr &attr) {
    const tensor &a = l.input(0), &b = l.input(1), &dst = l.output();
    const std::size_t rank = std::max({a.dims.size(), b.dims.size(), std::size_t{1}});
    const memory::desc a_md = padded_desc(a, rank), b_md = padded_desc(b, rank),
                       dst_md = padded_desc(dst, rank);
    if (dst_md.dims() != broadcast(a_md.dims(), b_md.dims()))
        need_output_dims(l, broadcast(a_md.dims(), b_md.dims()));
    return one_step(binary::primitive_desc({alg, a_md, b_md, dst_md}, attr, l.get_engine()),
                    {{OCTET_ARG_SRC_0, l.input_buffer(0, a_md)},
                     {OCTET_ARG_SRC_1, l.input_buffer(1, b_md)},
                     {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

/// Quantization of the operands and the result.
struct operand_codes {
    linear_codes a, b, y;
};

operand_codes codes_of(const lowering &l) {
    const tensor &a = l.input(0, {data_type::s8, data_type::u8}), &b = l.input(1, {a.type}),
                 &y = l.output({a.type});
    return {per_tensor(a, "input 0"), per_tensor(b, "input 1"), per_tensor(y, "the output")};
}

/// `attr` has rule and factors.
std::unique_ptr<step> clipped_binary(const lowering &l, algorithm alg, const operand_codes &q,
                                     primitive_attr attr) {
    set_zero_point(attr, OCTET_ARG_SRC_0, q.a.zero_point);
    set_zero_point(attr, OCTET_ARG_SRC_1, q.b.zero_point);
    set_zero_point(attr, OCTET_ARG_DST, q.y.zero_point);
    append_clip(attr, activation_interval(l.text("activation", "NONE"), l.output(), elementwise_rule(l)),
                q.y.zero_point);
    return broadcast_binary(l, alg, attr);
}

/// The primitive derives multipliers from the scales, as the rule's framework does.
template <algorithm alg> std::unique_ptr<step> scaled_binary(const lowering &l) {
    const operand_codes q = codes_of(l);
    primitive_attr attr;
    attr.set_requantization(elementwise_rule(l));
    attr.set_scales(OCTET_ARG_SRC_0, 0, {q.a.scale});
    attr.set_scales(OCTET_ARG_SRC_1, 0, {q.b.scale});
    attr.set_scales(OCTET_ARG_DST, 0, {q.y.scale});
    return clipped_binary(l, alg, q, attr);
}

/// Compares codes as they are, whatever their scales, as TFLite does.
template <algorithm alg> std::unique_ptr<step> larger_or_smaller(const lowering &l) {
    const tensor &a = l.input(0, {data_type::s8, data_type::u8});
    l.input(1, {a.type});
    l.output({a.type});
    return broadcast_binary(l, alg, primitive_attr());
}

/// TFLite's derivation, or XNNPACK's: m_i = rne(f32(s_i / s_y)·2^shift) with shift = 20 − ⌊log2(max(s_a /
/// s_y, s_b / s_y))⌋. One shift serves both products, so the larger ratio decides it; its multiplier has 21
/// bits.
add_multipliers sum_multipliers(requantization_rule rule, float a, float b, float y) {
    if (rule != xnnpack_rule)
        return add_multipliers_of(rule, a, b, y);
    const float of_a = a / y, of_b = b / y;
    const int shift = 20 - std::ilogb(std::max(of_a, of_b));
    const auto weight = [&](float ratio) {
        return fixed_point_multiplier{static_cast<std::int32_t>(std::nearbyint(std::ldexp(ratio, shift))), 0,
                                      0};
    };
    return {weight(of_a), weight(of_b), {1, shift, 0}};
}

} // namespace

void append_add(fused_codes &codes, const lowering &add) {
    const node &n = add.get_node();
    const linear_codes x = per_tensor(add.input(static_cast<std::size_t>(n.result_input)), "an input of ADD"),
                       d = per_tensor(add.input(static_cast<std::size_t>(n.stored_input)), "an input of ADD"),
                       y = per_tensor(add.output(), "the output of ADD");
    const requantization_rule rule = elementwise_rule(add);
    if (codes.zero_point != x.zero_point) // behind a table of codes
        codes.ops.append_add(codes.zero_point - x.zero_point);
    codes.ops.append_scaled_add(
        {sum_multipliers(rule, x.scale, d.scale, y.scale), x.zero_point, d.zero_point, rule});
    const code_interval range = activation_interval(add.text("activation", "NONE"), add.output(), rule);
    codes.zero_point = y.zero_point;
    if (!range.is_whole)
        codes.ops.append_clip(range.low - y.zero_point, range.high - y.zero_point);
}

/// LiteRT's SUB: ADD with the second multiplier negated, so that ties of that operand round the other way.
/// Multipliers are derived in double precision as for ADD.
std::unique_ptr<step> lower_litert_sub(const lowering &l) {
    const operand_codes q = codes_of(l);
    add_multipliers m = add_multipliers_of(elementwise_rule(l), q.a.scale, q.b.scale, q.y.scale);
    m.b.multiplier = -m.b.multiplier;
    primitive_attr attr;
    attr.set_requantization(elementwise_rule(l), 0, {m.dst});
    attr.set_input_multiplier(OCTET_ARG_SRC_0, m.a);
    attr.set_input_multiplier(OCTET_ARG_SRC_1, m.b);
    return clipped_binary(l, algorithm::binary_add, q, attr);
}

/// LiteRT's MUL: the factor is f32(f32(s_a·s_b) / s_y).
std::unique_ptr<step> lower_litert_mul(const lowering &l) {
    const operand_codes q = codes_of(l);
    const double factor = real_multiplier(scale_derivation::caffe2_f32, q.a.scale, q.b.scale, q.y.scale);
    primitive_attr attr;
    attr.set_requantization(elementwise_rule(l), 0, {from_double(elementwise_rule(l), factor)});
    return clipped_binary(l, algorithm::binary_mul, q, attr);
}

namespace {

std::unique_ptr<step> prelu(const lowering &l, bool has_f32_factors) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &alpha = l.input(1, {src.type}),
                 &dst = l.output({src.type});
    need_output_dims(l, src.dims);
    primitive_attr attr;
    constexpr requantization_rule rule = tflite_rule;
    const linear_codes x = per_tensor(src, "input 0"), a = per_tensor(alpha, "input 1"),
                       y = per_tensor(dst, "the output");
    if (has_f32_factors) {
        constexpr auto how = scale_derivation::caffe2_f32;
        attr.set_requantization(rule, 0, {from_double(rule, real_multiplier(how, x.scale, 1.f, y.scale))});
        attr.set_input_multiplier(OCTET_ARG_WEIGHTS,
                                  from_double(rule, real_multiplier(how, x.scale, a.scale, y.scale)));
    } else {
        attr.set_requantization(rule);
        attr.set_scales(OCTET_ARG_SRC, 0, {x.scale});
        attr.set_scales(OCTET_ARG_WEIGHTS, 0, {a.scale});
        attr.set_scales(OCTET_ARG_DST, 0, {y.scale});
    }
    set_zero_point(attr, OCTET_ARG_SRC, x.zero_point);
    set_zero_point(attr, OCTET_ARG_WEIGHTS, a.zero_point);
    set_zero_point(attr, OCTET_ARG_DST, y.zero_point);
    const memory::desc src_md = dense_desc(src), dst_md = dense_desc(dst);
    const memory::desc alpha_md = padded_desc(alpha, src_md.dims().size());
    const prelu_forward::desc d(prop_kind::forward_inference, src_md, alpha_md, dst_md);
    return one_step(prelu_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)},
                     {OCTET_ARG_WEIGHTS, l.input_buffer(1, alpha_md)},
                     {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

std::unique_ptr<step> lower_prelu(const lowering &l) { return prelu(l, false); }

} // namespace

/// TensorFlow Lite derives both multipliers in float32, its micro version in double.
std::unique_ptr<step> lower_litert_prelu(const lowering &l) { return prelu(l, true); }

namespace {

using namespace row_words;

constexpr row tflite_binary_rows[] = {
    row("ADD", 2, scaled_binary<algorithm::binary_add>, tflite_shape::binary, rows::broadcast).sum_of(0, 1),
    row("MAXIMUM", 2, larger_or_smaller<algorithm::binary_max>, tflite_shape::binary, rows::broadcast),
    row("MINIMUM", 2, larger_or_smaller<algorithm::binary_min>, tflite_shape::binary, rows::broadcast),
    row("MUL", 2, scaled_binary<algorithm::binary_mul>, tflite_shape::binary, rows::broadcast),
    row("PRELU", 2, lower_prelu, tflite_shape::same, rows::first_input),
    row("SUB", 2, scaled_binary<algorithm::binary_sub>, tflite_shape::binary, rows::broadcast),
};

} // namespace

operator_rows tflite_binary_operators() { return tflite_binary_rows; }

} // namespace octet::model
