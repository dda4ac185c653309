// The front of recurrent networks: one description for all cells, whose shapes follow from those of src_layer,
// of weights_layer and of a projection.
// SPDX-License-Identifier: Apache-2.0
#include "octet/rnn.hpp"

#include "api/runtime_sizes.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/names.hpp"
#include "common/rnn_problem.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "rnn";

bool is_gru(algorithm cell) { return cell == algorithm::vanilla_gru || cell == algorithm::lbr_gru; }

bool is_bidirectional(rnn_direction direction) {
    return direction == rnn_direction::bidirectional_concat || direction == rnn_direction::bidirectional_sum;
}

/// A tensor with the shape that the others give it, in a plain layout; `any` becomes row-major.
void require_shape(const char *name, memory_desc &md, const memory::dims &dims) {
    require_tensor(operation, name, md, static_cast<int>(dims.size()), static_cast<int>(dims.size()));
    memory_desc expected;
    expected.ndims = md.ndims;
    std::copy(dims.begin(), dims.end(), expected.dims);
    if (!same_dims(md, expected))
        throw_invalid(operation, ": ", name, " has dims ", dims_text(md), ", allowed: ", dims_text(expected));
    require_plain(operation, name, md);
    if (md.format_kind == format_kind::any)
        set_row_major(md);
}

/// Weights may be packed for the cell, and `any` becomes that. The recurrent weights of a GRU's candidate have a
/// product of their own, as the reset gate comes before it.
void require_weights(const char *name, memory_desc &md, const memory::dims &dims, dim_t gates_of_first) {
    const bool is_any = md.format_kind == format_kind::any;
    if (is_any || is_packed_recurrent(md)) {
        const memory_desc given = md;
        memory_desc plain = md;
        plain.format_kind = format_kind::any;
        plain.packed_kind = packed_kind::none;
        std::fill(plain.packed_steps, plain.packed_steps + 3, 1);
        require_shape(name, plain, dims);
        set_packed_recurrent(md, gates_of_first);
        if (!is_any && memory::desc(given) != memory::desc(md))
            throw_invalid(operation, ": ", name, " is ", memory::desc(given).to_string(),
                          ", allowed: ", memory::desc(md).to_string(), ", plain layouts or any");
        return;
    }
    require_shape(name, md, dims);
}

void require_optional_shape(const char *name, memory_desc &md, const memory::dims &dims) {
    if (md.ndims != 0)
        require_shape(name, md, dims);
}

void check_cell(const rnn_desc &d) {
    require_algorithm(operation, d.cell, algorithm::vanilla_rnn, algorithm::lbr_gru,
                      "vanilla_rnn, vanilla_lstm, vanilla_gru, lbr_gru");
    if (d.direction < rnn_direction::unidirectional_left2right ||
        d.direction > rnn_direction::bidirectional_sum)
        throw_invalid(operation, ": direction is ", name_or_number(d.direction),
                      ", allowed: unidirectional_left2right, unidirectional_right2left, ",
                      "bidirectional_concat, bidirectional_sum");
    const algorithm f = d.activation;
    if (d.cell == algorithm::vanilla_rnn && f != algorithm::eltwise_relu && f != algorithm::eltwise_tanh &&
        f != algorithm::eltwise_logistic)
        throw_invalid(operation, ": activation is ", name_or_number(f),
                      ", allowed: eltwise_relu, eltwise_tanh, eltwise_logistic");
    const bool is_lstm = d.cell == algorithm::vanilla_lstm;
    const std::pair<const char *, const memory::desc &> of_lstm[] = {
        {"src_iter_c", d.src_iter_c},
        {"dst_iter_c", d.dst_iter_c},
        {"weights_peephole", d.weights_peephole},
        {"weights_projection", d.weights_projection}};
    for (const auto &[name, md] : of_lstm)
        if (!is_lstm && !md.is_zero())
            throw_invalid(operation, ": ", name, " is given, cell is ", to_string(d.cell),
                          ", allowed: with vanilla_lstm");
}

