// The front of softmax: five arithmetics that share a shape. tflite rules are gemmlowp's fixed point,
// ort_f32, the xnnpack rules and ruy_2step are ONNX Runtime's and LiteRT's tables of exponentials, the f32
// rules are oneDNN's function of reals. All but the last define the destination's rounding themselves, so
// they take no post-ops.
// SPDX-License-Identifier: Apache-2.0
#include "octet/softmax.hpp"

#include "api/elementwise.hpp"
#include "api/normalization.hpp"
#include "api/runtime_sizes.hpp"
#include "common/element.hpp"
#include "common/rules.hpp"
#include "common/softmax.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "softmax";

softmax_problem shapes_of(const softmax_forward::desc &d) {
    softmax_problem p;
    p.src = d.src.data;
    p.dst = d.dst.data;
    p.axis = d.axis;
    p.is_log = d.alg == algorithm::softmax_log;
    require_tensor(operation, "src", p.src, 1, max_ndims);
    require_tensor(operation, "dst", p.dst, 1, max_ndims);
    if (!same_dims(p.src, p.dst))
        throw_invalid(operation, ": src has dims ", dims_text(p.src), ", dst ", dims_text(p.dst));
    if (p.axis < 0 || p.axis >= p.src.ndims)
        throw_invalid(operation, ": axis is ", p.axis, ", allowed: 0 to ", p.src.ndims - 1);
    for (memory_desc *md : {&p.src, &p.dst}) {
        if (md->format_kind == format_kind::any)
            set_row_major(*md);
        require_plain(operation, md == &p.src ? "src" : "dst", *md);
    }
    require_no_overlap(operation, p.dst);
    return p;
}

void lower_tflite(softmax_problem &p, const primitive_attr &attr) {
    require_type(operation, "dst", p.dst, {data_type::s8, data_type::u8, data_type::s16});
    if (!attr.scales().empty() || !attr.zero_points().empty() || attr.multipliers().is_set())
        throw_unimplemented(operation, ": attributes other than the rule and the input multiplier of SRC");
    const auto found = attr.input_multipliers().find(OCTET_ARG_SRC);
    if (found == attr.input_multipliers().end())
        throw_invalid(operation, ": rule ", to_string(attr.rule()), " needs set_input_multiplier for SRC");
    p.multiplier = found->second;
    if (p.multiplier.multiplier < 0)
        throw_invalid(operation, ": input multiplier is ", p.multiplier.multiplier, ", allowed: 0 or more");
    if (p.multiplier.shift < 0)
        throw_invalid(operation, ": input multiplier has shift ", p.multiplier.shift,
                      ", allowed: 0 to 30 (beta * scale * 2^26 is above 1)");
}

/// The zero point of dst, which is one number that is known now.
std::int32_t dst_zero_point(const primitive_attr &attr, std::int32_t otherwise) {
    const auto found = attr.zero_points().find(OCTET_ARG_DST);
    if (found == attr.zero_points().end())
        return otherwise;
    if (found->second.runtime || found->second.mask != 0)
        throw_unimplemented(operation,
                            ": dst zero points with a mask or given at execution; implemented with ",
                            to_string(attr.rule()), ": one, given at creation");
    return found->second.values[0];
}

void lower_ort(softmax_problem &p, const primitive_attr &attr) {
    require_type(operation, "dst", p.dst, {p.src.data_type});
    p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC);
    p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    p.dst_zero_point = dst_zero_point(attr, 0);
}

/// All shares of a whole from the lowest code on, unless scale and zero point of dst say otherwise.
void lower_litert(softmax_problem &p, const primitive_attr &attr) {
    const bool is_16_bit = softmax_form_of(p) == softmax_form::litert_16;
    if (is_16_bit)
        require_type(operation, "dst", p.dst, {p.src.data_type});
    else
        require_type(operation, "dst", p.dst, {p.src.data_type, data_type::s16});
    if (attr.multipliers().is_set() || !attr.input_multipliers().empty())
        throw_unimplemented(operation, ": multipliers with rule ", to_string(attr.rule()),
                            ", which takes the scale of SRC");
    const bool is_s16 = p.dst.data_type == data_type::s16;
    p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC);
    p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST, is_s16 ? 1.f / 65536 : 1.f / 256);
    p.dst_zero_point = dst_zero_point(attr, static_cast<std::int32_t>(range_of(p.dst.data_type).low));
    const type_range codes = range_of(p.dst.data_type);
    if (p.dst_zero_point < codes.low || p.dst_zero_point > codes.high)
        throw_invalid(operation, ": the zero point of dst is ", p.dst_zero_point, ", allowed: ", codes.low,
                      " to ", codes.high);
    if (is_16_bit && p.src.dims[p.axis] > most_16_bit_exponentials)
        throw_unimplemented(operation, ": rows of ", p.src.dims[p.axis], " codes with rule ",
                            to_string(attr.rule()), ", implemented: up to ", most_16_bit_exponentials);
    if (is_16_bit && p.dst_scale < 0x1p-30f)
        throw_unimplemented(operation, ": a scale of dst of ", p.dst_scale, " with rule ",
                            to_string(attr.rule()), ", implemented: 2^-30 and more");
}

