// The front of binary operations. Five frameworks add and multiply codes in five arithmetics; which one is
// meant follows from the requantization rule, and each `lower_` function below turns scales or multipliers
// into one of the forms of common/binary_problem.hpp (binary_form). octet/binary.hpp has the formulas.
//
// If a framework's zero point is part of its rounding (ONNX Runtime), it leaves the epilogue and enters the
// form; post-ops, which would come between the two, are refused there.
// SPDX-License-Identifier: Apache-2.0
#include "octet/binary.hpp"

#include <algorithm>
#include <cmath>

#include "api/elementwise.hpp"
#include "api/runtime_sizes.hpp"
#include "common/binary_problem.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

constexpr const char *operation = "binary";

binary_problem shapes_of(const binary::desc &d) {
    binary_problem p;
    p.src0 = d.src0.data;
    p.src1 = d.src1.data;
    p.dst = d.dst.data;
    p.alg = d.alg;
    require_tensor(operation, "src0", p.src0, 1, max_ndims);
    require_tensor(operation, "src1", p.src1, p.src0.ndims, p.src0.ndims);
    require_tensor(operation, "dst", p.dst, p.src0.ndims, p.src0.ndims);
    for (memory_desc *md : {&p.src0, &p.src1, &p.dst}) {
        const char *name = md == &p.src0 ? "src0" : md == &p.src1 ? "src1" : "dst";
        require_numbers(operation, name, *md);
        if (md->format_kind == format_kind::any) {
            const memory_desc shape = *md; // without a hint of its own a tensor takes src0's layout
            *md = p.src0.format_kind == format_kind::plain && same_dims(shape, p.src0) ? p.src0 : shape;
            md->data_type = shape.data_type;
            resolve_activation_layout(*md);
        }
        require_plain(operation, name, *md);
    }
    for (int i = 0; i < p.dst.ndims; i++) {
        const dim_t a = p.src0.dims[i], b = p.src1.dims[i], out = p.dst.dims[i];
        if ((a != out && a != 1) || (b != out && b != 1) || (a == 1 && b == 1 && out != 1))
            throw_invalid(operation, ": dimension ", i, " is ", a, " in src0, ", b, " in src1, ", out,
                          " in dst, allowed: equal, or 1 in a source");
    }
    require_no_overlap(operation, p.dst);
    return p;
}

void set_scales(binary_problem &p, const primitive_attr &attr) {
    p.scale0 = tensor_scale(operation, attr, OCTET_ARG_SRC_0);
    p.scale1 = tensor_scale(operation, attr, OCTET_ARG_SRC_1);
    p.dst_scale = tensor_scale(operation, attr, OCTET_ARG_DST);
    p.out_stage.dst_scales = {};
}

fixed_point_multiplier input_multiplier(const primitive_attr &attr, int arg, const char *name) {
    const auto found = attr.input_multipliers().find(arg);
    if (found == attr.input_multipliers().end())
        throw_invalid(operation, ": rule ", to_string(attr.rule()), " needs set_input_multiplier for ", name,
                      ", or scales of SRC_0, SRC_1 and DST instead of multipliers");
    return found->second;
}

void set_multipliers(binary_problem &p, const add_multipliers &m) {
    p.multiplier0 = m.a;
    p.multiplier1 = m.b;
    p.out_stage.multipliers = {0, {m.dst}, false};
}

void lower_tflite(binary_problem &p, const primitive_attr &attr) {
    const bool is_product = p.alg == algorithm::binary_mul;
    if (!is_product && p.alg != algorithm::binary_add && p.alg != algorithm::binary_sub)
        throw_unimplemented(operation, ": rule ", to_string(p.out_stage.rule),
                            " with this algorithm; implemented: binary_add, binary_sub, binary_mul");
    p.form = is_product ? binary_form::product : binary_form::scaled_sum;
    if (attr.multipliers().is_set()) {
        if (!attr.scales().empty())
            throw_invalid(operation, ": both multipliers and scales are set, allowed: one of them");
        if (is_product)
            return;
        p.multiplier0 = input_multiplier(attr, OCTET_ARG_SRC_0, "SRC_0");
        p.multiplier1 = input_multiplier(attr, OCTET_ARG_SRC_1, "SRC_1");
        return;
    }
    if (attr.scales().empty())
        throw_invalid(
            operation, ": rule ", to_string(p.out_stage.rule),
            " needs multipliers, pass them to set_requantization, or scales of SRC_0, SRC_1 and DST");
    set_scales(p, attr);
    if (p.alg == algorithm::binary_add)
        set_multipliers(p, add_multipliers_of(p.out_stage.rule, p.scale0, p.scale1, p.dst_scale));
    else if (p.alg == algorithm::binary_sub)
        set_multipliers(p, scaled_sum_multipliers<float>(p.out_stage.rule, p.scale0, p.scale1, p.dst_scale));
    else
        p.out_stage.multipliers = {
            0,
            {from_double(p.out_stage.rule,
                         real_multiplier(scale_derivation::tflite_f64, p.scale0, p.scale1, p.dst_scale))},
            false};
}