/// Shapes, all of which follow from three tensors; resolves `any`.
void check_shapes(rnn_problem &p) {
    require_tensor(operation, "src_layer", p.src_layer, 3, 3);
    require_tensor(operation, "weights_layer", p.weights_layer, 5, 5);
    const bool has_projection = p.has_projection();
    if (has_projection)
        require_tensor(operation, "weights_projection", p.weights_projection, 4, 4);
    const dim_t t = p.steps(), n = p.batch(), l = p.layers(), h = p.channels();
    const dim_t d = is_bidirectional(p.direction) ? 2 : 1;
    const dim_t g = p.cell == algorithm::vanilla_rnn ? 1 : is_gru(p.cell) ? 3 : 4;
    const dim_t o = has_projection ? p.weights_projection.dims[3] : h;
    const dim_t i = p.src_layer.dims[2];
    require_tensor(operation, "weights_iter", p.weights_iter, 5, 5);
    // One step may read a state with more in it than it gives, such as the context of an attention.
    const dim_t s = t == 1 && !is_gru(p.cell) ? p.state_inputs() : o;
    require_shape("src_layer", p.src_layer, {t, n, i});
    require_weights("weights_layer", p.weights_layer, {l, d, i, g, h}, g);
    require_weights("weights_iter", p.weights_iter, {l, d, s, g, h},
                    p.cell == algorithm::vanilla_gru ? 2 : g);
    require_optional_shape("weights_peephole", p.weights_peephole, {l, d, 3, h});
    if (has_projection)
        require_weights("weights_projection", p.weights_projection, {l, d, h, o}, 1);
    require_optional_shape("bias", p.bias, {l, d, p.bias_gates(), h});
    require_shape("dst_layer", p.dst_layer,
                  {t, n, p.direction == rnn_direction::bidirectional_concat ? 2 * o : o});
    require_optional_shape("src_iter", p.src_iter, {l, d, n, s});
    require_optional_shape("dst_iter", p.dst_iter, {l, d, n, o});
    require_optional_shape("src_iter_c", p.src_iter_c, {l, d, n, h});
    require_optional_shape("dst_iter_c", p.dst_iter_c, {l, d, n, h});
    if (l > 1 && i != o)
        throw_invalid(operation, ": src_layer has ", i, " channels and a layer gives ", o, ", with ", l,
                      " layers, allowed: equal numbers");
    for (const memory_desc *dst : {&p.dst_layer, &p.dst_iter, &p.dst_iter_c})
        if (dst->ndims != 0)
            require_no_overlap(operation, *dst);
}

void check_types(const rnn_problem &p) {
    require_type(operation, "src_layer", p.src_layer, {data_type::f32, data_type::u8, data_type::s8});
    const data_type states = p.src_layer.data_type, weights = p.is_int8() ? data_type::s8 : data_type::f32;
    require_type(operation, "weights_layer", p.weights_layer, {weights});
    require_type(operation, "weights_iter", p.weights_iter, {weights});
    const auto require = [](const char *name, const memory_desc &md, std::initializer_list<data_type> types) {
        if (md.ndims != 0)
            require_type(operation, name, md, types);
    };
    require("weights_projection", p.weights_projection, {weights});
    require("dst_layer", p.dst_layer, {states, data_type::f32});
    require("src_iter", p.src_iter, {states, data_type::f32});
    require("dst_iter", p.dst_iter, {states, data_type::f32});
    for (const auto &[name, md] : {std::pair{"bias", &p.bias},
                                   {"weights_peephole", &p.weights_peephole},
                                   {"src_iter_c", &p.src_iter_c},
                                   {"dst_iter_c", &p.dst_iter_c}})
        require(name, *md, {data_type::f32});
    if (p.src_iter.ndims != 0 && p.dst_iter.ndims != 0 && p.src_iter.data_type != p.dst_iter.data_type)
        throw_unimplemented(operation, ": src_iter has type ", to_string(p.src_iter.data_type), ", dst_iter ",
                            to_string(p.dst_iter.data_type), ", implemented: equal types");
}

