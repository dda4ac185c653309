// The front of element-wise functions. With the float rules a function of reals is evaluated; with tflite
// rules the functions that TFLite has as integer kernels are lowered to multipliers and ranges exactly as its
// `Prepare` derives them: f32 quotients for relu, Q4.27 for logistic and tanh. Multipliers that were read
// from a model are taken as they are.
// SPDX-License-Identifier: Apache-2.0
#include "octet/eltwise.hpp"

#include <algorithm>
#include <cmath>

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/element.hpp"
#include "common/eltwise_problem.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "eltwise";

/// A real bound in codes relative to the zero point, as TFLite quantizes an activation's range.
std::int32_t bound_of(float real, float scale) {
    const float code = round_half_away(real / scale);
    return static_cast<std::int32_t>(clamp(code, -0x1p30f, 0x1p30f));
}

/// TFLite's multipliers for relu: f32 quotients.
void lower_tflite_relu(eltwise_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    const auto given = attr.input_multipliers().find(OCTET_ARG_SRC);
    p.has_negative_multiplier = p.alpha != 0.f || given != attr.input_multipliers().end();
    if (attr.multipliers().is_set()) {
        if (!attr.scales().empty())
            throw_invalid(operation, ": both multipliers and scales are set, allowed: one of them");
        if (attr.multipliers().mask != 0)
            throw_invalid(operation, ": multipliers mask is ", attr.multipliers().mask, ", allowed: 0");
        if (p.has_negative_multiplier && given == attr.input_multipliers().end())
            throw_invalid(operation, ": alpha is ", p.alpha,
                          ", which needs a second multiplier, pass it to set_input_multiplier(SRC)");
        p.multiplier = attr.multipliers().values[0];
        if (p.has_negative_multiplier)
            p.negative_multiplier = given->second;
        return;
    }
    if (given != attr.input_multipliers().end())
        throw_invalid(operation, ": an input multiplier without multipliers of set_requantization");
    const float src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC),
                dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    p.multiplier = from_double(rule, static_cast<double>(src_scale / dst_scale));
    if (!p.has_negative_multiplier)
        return;
    const double alpha = static_cast<double>(src_scale * p.alpha / dst_scale);
    p.negative_multiplier = from_double(rule, std::abs(alpha));
    if (alpha < 0)
        p.negative_multiplier.multiplier = -p.negative_multiplier.multiplier;
}

void lower_tflite_clip(eltwise_problem &p, const primitive_attr &attr) {
    const float src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC);
    p.rescales = attr.scales().count(OCTET_ARG_DST) != 0;
    const float scale = p.rescales ? tensor_scale(operation, attr, OCTET_ARG_DST) : src_scale;
    if (p.rescales)
        p.multiplier = from_double(p.out_stage.rule, static_cast<double>(src_scale / scale));
    const bool is_bounded_relu = p.alg == algorithm::eltwise_bounded_relu;
    p.low = is_bounded_relu ? 0 : bound_of(p.alpha, scale);
    p.high = bound_of(is_bounded_relu ? p.alpha : p.beta, scale);
    if (p.low > p.high)
        throw_invalid(operation, ": the range ", p.low, " to ", p.high, " is empty");
}

/// The source in Q4.27.
void lower_tflite_sigmoid(eltwise_problem &p, const primitive_attr &attr) {
    const float dst_scale = p.alg == algorithm::eltwise_logistic ? 1.f / 256 : 1.f / 128;
    if (attr.scales().count(OCTET_ARG_DST) && tensor_scale(operation, attr, OCTET_ARG_DST) != dst_scale)
        throw_invalid(operation, ": scale of DST is ", tensor_scale(operation, attr, OCTET_ARG_DST),
                      ", allowed with this rule and algorithm: ", dst_scale);
    const auto given = attr.input_multipliers().find(OCTET_ARG_SRC);
    if (given != attr.input_multipliers().end()) {
        p.multiplier = given->second;
    } else { // from 8 on every code is beyond the table's ends, whatever the multiplier
        const double factor = tensor_scale(operation, attr, OCTET_ARG_SRC) * 0x1p27;
        p.multiplier = factor < 0x1p30 ? from_double(p.out_stage.rule, factor)
                                       : fixed_point_multiplier{int32_max, 31, 0};
    }
    if (p.multiplier.multiplier < 0)
        throw_invalid(operation, ": input multiplier is ", p.multiplier.multiplier, ", allowed: 0 or more");
}

/// A multiplier's upper 16 bits, as TFLite's DownScaleInt32ToInt16Multiplier has them.
fixed_point_multiplier in_16_bits(fixed_point_multiplier m) {
    constexpr std::int32_t half = 1 << 15, highest = (1 << 15) - 1;
    m.multiplier = m.multiplier >= int32_max - half ? highest : (m.multiplier + half) >> 16;
    return m;
}

