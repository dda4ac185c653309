// TFLite's functions of one tensor: RELU, RELU6, RELU_N1_TO_1, LEAKY_RELU, LOGISTIC, TANH, HARD_SWISH, ELU,
// ABS. The primitive derives TFLite's multipliers from the scales.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "network/shapes/node_rows.hpp"
#include "network/tflite/ops/groups.hpp"
#include "network/tflite/ops/operators.hpp"
#include "network/tflite/shapes/shapes.hpp"

namespace octet::model {
namespace {

std::unique_ptr<step> unary_step(const lowering &l, const primitive_attr &attr, algorithm alg, float alpha,
                                 float beta = 0.f) {
    need_output_dims(l, l.input(0).dims);
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    const eltwise_forward::desc d(inference, alg, src.get_desc(), dst.get_desc(), alpha, beta);
    return one_step(eltwise_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
}

void set_parameters(primitive_attr &attr, int arg, const linear_codes &q) {
    attr.set_scales(arg, 0, {q.scale});
    set_zero_point(attr, arg, q.zero_point);
}

primitive_attr tflite_attr(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    primitive_attr attr;
    attr.set_requantization(tflite_rule);
    set_parameters(attr, OCTET_ARG_SRC, per_tensor(src, "input 0"));
    set_parameters(attr, OCTET_ARG_DST, per_tensor(dst, "the output"));
    return attr;
}

/// TFLite Micro's codes of LOGISTIC and TANH are worth 1/256 and 1/128 whatever scale the output has (its own
/// tests give 1/255); the zero point it asks for.
template <algorithm alg, std::int32_t zero_point> std::unique_ptr<step> sigmoid(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &dst = l.output({src.type});
    const linear_codes y = per_tensor(dst, "the output");
    const std::int32_t expected = dst.type == data_type::u8 ? zero_point + 128 : zero_point;
    if (y.zero_point != expected)
        refuse("the output has zero point " + std::to_string(y.zero_point) + ", allowed is " +
               std::to_string(expected));
    primitive_attr attr;
    attr.set_requantization(tflite_rule);
    set_parameters(attr, OCTET_ARG_SRC, per_tensor(src, "input 0"));
    set_zero_point(attr, OCTET_ARG_DST, expected);
    return unary_step(l, attr, alg, 0.f);
}

/// A function with no parameter but, for some, one number.
template <algorithm alg, int alpha = 0> std::unique_ptr<step> function(const lowering &l) {
    return unary_step(l, tflite_attr(l), alg, alpha);
}

std::unique_ptr<step> lower_leaky_relu(const lowering &l) {
    const float alpha = l.real("alpha");
    if (!std::isfinite(alpha))
        refuse("alpha is not finite");
    return unary_step(l, tflite_attr(l), algorithm::eltwise_relu, alpha);
}

/// TFLite Micro clamps the input's codes; scale and zero point of the output play no part.
std::unique_ptr<step> lower_relu6(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8});
    l.output({src.type});
    const linear_codes x = per_tensor(src, "input 0");
    primitive_attr attr;
    attr.set_requantization(tflite_rule);
    set_parameters(attr, OCTET_ARG_SRC, x);
    set_zero_point(attr, OCTET_ARG_DST, x.zero_point);
    return unary_step(l, attr, algorithm::eltwise_bounded_relu, 6.f);
}

std::unique_ptr<step> lower_relu_n1_to_1(const lowering &l) {
    return unary_step(l, tflite_attr(l), algorithm::eltwise_clip, -1.f, 1.f);
}

} // namespace

/// In LiteRT's HARD_SWISH for AArch64 the place of an element decides how it is rounded.
std::unique_ptr<step> lower_litert_hard_swish(const lowering &l) {
    need_output_dims(l, l.input(0).dims);
    const buffer src = l.input_buffer(0);
    return step_in_groups(l, l.output_buffer().get_desc(),
                          [&](primitive_step &s, const lowering &by, const auto &to) {
                              const buffer dst = to();
                              primitive_attr attr = tflite_attr(by);
                              attr.set_requantization(elementwise_rule(by));
                              const eltwise_forward::desc d(inference, algorithm::eltwise_hardswish,
                                                            src.get_desc(), dst.get_desc(), 0.f, 0.f);
                              s.add(eltwise_forward::primitive_desc(d, attr, l.get_engine()),
                                    {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
                          });
}

/// LiteRT's RELU6 rescales its codes, where TFLite Micro only clamps them. RELU_N1_TO_1, which TFLite Micro
/// lacks, rescales in the same way.
std::unique_ptr<step> lower_litert_relu6(const lowering &l) {
    return unary_step(l, tflite_attr(l), algorithm::eltwise_bounded_relu, 6.f);
}

namespace {

using namespace row_words;

constexpr row tflite_unary_rows[] = {
    row("ABS", 1, function<algorithm::eltwise_abs>, tflite_shape::same, rows::first_input).part(pointwise),
    row("ELU", 1, function<algorithm::eltwise_elu, 1>, tflite_shape::same, rows::first_input).part(pointwise),
    row("HARD_SWISH", 1, function<algorithm::eltwise_hardswish>, tflite_shape::same, rows::first_input)
        .part(pointwise),
    row("LEAKY_RELU", 1, lower_leaky_relu, tflite_shape::same, rows::first_input).part(pointwise),
    row("LOGISTIC", 1, sigmoid<algorithm::eltwise_logistic, -128>, tflite_shape::same, rows::first_input)
        .part(pointwise),
    row("RELU", 1, function<algorithm::eltwise_relu>, tflite_shape::same, rows::first_input).part(pointwise),
    row("RELU6", 1, lower_relu6, tflite_shape::same, rows::first_input).part(pointwise),
    row("RELU_N1_TO_1", 1, lower_relu_n1_to_1, tflite_shape::same, rows::first_input).part(pointwise),
    row("TANH", 1, sigmoid<algorithm::eltwise_tanh, 0>, tflite_shape::same, rows::first_input)
        .part(pointwise),
};

} // namespace

operator_rows tflite_unary_operators() { return tflite_unary_rows; }

} // namespace octet::model
