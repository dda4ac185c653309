// From attributes to the epilogue of a problem: `automatic` becomes a rule, per-argument scales find the
// dimension of the destination that they belong to. What is wrong with them is found in attributes/checks.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "api/lowering.hpp"

#include "api/attributes/arguments.hpp"
#include "api/attributes/derived.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

masked_values<float> scales_of(const primitive_attr &attr, int arg) {
    const auto found = attr.scales().find(arg);
    return found == attr.scales().end() ? masked_values<float>{} : found->second;
}

} // namespace

requantization_rule resolve_rule(const attribute_support &support, const primitive_attr &attr,
                                 const memory_desc &dst, const memory_desc &bias) {
    if (attr.rule() != requantization_rule::automatic)
        return attr.rule();
    if (!attr.scales().empty())
        return requantization_rule::f32_v3;
    const bool plain = !attr.output_scales().is_set() && attr.get_post_ops().len() == 0 &&
                       (bias.ndims == 0 || is_integer(bias.data_type));
    return unchanged(!plain || dst.data_type != data_type::s32 || support.sums_f32);
}

epilogue lower_epilogue(const attribute_support &support, const primitive_attr &attr, const memory_desc &dst,
                        const memory_desc &bias) {
    epilogue e;
    e.rule = resolve_rule(support, attr, dst, bias);
    e.dst = dst;
    e.bias = bias;
    check_rule_parameters(support, attr, e.rule);
    const bool bias_in_f32 = facts_of(e.rule).f32.adds_bias_in_f32;
    if (support.sums_f32 && !is_float(e.rule))
        throw_invalid(support.operation, ": rule ", to_string(e.rule),
                      " requantizes sums of integers, allowed with f32 src: ",
                      names_of_rules([](const rule_facts &row) { return is_float(row.rule); }));
    if (support.sums_f32 && bias.ndims != 0 && !bias_in_f32)
        throw_unimplemented(support.operation, ": bias with rule ", to_string(e.rule),
                            " and f32 src, implemented: ",
                            names_of_rules([](const rule_facts &row) { return row.f32.adds_bias_in_f32; }));
    const bool any_integer_bias = operators_of(e.rule) == operators::integers && is_integer(bias.data_type);
    if (bias.ndims != 0 && bias.data_type != data_type::s32 && !bias_in_f32 && !any_integer_bias)
        throw_invalid(support.operation, ": bias has type ", to_string(bias.data_type),
                      ", allowed with rule ", to_string(e.rule), ": s32 (it is added to the accumulator)");

    e.output_scales = attr.output_scales();
    check_masked(support, "output scales", e.output_scales, dst);
    e.multipliers = attr.multipliers();
    check_masked(support, "multipliers", e.multipliers, dst);
    e.real_scales = attr.real_scales();
    e.real_scales_are_f32 = attr.real_scales_are_f32();
    check_masked(support, "real scales", e.real_scales, dst);

    if (support.accumulates) {
        e.src_scales = scales_of(attr, OCTET_ARG_SRC);
        if (e.src_scales.is_set() && (e.src_scales.mask & ~support.src_row_mask) != 0)
            throw_invalid(support.operation, ": src scales mask is ", e.src_scales.mask,
                          ", allowed: 0 or dimensions of ", support.src_row_mask, ", which are dst's too");
        check_masked(support, "src scales", e.src_scales, dst);
        e.weights_scales = scales_of(attr, OCTET_ARG_WEIGHTS);
        if (e.weights_scales.is_set() && e.weights_scales.mask != 0) {
            if (e.weights_scales.mask != support.weights_channel_mask)
                throw_invalid(support.operation, ": weights scales mask is ", e.weights_scales.mask,
                              ", allowed: 0 or ", support.weights_channel_mask);
            e.weights_scales.mask = support.dst_channel_mask;
            check_masked(support, "weights scales", e.weights_scales, dst);
        }
    }
    e.dst_scales = scales_of(attr, OCTET_ARG_DST);
    check_masked(support, "dst scales", e.dst_scales, dst);
    if (support.accumulates && !attr.scales().empty() && derives_from_scales(e.rule))
        derive_from_scales(support, e);

    const auto found = attr.zero_points().find(OCTET_ARG_DST);
    if (found != attr.zero_points().end())
        e.dst_zero_points = found->second;
    check_masked(support, "dst zero points", e.dst_zero_points, dst);

    e.post_ops = lower_post_ops(support, attr, dst);
    return e;
}

std::vector<post_op_entry> lower_post_ops(const attribute_support &support, const primitive_attr &attr,
                                          const memory_desc &dst) {
    const std::vector<post_op_entry> &entries = attr.get_post_ops().entries();
    for (int i = 0; i < static_cast<int>(entries.size()); i++)
        check_post_op(support, dst, entries[i], i);
    return entries;
}

zero_points lower_zero_points(const attribute_support &support, const primitive_attr &attr, int arg,
                              const memory_desc &md) {
    zero_points z{{}, arg};
    const auto found = attr.zero_points().find(arg);
    if (found == attr.zero_points().end())
        return z;
    z.values = found->second;
    check_masked(support, argument_name(arg) + " zero points", z.values, md);
    return z;
}

} // namespace octet::impl