masked_values<float> lower_scales(const char *call, const masked_values<float> &scales,
                                  const memory_desc &weights, int per_channel) {
    if (!scales.is_set())
        return scales;
    if (scales.mask != 0 && scales.mask != per_channel)
        throw_unimplemented(operation, ": ", call, ": mask is ", scales.mask, ", implemented: 0, ",
                            per_channel);
    const dim_t expected = masked_count(scales.mask, weights);
    if (static_cast<dim_t>(scales.values.size()) != expected)
        throw_invalid(operation, ": ", call, ": ", scales.values.size(), " scales with mask ", scales.mask,
                      " for dims ", dims_text(weights), ", allowed: ", expected);
    return scales;
}

void lower_attributes(rnn_problem &p, const primitive_attr &attr) {
    if (attr.output_scales().is_set() || !attr.scales().empty() || !attr.zero_points().empty() ||
        attr.get_post_ops().len() > 0 || attr.rule() != requantization_rule::automatic)
        throw_unimplemented(operation, ": attributes other than set_rnn_data_qparams, ",
                            "set_rnn_weights_qparams and set_rnn_weights_projection_qparams");
    const bool has_any = !attr.rnn_data().empty() || attr.rnn_weights_scales().is_set() ||
                         attr.rnn_projection_scales().is_set();
    if (has_any && !p.is_int8())
        throw_invalid(operation, ": quantization parameters with src_layer of type f32, allowed: u8, s8");
    attr.get_rnn_data_qparams(p.scale, p.shift);
    if (p.src_layer.data_type == data_type::s8 && p.shift != 0)
        throw_unimplemented(operation, ": set_rnn_data_qparams: shift is ", p.shift,
                            " with src_layer of type s8, implemented: 0");
    if (!p.has_projection() && attr.rnn_projection_scales().is_set())
        throw_invalid(operation, ": set_rnn_weights_projection_qparams without weights_projection");
    p.weights_scales =
        lower_scales("set_rnn_weights_qparams", attr.rnn_weights_scales(), p.weights_layer, 0b11000);
    p.projection_scales = lower_scales("set_rnn_weights_projection_qparams", attr.rnn_projection_scales(),
                                       p.weights_projection, 0b1000);
}

/// "cell:vanilla_lstm direction:bidirectional_sum"; of vanilla_rnn also "activation:eltwise_relu alpha:0.1".
constexpr auto parameters = [](auto &d, const auto &visit) {
    const bool is_vanilla = d.cell == algorithm::vanilla_rnn;
    visit("cell", d.cell);
    visit("direction", d.direction);
    visit("activation", d.activation, is_vanilla);
    visit("alpha", d.alpha, is_vanilla && d.activation == algorithm::eltwise_relu);
};