void lower_ort(binary_problem &p, const primitive_attr &attr) {
    set_scales(p, attr);
    p.form = p.alg == algorithm::binary_add   ? binary_form::qlinear_sum
             : p.alg == algorithm::binary_mul ? binary_form::qlinear_product
                                              : binary_form::dequantized;
    if (p.form == binary_form::dequantized)
        return;
    if (attr.get_post_ops().len() != 0)
        throw_unimplemented(operation, ": post-ops with rule ort_f32, whose sums and products contain the ",
                            "destination zero point");
    p.dst_zero_point.values = p.out_stage.dst_zero_points;
    p.out_stage.dst_zero_points = {};
}

/// QNNPACK's multipliers: ratios of scales with a common shift that leaves 22 bits for the larger.
void lower_qnnpack(binary_problem &p, const primitive_attr &attr) {
    if (p.alg != algorithm::binary_add)
        throw_unimplemented(operation, ": rule caffe2_2step with this algorithm; implemented: binary_add");
    if (attr.multipliers().is_set())
        throw_invalid(operation, ": rule caffe2_2step takes scales of SRC_0, SRC_1 and DST, no multipliers");
    set_scales(p, attr);
    p.form = binary_form::qnnpack_sum;
    const float ratio0 = p.scale0 / p.dst_scale, ratio1 = p.scale1 / p.dst_scale;
    for (const float ratio : {ratio0, ratio1})
        if (!(ratio >= 0x1p-14f && ratio < 0x1p8f))
            throw_invalid(operation, ": a source scale is ", ratio,
                          " times the destination's, allowed with caffe2_2step: 2^-14 to 2^8");
    const int shift = 21 - std::ilogb(std::max(ratio0, ratio1));
    const auto scaled = [&](float ratio) {
        const auto m = static_cast<std::int32_t>(round_to_even(std::ldexp(ratio, shift)));
        return fixed_point_multiplier{m, shift, 0};
    };
    p.multiplier0 = scaled(ratio0);
    p.multiplier1 = scaled(ratio1);
}

/// XNNPACK: sums have ratios of scales with a common shift that leaves 21 bits for the larger, products are
/// scaled by the rule.
void lower_xnnpack(binary_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    if (p.alg != algorithm::binary_add && p.alg != algorithm::binary_sub && p.alg != algorithm::binary_mul)
        throw_unimplemented(operation, ": rule ", to_string(rule),
                            " with this algorithm; implemented: binary_add, binary_sub, binary_mul");
    if (attr.multipliers().is_set())
        throw_invalid(operation, ": rule ", to_string(rule),
                      " takes scales of SRC_0, SRC_1 and DST, no multipliers");
    set_scales(p, attr);
    const auto need_in_range = [&](float x, float low, float high, const char *what, const char *range) {
        if (!(x >= low && x < high))
            throw_invalid(operation, ": ", what, " is ", x, ", allowed with ", to_string(rule), ": ", range);
    };
    if (p.alg == algorithm::binary_mul) {
        const float scale = p.scale0 * p.scale1 / p.dst_scale;
        need_in_range(scale, 0x1p-16f, 0x1p8f, "the product of source scales divided by the destination's",
                      "2^-16 to 2^8");
        p.form = binary_form::product;
        if (is_fixed_point(rule))
            p.out_stage.multipliers = {0, {from_float(rule, scale)}, false};
        else
            p.out_stage.output_scales = {0, {scale}, false};
        return;
    }
    p.form = binary_form::xnnpack_sum;
    const float ratio0 = p.scale0 / p.dst_scale, ratio1 = p.scale1 / p.dst_scale;
    for (const float ratio : {ratio0, ratio1})
        need_in_range(ratio, 0x1p-10f, 0x1p8f, "a source scale divided by the destination's", "2^-10 to 2^8");
    const int shift = 20 - std::ilogb(std::max(ratio0, ratio1));
    const auto scaled = [&](float ratio) {
        const auto m = static_cast<std::int32_t>(round_to_even(std::ldexp(ratio, shift)));
        return fixed_point_multiplier{m, shift, 0};
    };
    p.multiplier0 = scaled(ratio0);
    p.multiplier1 = scaled(ratio1);
}