/// Tables and fixed point: codes in, codes out.
void lower_quantized(softmax_problem &p, const primitive_attr &attr) {
    require_type(operation, "src", p.src, {data_type::s8, data_type::u8});
    if (attr.get_post_ops().len() != 0 || attr.output_scales().is_set())
        throw_unimplemented(operation, ": post-ops and output scales with rule ", to_string(attr.rule()));
    if (p.is_log)
        throw_unimplemented(operation, ": softmax_log with rule ", to_string(attr.rule()));
    p.out_stage.rule = attr.rule();
    p.out_stage.dst = p.dst;
    if (is_ort(attr.rule()))
        lower_ort(p, attr);
    else if (is_tflite(attr.rule()))
        lower_tflite(p, attr);
    else
        lower_litert(p, attr);
}

/// ONNX Runtime's Softmax of floats.
void lower_ort_of_reals(softmax_problem &p, const primitive_attr &attr) {
    p.out_stage = lower_post_ops_alone(operation, attr, p.dst, operators::onnxruntime);
    if (p.is_log || !p.out_stage.post_ops.empty())
        throw_unimplemented(operation, p.is_log ? ": softmax_log" : ": post-ops", " with rule ort_f32");
}

/// Codes are numbers; a scale of SRC multiplies the result in f32_v3, as in oneDNN 3.x.
void lower_f32(softmax_problem &p, const primitive_attr &attr, const attribute_support &support) {
    for (const memory_desc *md : {&p.src, &p.dst})
        require_numbers(operation, md == &p.src ? "src" : "dst", *md);
    if (attr.zero_points().count(OCTET_ARG_SRC))
        throw_invalid(operation, ": src zero points, which softmax does not depend on");
    p.out_stage = lower_epilogue(support, attr, p.dst, {});
    p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
    p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC, 1.f);
}

bool is_of_reals(const rule_facts &row) {
    return row.of == operators::reals || row.of == operators::scaled_reals;
}
bool is_of_codes(const rule_facts &row) {
    return row.of == operators::onnxruntime || (row.of == operators::tflite && !row.is_of_products_alone) ||
           row.of == operators::xnnpack || row.of == operators::litert_neon;
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("algorithm", d.alg);
    visit("axis", d.axis);
};

primitive_desc_ptr make(const softmax_forward::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, algorithm::softmax_accurate, algorithm::softmax_log,
                          "softmax_accurate, softmax_log");
        softmax_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        const rule_facts &rule = facts_of(attr.rule());
        if (attr.rule() == requantization_rule::automatic || is_of_reals(rule))
            lower_f32(p, attr, support);
        else if (!is_of_codes(rule))
            throw_unimplemented(operation, ": rule ", rule.name,
                                ", implemented: ", names_of_rules([](const rule_facts &row) {
                                    return is_of_reals(row) || is_of_codes(row);
                                }));
        else if (p.src.data_type == data_type::f32 && p.dst.data_type == data_type::f32 &&
                 is_ort(attr.rule()))
            lower_ort_of_reals(p, attr);
        else
            lower_quantized(p, attr);

        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &softmax_operation() {
    static const described_operation row =
        described({operation,
                   {{"softmax", "softmax algorithm:softmax_accurate src:s8:1x1000:ab dst:s8:1x1000:ab axis:1 "
                                "rule:tflite_2step input_multiplier:src:1073741824@21"}},
                   tensor_roles::by_rank,
                   in_place},
                  softmax_forward::desc(prop_kind::forward_inference, algorithm::softmax_accurate, {}, {}, 1),
                  parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

softmax_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                            int axis)
    : prop(prop), alg(alg), src(src), dst(dst), axis(axis) {}
softmax_forward::desc::desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis)
    : desc(prop, algorithm::softmax_accurate, src, dst, axis) {}
softmax_forward::desc::desc(prop_kind prop, const memory::desc &data, int axis)
    : desc(prop, data, data, axis) {}

impl::primitive_desc_ptr check(const softmax_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
