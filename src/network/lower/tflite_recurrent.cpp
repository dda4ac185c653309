// State, weights and products of TFLite's operators with state; see tflite_recurrent.hpp.

#include "network/lower/tflite_recurrent.hpp"

#include <limits>

namespace octet::model {
namespace {

void need_dims(const tensor &t, std::size_t i, const memory::dims &dims) {
    if (t.dims != dims)
        refuse("input " + std::to_string(i) + " ('" + t.name + "') is " + to_text(t.dims) + ", allowed is " +
               to_text(dims));
}

/// The bytes of several constants, one behind the other.
memory joined(const lowering &l, const std::vector<std::size_t> &inputs, const memory::desc &d) {
    memory all(d, l.get_engine());
    auto *to = all.map_data<std::uint8_t>();
    for (const std::size_t i : inputs) {
        const tensor &t = l.input(i);
        std::memcpy(to, t.data.data(), t.data.size());
        to += t.data.size();
    }
    return all;
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
    dim_t outputs = 0;
    for (const std::size_t i : p.weights)
        outputs += l.input(i).dims[0];
    constexpr dim_t most_sums = std::numeric_limits<std::int32_t>::max() / 4;
    if (p.rows > most_sums / outputs)
        refuse_as_unimplemented("the products of " + std::to_string(p.rows) + " rows with " +
                                std::to_string(outputs) + " outputs take more than 2^31 - 1 bytes");
    const memory::desc src_md({p.rows, p.depth}, data_type::s8, format_tag::nc),
        weights_md({outputs, p.depth}, data_type::s8, format_tag::oi),
        dst_md({p.rows, outputs}, data_type::s32, format_tag::nc);
    memory::desc bias_md;
    if (!p.biases.empty())
        bias_md = memory::desc({outputs}, data_type::s32, format_tag::x);
    for (const std::size_t i : p.biases) {
        const tensor &bias = l.input(i, {data_type::s32});
        need_constant(bias, i);
        need_dims(bias, i, {outputs / static_cast<dim_t>(p.biases.size())});
    }

    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    set_zero_point(attr, OCTET_ARG_SRC, p.src_zero_point);
    const inner_product_forward::primitive_desc pd(
        {prop_kind::forward_inference, src_md,
         memory::desc(weights_md.dims(), data_type::s8, format_tag::any), bias_md, dst_md},
        attr, l.get_engine());

    memory weights = joined(l, p.weights, weights_md);
    if (pd.weights_desc() != weights_md) {
        const memory packed(pd.weights_desc(), l.get_engine());
        reorder(weights, packed).execute(stream(l.get_engine()), weights, packed);
        weights = packed;
    }
    const buffer sums = l.scratch(dst_md);
    arguments args = {{OCTET_ARG_SRC, src}, {OCTET_ARG_WEIGHTS, buffer(weights)}, {OCTET_ARG_DST, sums}};
    if (!p.biases.empty())
        args[OCTET_ARG_BIAS] = buffer(joined(l, p.biases, bias_md));
    s.add(pd, args);
    return sums;
}

fixed_point_multiplier tflite_multiplier(double real) {
    return from_double(requantization_rule::tflite_2step, real);
}

} // namespace octet::model
