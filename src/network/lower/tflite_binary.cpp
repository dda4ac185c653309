// TFLite's operators on two tensors: ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU. The primitives derive multipliers from scales.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/lower/tflite.hpp"

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

std::unique_ptr<step> scaled_binary(const lowering &l, algorithm alg) {
    const tensor &a = l.input(0, {data_type::s8, data_type::u8}), &b = l.input(1, {a.type}),
                 &dst = l.output({a.type});
    const linear_codes qa = per_tensor(a, "input 0"), qb = per_tensor(b, "input 1"),
                       qy = per_tensor(dst, "the output");
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step);
    attr.set_scales(OCTET_ARG_SRC_0, 0, {qa.scale});
    attr.set_scales(OCTET_ARG_SRC_1, 0, {qb.scale});
    attr.set_scales(OCTET_ARG_DST, 0, {qy.scale});
    set_zero_point(attr, OCTET_ARG_SRC_0, qa.zero_point);
    set_zero_point(attr, OCTET_ARG_SRC_1, qb.zero_point);
    set_zero_point(attr, OCTET_ARG_DST, qy.zero_point);
    append_clip(attr, activation_interval(l.text("activation", "NONE"), dst), qy.zero_point);
    return broadcast_binary(l, alg, attr);
}

/// Of codes as they are, whatever their scales: so TFLite compares them.
std::unique_ptr<step> larger_or_smaller(const lowering &l, algorithm alg) {
    const tensor &a = l.input(0, {data_type::s8, data_type::u8});
    l.input(1, {a.type});
    l.output({a.type});
    return broadcast_binary(l, alg, primitive_attr());
}

} // namespace

std::unique_ptr<step> lower_add(const lowering &l) { return scaled_binary(l, algorithm::binary_add); }
std::unique_ptr<step> lower_sub(const lowering &l) { return scaled_binary(l, algorithm::binary_sub); }
std::unique_ptr<step> lower_mul(const lowering &l) { return scaled_binary(l, algorithm::binary_mul); }
std::unique_ptr<step> lower_maximum(const lowering &l) { return larger_or_smaller(l, algorithm::binary_max); }
std::unique_ptr<step> lower_minimum(const lowering &l) { return larger_or_smaller(l, algorithm::binary_min); }

std::unique_ptr<step> lower_prelu(const lowering &l) {
    const tensor &src = l.input(0, {data_type::s8, data_type::u8}), &alpha = l.input(1, {src.type}),
                 &dst = l.output({src.type});
    need_output_dims(l, src.dims);
    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step);
    const auto set = [&](int arg, const tensor &t, const char *who) {
        const linear_codes q = per_tensor(t, who);
        attr.set_scales(arg, 0, {q.scale});
        set_zero_point(attr, arg, q.zero_point);
    };
    set(OCTET_ARG_SRC, src, "input 0");
    set(OCTET_ARG_WEIGHTS, alpha, "input 1");
    set(OCTET_ARG_DST, dst, "the output");
    const memory::desc src_md = dense_desc(src), dst_md = dense_desc(dst);
    const memory::desc alpha_md = padded_desc(alpha, src_md.dims().size());
    const prelu_forward::desc d(prop_kind::forward_inference, src_md, alpha_md, dst_md);
    return one_step(prelu_forward::primitive_desc(d, attr, l.get_engine()),
                    {{OCTET_ARG_SRC, l.input_buffer(0, src_md)},
                     {OCTET_ARG_WEIGHTS, l.input_buffer(1, alpha_md)},
                     {OCTET_ARG_DST, l.output_buffer(dst_md)}});
}

} // namespace octet::model