/// Chooses the form; each is described in octet/binary.hpp.
void lower_rule(binary_problem &p, const primitive_attr &attr) {
    const requantization_rule rule = p.out_stage.rule;
    const operators of = operators_of(rule);
    require_operators(operation, rule,
                      {operators::reals, operators::scaled_reals, operators::onnxruntime, operators::tflite,
                       operators::qnnpack, operators::xnnpack, operators::snps_caffe});
    if (of == operators::reals || of == operators::scaled_reals) {
        if (p.zero_points0.values.is_set() || p.zero_points1.values.is_set())
            throw_unimplemented(operation, ": zero points of sources with rule ", to_string(rule),
                                "; they exist with the other rules");
        p.scale0 = tensor_scale(operation, attr, OCTET_ARG_SRC_0, 1.f);
        p.scale1 = tensor_scale(operation, attr, OCTET_ARG_SRC_1, 1.f);
        return;
    }
    for (const memory_desc *md : {&p.src0, &p.src1})
        require_type(operation, "src", *md, {data_type::s8, data_type::u8});
    if (attr.output_scales().is_set())
        throw_invalid(operation, ": rule ", to_string(rule), " takes no output scales");
    if (of == operators::tflite)
        return lower_tflite(p, attr);
    if (of == operators::onnxruntime)
        return lower_ort(p, attr);
    if (of == operators::qnnpack)
        return lower_qnnpack(p, attr);
    if (of == operators::xnnpack)
        return lower_xnnpack(p, attr);
    set_scales(p, attr);
    p.form = binary_form::dequantized;
}

constexpr auto parameters = [](auto &d, const auto &visit) { visit("algorithm", d.alg); };

primitive_desc_ptr make(const binary::desc &d, const request &r) {
    const primitive_attr &attr = r.attr;
    return run_front(r, [&] {
        require_algorithm(operation, d.alg, "binary_");
        binary_problem p = shapes_of(d);
        attribute_support support{operation};
        support.accumulates = false;
        const tensor_map tensors{
            {OCTET_ARG_SRC_0, &p.src0}, {OCTET_ARG_SRC_1, &p.src1}, {OCTET_ARG_DST, &p.dst}};
        reject_unknown_arguments(support, attr, tensors);
        p.zero_points0 = tensor_zero_point(support, attr, OCTET_ARG_SRC_0, p.src0);
        p.zero_points1 = tensor_zero_point(support, attr, OCTET_ARG_SRC_1, p.src1);
        p.out_stage = lower_epilogue(support, attr, p.dst, {});
        p.out_stage.rule = elementwise_rule(attr, p.out_stage.rule);
        lower_rule(p, attr);
        if (p.dst_zero_point.values.mask != 0)
            throw_invalid(operation, ": dst zero points mask is ", p.dst_zero_point.values.mask,
                          ", allowed with rule ort_f32: 0");

        return make_primitive_desc(r, tensors, parameter_text(d, parameters), p);
    });
}

} // namespace

const described_operation &binary_operation() {
    static const described_operation row =
        described({operation,
                   {{"binary", "binary algorithm:binary_add src:s8:1x64x14x14:nhwc src1:s8:1x64x14x14:nhwc "
                               "dst:s8:1x64x14x14:nhwc"}},
                   tensor_roles::by_rank,
                   in_place},
                  binary::desc(algorithm::binary_add, {}, {}, {}), parameters, make);
    return row;
}

} // namespace impl

inline namespace v0 {

binary::desc::desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst)
    : alg(alg), src0(src0), src1(src1), dst(dst) {}

impl::primitive_desc_ptr check(const binary::desc &d, const primitive_attr &attr, const engine &e,
                               bool allow_empty) {
    return impl::make_at_any_size(d, {impl::operation, attr, e, allow_empty}, impl::make);
}

} // namespace v0
} // namespace octet
