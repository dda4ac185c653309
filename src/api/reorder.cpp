// The front of reorder: layouts, types and scales of a tensor change, its shape does not. It carries what
// frameworks call Quantize, Dequantize and Requantize, so nearly every rule has a meaning here; `check_rule`
// says which type pairs each takes. It is also the only operation that reads and writes packed weights.
// SPDX-License-Identifier: Apache-2.0
#include "octet/reorder.hpp"

#include <cmath>

#include "api/dynamic_matmul.hpp"
#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/element.hpp"
#include "common/reorder_problem.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "reorder";

masked_values<float> lower_scales(const attribute_support &support, const primitive_attr &attr, int arg,
                                  const memory_desc &md) {
    const auto found = attr.scales().find(arg);
    if (found == attr.scales().end())
        return {};
    check_masked(support, arg == OCTET_ARG_SRC ? "src scales" : "dst scales", found->second, md);
    return found->second;
}

/// Refuses types that the rule cannot convert: octet/reorder.hpp.
void check_rule(reorder_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    const bool by_scales = !attr.scales().empty();
    if (is_float(rule) || (is_snps_caffe(rule) && by_scales && is_integer(p.dst.data_type)))
        return;
    const bool from_integer = is_integer(p.src.data_type), to_integer = is_integer(p.dst.data_type);
    if (!to_integer || (!from_integer && !is_tflite(rule)))
        throw_unimplemented(
            operation, ": rule ", to_string(rule), " from ", memory::desc(p.src).to_string(), " to ",
            memory::desc(p.dst).to_string(),
            "; float sources have tflite_*, f32, f32_v3 and ort_f32, float destinations the last three");
    if (from_integer && is_tflite(rule) && !attr.multipliers().is_set() && by_scales) {
        const double ratio = static_cast<double>(tensor_scale(operation, attr, OCTET_ARG_SRC)) /
                             static_cast<double>(tensor_scale(operation, attr, OCTET_ARG_DST));
        p.out_stage.multipliers = {0, {from_double(rule, ratio)}, false};
        return;
    }
    if (from_integer && is_fixed_point(rule) && !attr.multipliers().is_set())
        throw_invalid(operation, ": rule ", to_string(rule),
                      " from integers needs multipliers, pass them to set_requantization");
    if (!from_integer && !p.dst_scales.is_set())
        throw_invalid(operation, ": rule ", to_string(rule), " from f32 needs set_scales(OCTET_ARG_DST, …)");
}

struct description {
    memory::desc src, dst;
    engine dst_engine;
};

/// A tensor of a recurrent network from f32: states with output scale and zero point, weights with scales, in
/// the same f32 operations and order.
primitive_attr without_rnn_parameters(const primitive_attr &given, const memory_desc &src,
                                      const memory_desc &dst) {
    const bool has_data = !given.rnn_data().empty(), has_weights = given.rnn_weights_scales().is_set(),
               has_projection = given.rnn_projection_scales().is_set();
    if (!has_data && !has_weights && !has_projection)
        return given;
    if (src.data_type != data_type::f32)
        throw_unimplemented(operation, ": quantization of recurrent networks from ",
                            memory::desc(src).to_string(), ", implemented: from f32");
    primitive_attr attr;
    attr.set_scratchpad_mode(given.get_scratchpad_mode());
    const bool is_weights =
        dst.ndims == 5 || (dst.ndims == 4 && has_projection && dst.data_type == data_type::s8);
    if (is_weights) {
        const masked_values<float> &scales =
            dst.ndims == 5 ? given.rnn_weights_scales() : given.rnn_projection_scales();
        if (scales.is_set())
            attr.set_output_scales(scales.mask, scales.values);
        return attr;
    }
    if (has_data) {
        const float shift = given.rnn_data()[1];
        if (shift != std::nearbyint(shift))
            throw_unimplemented(operation, ": set_rnn_data_qparams with shift ", shift,
                                ", implemented: whole numbers");
        attr.set_output_scales(0, {given.rnn_data()[0]});
        attr.set_zero_points(OCTET_ARG_DST, 0, {static_cast<std::int32_t>(shift)});
    }
    return attr;
}