primitive_desc_ptr make(const rnn_desc &d, const request &given) {
    request r = given;
    r.takes_rnn_parameters = true;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        check_cell(d);
        rnn_problem p;
        p.cell = d.cell;
        p.activation = d.activation;
        p.direction = d.direction;
        p.alpha = d.alpha;
        const std::tuple<int, memory_desc &, const memory::desc &> described[] = {
            {OCTET_ARG_SRC_LAYER, p.src_layer, d.src_layer},
            {OCTET_ARG_SRC_ITER, p.src_iter, d.src_iter},
            {OCTET_ARG_SRC_ITER_C, p.src_iter_c, d.src_iter_c},
            {OCTET_ARG_WEIGHTS_LAYER, p.weights_layer, d.weights_layer},
            {OCTET_ARG_WEIGHTS_ITER, p.weights_iter, d.weights_iter},
            {OCTET_ARG_WEIGHTS_PEEPHOLE, p.weights_peephole, d.weights_peephole},
            {OCTET_ARG_WEIGHTS_PROJECTION, p.weights_projection, d.weights_projection},
            {OCTET_ARG_BIAS, p.bias, d.bias},
            {OCTET_ARG_DST_LAYER, p.dst_layer, d.dst_layer},
            {OCTET_ARG_DST_ITER, p.dst_iter, d.dst_iter},
            {OCTET_ARG_DST_ITER_C, p.dst_iter_c, d.dst_iter_c}};
        tensor_map tensors;
        for (const auto &[arg, md, of_user] : described) {
            md = of_user.data;
            if (md.ndims != 0)
                tensors[arg] = &md;
        }
        check_shapes(p);
        check_types(p);
        lower_attributes(p, r.attr);
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &rnn_operation() {
    static const described_operation row = described(
        {operation,
         {{"rnn", "rnn src:u8:8x1x64:abc weights:s8:1x1x64x4x64:abcde weights1:s8:1x1x64x4x64:abcde "
                  "bias:f32:1x1x4x64:abcd dst:u8:8x1x64:abc cell:vanilla_lstm "
                  "direction:unidirectional_left2right rnn_data:127:64 rnn_weights:0:100"}},
         tensor_roles::letters,
         has_optional_states},
        rnn_desc{prop_kind::forward_inference,
                 algorithm::undef,
                 rnn_direction::unidirectional,
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {}},
        parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

vanilla_rnn_forward::desc::desc(prop_kind prop, algorithm activation, rnn_direction direction,
                                const memory::desc &src_layer, const memory::desc &src_iter,
                                const memory::desc &weights_layer, const memory::desc &weights_iter,
                                const memory::desc &bias, const memory::desc &dst_layer,
                                const memory::desc &dst_iter, rnn_flags, float alpha, float beta)
    : rnn_desc{prop,
               algorithm::vanilla_rnn,
               direction,
               src_layer,
               src_iter,
               {},
               weights_layer,
               weights_iter,
               {},
               {},
               bias,
               dst_layer,
               dst_iter,
               {},
               activation,
               alpha,
               beta} {}
lstm_forward::desc::desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
                         const memory::desc &src_iter, const memory::desc &src_iter_c,
                         const memory::desc &weights_layer, const memory::desc &weights_iter,
                         const memory::desc &weights_peephole, const memory::desc &weights_projection,
                         const memory::desc &bias, const memory::desc &dst_layer,
                         const memory::desc &dst_iter, const memory::desc &dst_iter_c, rnn_flags)
    : rnn_desc{prop,
               algorithm::vanilla_lstm,
               direction,
               src_layer,
               src_iter,
               src_iter_c,
               weights_layer,
               weights_iter,
               weights_peephole,
               weights_projection,
               bias,
               dst_layer,
               dst_iter,
               dst_iter_c} {}
lstm_forward::desc::desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
                         const memory::desc &src_iter, const memory::desc &src_iter_c,
                         const memory::desc &weights_layer, const memory::desc &weights_iter,
                         const memory::desc &weights_peephole, const memory::desc &bias,
                         const memory::desc &dst_layer, const memory::desc &dst_iter,
                         const memory::desc &dst_iter_c, rnn_flags)
    : desc(prop, direction, src_layer, src_iter, src_iter_c, weights_layer, weights_iter, weights_peephole,
           memory::desc(), bias, dst_layer, dst_iter, dst_iter_c) {}
lstm_forward::desc::desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
                         const memory::desc &src_iter, const memory::desc &src_iter_c,
                         const memory::desc &weights_layer, const memory::desc &weights_iter,
                         const memory::desc &bias, const memory::desc &dst_layer,
                         const memory::desc &dst_iter, const memory::desc &dst_iter_c, rnn_flags)
    : desc(prop, direction, src_layer, src_iter, src_iter_c, weights_layer, weights_iter, memory::desc(),
           memory::desc(), bias, dst_layer, dst_iter, dst_iter_c) {}
template <algorithm of_gru>
gru_desc<of_gru>::gru_desc(prop_kind prop, rnn_direction direction, const memory::desc &src_layer,
                           const memory::desc &src_iter, const memory::desc &weights_layer,
                           const memory::desc &weights_iter, const memory::desc &bias,
                           const memory::desc &dst_layer, const memory::desc &dst_iter, rnn_flags)
    : rnn_desc{prop,         of_gru, direction, src_layer, src_iter,  {},       weights_layer,
               weights_iter, {},     {},        bias,      dst_layer, dst_iter, {}} {}
template struct gru_desc<algorithm::vanilla_gru>;
template struct gru_desc<algorithm::lbr_gru>;

impl::primitive_desc_ptr check(const rnn_desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
