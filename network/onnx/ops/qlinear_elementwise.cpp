// ONNX Runtime's quantized operators on single codes: each is one primitive with rule ort_f32 and the scales
// and zero points of its tensors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/onnx/ops/operators.hpp"
#include "network/onnx/shapes/shapes.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet::model {
namespace {

// The definitions put scale and zero point behind their tensor.
constexpr std::size_t a_input = 0, b_input = 3, y_scale_of_two = 6;

template <algorithm alg> std::unique_ptr<step> binary_operator(const lowering &l) {
    const data_type type = l.input(a_input, {data_type::u8, data_type::s8}).type;
    l.input(b_input, {type});
    l.output({type});
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    set_parameters(attr, OCTET_ARG_SRC_0, per_tensor_parameters(l, a_input + 1, a_input + 2));
    set_parameters(attr, OCTET_ARG_SRC_1, per_tensor_parameters(l, b_input + 1, b_input + 2));
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, y_scale_of_two, y_scale_of_two + 1));
    return binary_step(l, alg, attr, b_input);
}

/// One input, one output: x, its scale and zero point, those of y.
std::unique_ptr<step> unary_operator(const lowering &l, algorithm alg, float alpha = 0.f) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8}), &y = l.output({x.type});
    need_equal_dims(x, y);
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    set_parameters(attr, OCTET_ARG_SRC, per_tensor_parameters(l, 1, 2));
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, 3, 4));
    const buffer src = l.input_buffer(0), dst = l.output_buffer();
    const eltwise_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(), dst.get_desc(), alpha);
    return one_step(eltwise_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
}

} // namespace

std::unique_ptr<step> binary_step(const lowering &l, algorithm alg, const primitive_attr &attr,
                                  std::size_t second) {
    const tensor &a = l.input(0), &b = l.input(second), &y = l.output();
    const std::size_t rank = std::max({a.dims.size(), b.dims.size(), std::size_t{1}});
    const memory::desc a_md = padded_desc(a, rank), b_md = padded_desc(b, rank), y_md = padded_desc(y, rank);
    if (y_md.dims() != broadcast(a_md.dims(), b_md.dims()))
        refuse("inputs " + to_text(a.dims) + " and " + to_text(b.dims) + " do not give " + to_text(y.dims));
    return one_step(binary::primitive_desc({alg, a_md, b_md, y_md}, attr, l.get_engine()),
                    {{OCTET_ARG_SRC_0, l.input_buffer(0, a_md)},
                     {OCTET_ARG_SRC_1, l.input_buffer(second, b_md)},
                     {OCTET_ARG_DST, l.output_buffer(y_md)}});
}

/// The shift takes the zero points in.
void append_qlinear_add(fused_codes &codes, const lowering &add) {
    const linear_parameters a = per_tensor_parameters(add, a_input + 1, a_input + 2),
                            b = per_tensor_parameters(add, b_input + 1, b_input + 2),
                            y = per_tensor_parameters(add, y_scale_of_two, y_scale_of_two + 1);
    const qlinear_add_factors f =
        qlinear_add_factors_of(a.scale, a.zero_point, b.scale, b.zero_point, y.scale, y.zero_point);
    const bool is_a = add.get_node().result_input == 0;
    codes.ops.append_qlinear_add(
        {is_a ? f.scale_a : f.scale_b, is_a ? f.scale_b : f.scale_a, f.shift, codes.zero_point, !is_a});
    codes.zero_point = 0;
}

softmax_rows softmax_rows_of(const lowering &l, const tensor &x, const tensor &y, std::int64_t opset) {
    need_equal_dims(x, y);
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    const std::int64_t given = l.integer("axis", opset < 13 ? 1 : -1),
                       from = given < 0 ? given + rank : given;
    if (from < 0 || from >= rank)
        refuse("attribute 'axis' is " + std::to_string(given) + ", allowed: " + std::to_string(-rank) +
               " to " + std::to_string(rank - 1));
    if (opset >= 13)
        return {dense_desc(x), static_cast<int>(from)};
    const memory::dims outer(x.dims.begin(), x.dims.begin() + from),
        inner(x.dims.begin() + from, x.dims.end());
    return {memory::desc({element_count(outer), element_count(inner)}, x.type, memory::dims()), 1};
}

std::unique_ptr<step> softmax_step(const lowering &l, const softmax_rows &rows, const primitive_attr &attr) {
    const softmax_forward::desc d(inference, rows.md, rows.md, rows.axis);
    return one_step(softmax_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, rows.md)}, {OCTET_ARG_DST, l.output_buffer(rows.md)}});
}

namespace {

std::unique_ptr<step> lower_qlinear_softmax(const lowering &l) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8}), &y = l.output({x.type});
    primitive_attr attr;
    attr.set_requantization(onnxruntime_rule);
    attr.set_scales(OCTET_ARG_SRC, 0, {per_tensor_parameters(l, 1, 2).scale});
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, 3, 4));
    return softmax_step(l, softmax_rows_of(l, x, y, l.integer("opset", 13)), attr);
}

std::unique_ptr<step> lower_qlinear_sigmoid(const lowering &l) {
    return unary_operator(l, algorithm::eltwise_logistic);
}
std::unique_ptr<step> lower_qlinear_leaky_relu(const lowering &l) {
    return unary_operator(l, algorithm::eltwise_relu, l.real("alpha", 0.01f));
}

using namespace row_words;

constexpr row onnx_qlinear_elementwise_rows[] = {
    row("QLinearAdd", {7, 8}, binary_operator<algorithm::binary_add>, shape::qlinear_binary, rows::broadcast)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .layouts(follows)
        .sum_of(0, 3)
        .transposed(passing_kind::broadcast),
    row("QLinearLeakyRelu", {4, 5}, lower_qlinear_leaky_relu, shape::same, rows::first_input)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .layouts(follows)
        .part(pointwise)
        .transposed(passing_kind::elements),
    row("QLinearMul", {7, 8}, binary_operator<algorithm::binary_mul>, shape::qlinear_binary, rows::broadcast)
        .in(domains::microsoft)
        .scales(0, 2, 6)
        .layouts(follows)
        .transposed(passing_kind::broadcast),
    row("QLinearSigmoid", {4, 5}, lower_qlinear_sigmoid, shape::same, rows::first_input)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .layouts(follows)
        .part(pointwise)
        .transposed(passing_kind::elements),
    row("QLinearSoftmax", {4, 5}, lower_qlinear_softmax, shape::same, rows::inner_axis_or_last)
        .in(domains::microsoft)
        .scales(0, 1, 3)
        .transposed(passing_kind::softmax),
};

} // namespace

operator_rows onnx_qlinear_elementwise_operators() { return onnx_qlinear_elementwise_rows; }

} // namespace octet::model