primitive_desc_ptr make(const description &d, const request &given) {
    request r = given;
    r.is_of_dynamic_source = is_packed_with_scales(d.dst.data);
    r.takes_rnn_parameters = true;
    return run_front(r, [&] {
        const primitive_attr attr = without_rnn_parameters(r.attr, d.src.data, d.dst.data);
        if (!d.dst_engine)
            throw_invalid(operation, ": engine of dst is a null handle");
        reorder_problem p;
        p.src = d.src.data;
        p.dst = d.dst.data;
        require_tensor(operation, "src", p.src, 1, max_ndims);
        require_tensor(operation, "dst", p.dst, 1, max_ndims);
        if (p.src.format_kind == format_kind::any || p.dst.format_kind == format_kind::any)
            throw_invalid(operation, ": layout any, allowed: concrete layouts");
        if (!same_dims(p.src, p.dst))
            throw_invalid(operation, ": src has dims ", dims_text(p.src), ", dst ", dims_text(p.dst));
        require_no_overlap(operation, p.dst);
        if (is_packed_with_scales(p.src))
            throw_unimplemented(operation, ": src is ", d.src.to_string(), ", implemented: other layouts");
        if (is_packed_with_scales(p.dst))
            return make_packing_with_scales(r, p.src, p.dst);

        attribute_support support{operation};
        support.accumulates = false;
        support.weights = false;
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.src_zero_points = lower_zero_points(support, attr, OCTET_ARG_SRC, p.src);
        p.src_scales = lower_scales(support, attr, OCTET_ARG_SRC, p.src);
        p.dst_scales = lower_scales(support, attr, OCTET_ARG_DST, p.dst);
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.fused_sum = false;
        if (p.dst.format_kind == format_kind::packed && reads_dst(p.out_stage))
            throw_unimplemented(operation, ": a sum post-op into packed weights ",
                                memory::desc(p.dst).to_string(), ", allowed: a dst in a plain layout");
        if (is_ort(p.out_stage.rule))
            p.out_stage.dst_scales = {}; // divided by here, not folded into a factor
        if (attr.rule() == requantization_rule::automatic && !is_float(p.out_stage.rule) &&
            is_real(d.src.data.data_type))
            p.out_stage.rule = unchanged(true);
        check_rule(p, attr);

        return make_primitive_desc(r, tensors, {}, p);
    });
}

} // namespace

const described_operation &reorder_operation() {
    static const described_operation row =
        described({operation,
                   {{"reorder", "reorder src:f32:1x64x14x14:abcd dst:u8:1x64x14x14:acdb"}},
                   tensor_roles::letters,
                   in_place},
                  description{{}, {}, engine(engine::kind::cpu, 0)}, no_parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

reorder::primitive_desc::primitive_desc(const engine &src_engine, const memory::desc &src,
                                        const engine &dst_engine, const memory::desc &dst,
                                        const primitive_attr &attr, bool allow_empty)
    : primitive_desc_base(impl::make_at_any_size(impl::description{src, dst, dst_engine},
                                                 {impl::operation, attr, src_engine, allow_empty},
                                                 impl::make)) {}

reorder::primitive_desc::primitive_desc(const memory::desc &src, const engine &src_engine,
                                        const memory::desc &dst, const engine &dst_engine,
                                        const primitive_attr &attr, bool allow_empty)
    : primitive_desc(src_engine, src, dst_engine, dst, attr, allow_empty) {}

reorder::primitive_desc::primitive_desc(const memory &src, const memory &dst, const primitive_attr &attr,
                                        bool allow_empty)
    : primitive_desc(src.get_engine(), src.get_desc(), dst.get_engine(), dst.get_desc(), attr, allow_empty) {}

void reorder::execute(const stream &s, const memory &src, const memory &dst) const {
    primitive::execute(s, {{OCTET_ARG_FROM, src}, {OCTET_ARG_TO, dst}});
}

} // namespace v0
} // namespace octet
