// ONNX Runtime's quantized operators on single codes: each is one primitive with rule ort_f32 and the scales
// and zero points of its tensors.

#include <algorithm>

#include "model/lower_onnx.hpp"

namespace octet::model {
namespace {

// The definitions put scale and zero point behind their tensor.
constexpr std::size_t a_input = 0, b_input = 3, y_scale_of_two = 6;

std::unique_ptr<step> binary_operator(const lowering &l, algorithm alg) {
    const tensor &a = l.input(a_input, {data_type::u8, data_type::s8}), &b = l.input(b_input, {a.type}),
                 &y = l.output({a.type});
    const std::size_t rank = std::max({a.dims.size(), b.dims.size(), std::size_t{1}});
    const memory::desc a_md = padded_desc(a, rank), b_md = padded_desc(b, rank), y_md = padded_desc(y, rank);
    if (y_md.dims() != broadcast_dims(a_md, b_md))
        refuse("inputs " + to_text(a.dims) + " and " + to_text(b.dims) + " do not give " + to_text(y.dims));
    primitive_attr attr;
    attr.set_requantization(requantization_rule::ort_f32);
    set_parameters(attr, OCTET_ARG_SRC_0, per_tensor_parameters(l, a_input + 1, a_input + 2));
    set_parameters(attr, OCTET_ARG_SRC_1, per_tensor_parameters(l, b_input + 1, b_input + 2));
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, y_scale_of_two, y_scale_of_two + 1));
    return one_step(binary::primitive_desc({alg, a_md, b_md, y_md}, attr, l.get_engine()),
                    {{OCTET_ARG_SRC_0, l.input_memory(a_input, a_md)},
                     {OCTET_ARG_SRC_1, l.input_memory(b_input, b_md)},
                     {OCTET_ARG_DST, l.output_memory(y_md)}});
}

/// One input, one output: x, its scale and zero point, those of y.
std::unique_ptr<step> unary_operator(const lowering &l, algorithm alg, float alpha = 0.f) {
    const tensor &x = l.input(0, {data_type::u8, data_type::s8}), &y = l.output({x.type});
    if (x.dims != y.dims)
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) + " differ in shape");
    primitive_attr attr;
    attr.set_requantization(requantization_rule::ort_f32);
    set_parameters(attr, OCTET_ARG_SRC, per_tensor_parameters(l, 1, 2));
    set_parameters(attr, OCTET_ARG_DST, per_tensor_parameters(l, 3, 4));
    const memory src = l.input_memory(0), dst = l.output_memory();
    const eltwise_forward::desc d(prop_kind::forward_inference, alg, src.get_desc(), dst.get_desc(), alpha);
    return one_step(eltwise_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
}

} // namespace

std::unique_ptr<step> lower_qlinear_sigmoid(const lowering &l) {
    return unary_operator(l, algorithm::eltwise_logistic);
}
std::unique_ptr<step> lower_qlinear_leaky_relu(const lowering &l) {
    return unary_operator(l, algorithm::eltwise_relu, l.has_attribute("alpha") ? l.real("alpha") : 0.01f);
}

std::unique_ptr<step> lower_qlinear_add(const lowering &l) {
    return binary_operator(l, algorithm::binary_add);
}
std::unique_ptr<step> lower_qlinear_mul(const lowering &l) {
    return binary_operator(l, algorithm::binary_mul);
}

} // namespace octet::model
