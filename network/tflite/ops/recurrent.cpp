// State, weights and products of TFLite's operators with state; see recurrent.hpp.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/ops/recurrent.hpp"

#include <limits>

namespace octet::model {
namespace {

void need_dims(const tensor &t, std::size_t i, const memory::dims &dims) {
    if (t.dims != dims)
        refuse("input " + std::to_string(i) + " ('" + t.name + "') is " + to_text(t.dims) + ", allowed is " +
               to_text(dims));
}

void need_constant(const tensor &t, std::size_t i) {
    if (!t.is_constant)
        refuse_as_unimplemented("input " + std::to_string(i) + " ('" + t.name +
                                "') is computed, allowed is a constant");
}

} // namespace

const tensor &state_input(const lowering &l, std::size_t i, std::initializer_list<data_type> types,
                          const memory::dims &dims) {
    const tensor &t = l.input(i, types);
    if (!t.is_variable || t.is_constant)
        refuse("input " + std::to_string(i) + " ('" + t.name +
               "') is the node's state, allowed is a variable tensor");
    need_dims(t, i, dims);
    return t;
}

const tensor &symmetric_weights(const lowering &l, std::size_t i, const memory::dims &dims) {
    const tensor &t = l.input(i, {data_type::s8});
    need_constant(t, i);
    need_dims(t, i, dims);
    if (element_count(dims) == 0)
        refuse("input " + std::to_string(i) + " ('" + t.name + "') is " + to_text(dims) +
               ", without elements");
    const linear_codes q = per_tensor(t, "input " + std::to_string(i));
    if (q.zero_point != 0)
        refuse("input " + std::to_string(i) + " ('" + t.name + "') has a zero point of " +
               std::to_string(q.zero_point) + ", allowed is 0");
    return t;
}

buffer add_product(primitive_step &s, const lowering &l, const recurrent_product &p, const buffer &src) {
    const memory::dims &weights = l.input(p.weights).dims; // [outputs, depth]
    constexpr dim_t most_sums = std::numeric_limits<std::int32_t>::max() / 4;
    if (p.rows > most_sums / weights[0])
        refuse_as_unimplemented("the products of " + std::to_string(p.rows) + " rows with weights " +
                                to_text(weights) + " take more than 2^31 - 1 bytes");
    const memory::desc src_md({p.rows, weights[1]}, data_type::s8, format_tag::nc),
        weights_md(weights, data_type::s8, format_tag::oi),
        dst_md({p.rows, weights[0]}, data_type::s32, format_tag::nc);
    memory::desc bias_md;
    if (p.bias) {
        need_constant(l.input(*p.bias, {data_type::s32}), *p.bias);
        need_dims(l.input(*p.bias), *p.bias, {weights[0]});
        bias_md = memory::desc({weights[0]}, data_type::s32, format_tag::x);
    }

    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    set_zero_point(attr, OCTET_ARG_SRC, p.src_zero_point);
    const inner_product_forward::primitive_desc pd({prop_kind::forward_inference, src_md,
                                                    planned_weights(weights_md, l.input(p.weights)), bias_md,
                                                    dst_md},
                                                   attr, l.get_engine());
    const buffer sums = l.scratch(dst_md);
    arguments args = {{OCTET_ARG_SRC, src},
                      {OCTET_ARG_WEIGHTS, l.packed_input(p.weights, weights_md, pd.weights_desc())},
                      {OCTET_ARG_DST, sums}};
    if (p.bias)
        args[OCTET_ARG_BIAS] = l.input_buffer(*p.bias, bias_md);
    s.add(pd, args);
    return sums;
}

fixed_point_multiplier tflite_multiplier(double real) { return from_double(tflite_rule, real); }

} // namespace octet::model