/// The source with 7 more bits, in f32 quotients: to the destination, and to a gate of which 3 is 1.
void lower_tflite_hard_swish(eltwise_problem &p, const primitive_attr &attr) {
    const float src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC),
                dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    const float fine = 1.f / 128 * src_scale, gate_scale = 3.f / 32768;
    p.multiplier = in_16_bits(from_double(p.out_stage.rule, static_cast<double>(fine / dst_scale)));
    p.gate_multiplier = in_16_bits(from_double(p.out_stage.rule, static_cast<double>(fine / gate_scale)));
    if (p.multiplier.shift > 0)
        throw_invalid(operation, ": hardswish with scales ", src_scale, " of SRC and ", dst_scale,
                      " of DST; TFLite allows SRC / DST below 128");
}

void lower_tflite(eltwise_problem &p, const primitive_attr &attr) {
    require_type(operation, "src", p.src, {data_type::s8, data_type::u8});
    require_type(operation, "dst", p.dst, {data_type::s8, data_type::u8});
    switch (p.alg) {
    case algorithm::eltwise_relu:
        return lower_tflite_relu(p, attr);
    case algorithm::eltwise_bounded_relu:
    case algorithm::eltwise_clip:
    case algorithm::eltwise_clip_v2:
        return lower_tflite_clip(p, attr);
    case algorithm::eltwise_logistic:
    case algorithm::eltwise_tanh:
        return lower_tflite_sigmoid(p, attr);
    case algorithm::eltwise_hardswish:
        return lower_tflite_hard_swish(p, attr);
    case algorithm::eltwise_elu:
        if (p.alpha != 1.f)
            throw_unimplemented(operation, ": elu with alpha ", p.alpha, ", implemented with this rule: 1");
        p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC);
        p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
        return;
    case algorithm::eltwise_abs:
        p.multiplier =
            from_double(p.out_stage.rule, static_cast<double>(tensor_scale(operation, attr, OCTET_ARG_SRC) /
                                                              tensor_scale(operation, attr, OCTET_ARG_DST)));
        return;
    default:
        throw_unimplemented(operation, ": rule ", to_string(p.out_stage.rule),
                            " with this algorithm; implemented: relu, bounded_relu, clip, logistic, tanh, "
                            "hardswish, elu, abs");
    }
}

void lower_rule(eltwise_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    if (attr.output_scales().is_set())
        throw_invalid(operation, ": output scales, allowed: set_scales of SRC and DST");
    require_operators(operation, rule,
                      {operators::reals, operators::scaled_reals, operators::onnxruntime, operators::tflite,
                       operators::snps_caffe, operators::litert_neon});
    if (is_litert_neon(rule) && p.alg != algorithm::eltwise_hardswish)
        throw_unimplemented(operation, ": rule ", to_string(rule),
                            " with this algorithm; implemented: hardswish");
    if (is_tflite(rule) || is_litert_neon(rule))
        return lower_tflite(p, attr);
    if (attr.multipliers().is_set() || !attr.input_multipliers().empty())
        throw_invalid(operation, ": multipliers with rule ", to_string(rule), ", allowed with tflite_*");
    if (is_plain_f32(rule))
        return;
    const bool is_v3 = operators_of(rule) == operators::scaled_reals;
    p.src_scale = tensor_scale(operation, attr, OCTET_ARG_SRC, is_v3 ? 1.f : 0.f);
    p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST, is_v3 ? 1.f : 0.f);
}

constexpr auto parameters = [](auto &d, const auto &visit) {
    visit("algorithm", d.alg);
    visit("alpha", d.alpha);
    visit("beta", d.beta);
};

primitive_desc_ptr make(const eltwise_forward::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_forward(operation, d.prop);
        require_algorithm(operation, d.alg, "eltwise_");
        eltwise_problem p;
        p.alg = d.alg;
        p.alpha = d.alpha;
        p.beta = d.beta;
        p.src = d.src.data;
        p.dst = d.dst.data;
        resolve_elementwise(operation, p.src, p.dst);
        attribute_support support{operation};
        support.accumulates = false;
        const tensor_map tensors{{OCTET_ARG_SRC, &p.src}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.src_zero_points = tensor_zero_point(support, attr, OCTET_ARG_SRC, p.src);
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
        lower_rule(p, attr);
        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &eltwise_operation() {
    static const described_operation row = described(
        {operation,
         {{"eltwise", "eltwise algorithm:eltwise_relu src:s8:1x64x14x14:nhwc dst:s8:1x64x14x14:nhwc"}},
         tensor_roles::by_rank,
         in_place},
        eltwise_forward::desc(prop_kind::forward_inference, algorithm::eltwise_relu, {}, {}, 0.f, 0.f),
        parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

eltwise_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
                            float alpha, float beta)
    : prop(prop), alg(alg), src(src), dst(dst), alpha(alpha), beta(beta) {}
eltwise_forward::desc::desc(prop_kind prop, algorithm alg, const memory::desc &data, float alpha, float beta)
    : desc(prop, alg, data, data, alpha, beta) {}

impl::primitive_desc_ptr check(const eltwise_forward::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
