#include "api/lowering.hpp"

#include <algorithm>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet::impl {

std::string argument_name(int arg) {
    if (is_multiple_source(arg))
        return "src" + std::to_string(arg - OCTET_ARG_MULTIPLE_SRC);
    switch (arg) {
    case OCTET_ARG_SRC_0:
        return "src";
    case OCTET_ARG_SRC_1:
        return "src1";
    case OCTET_ARG_WEIGHTS:
        return "weights";
    default:
        return "dst";
    }
}

namespace {

masked_values<float> scales_of(const primitive_attr &attr, int arg) {
    const auto found = attr.scales().find(arg);
    return found == attr.scales().end() ? masked_values<float>{} : found->second;
}

/// Scales and multipliers that contradict the rule.
void check_rule_parameters(const attribute_support &support, const primitive_attr &attr,
                           requantization_rule rule) {
    const bool by_argument = !attr.scales().empty();
    if (attr.output_scales().is_set() && by_argument)
        throw_invalid(support.operation,
                      ": both set_output_scales and set_scales are used, allowed: one of them");
    if (attr.output_scales().is_set() && (rule == requantization_rule::f32_v3 || !is_float(rule)))
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " takes no output scales (allowed with f32, ort_f32)",
                      is_fixed_point(rule) ? "; pass multipliers to set_requantization, see from_double"
                                           : "");
    if (by_argument && rule != requantization_rule::f32_v3 && rule != requantization_rule::ort_f32 &&
        support.accumulates)
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " takes no per-argument scales (allowed with f32_v3, ort_f32)");
    if (support.accumulates && is_fixed_point(rule) && !attr.multipliers().is_set())
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " needs multipliers, pass them to set_requantization");
    // Element by element the same rule takes the scales of its tensors.
    if (takes_real_scales(rule) && !attr.real_scales().is_set() &&
        (support.accumulates || !by_argument || rule == requantization_rule::f64_scale))
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " needs real scales, pass them to set_requantization");
}

void check_post_op(const attribute_support &support, const memory_desc &dst, const post_op_entry &entry,
                   int index) {
    const auto fail = [&](const auto &...parts) {
        throw_invalid(support.operation, ": post-op ", index, ": ", parts...);
    };
    const auto check_sum_type = [&](data_type type) {
        if (type != data_type::undef && memory::data_type_size(type) != memory::data_type_size(dst.data_type))
            fail("sum reads the destination as a type of another size");
    };
    if (const auto *op = std::get_if<post_op::sum>(&entry))
        check_sum_type(op->type);
    if ((std::holds_alternative<post_op::qlinear_add>(entry) ||
         std::holds_alternative<post_op::scaled_add>(entry)) &&
        dst.data_type != data_type::s8 && dst.data_type != data_type::u8)
        fail("an addition of codes needs an 8-bit destination");
    if (const auto *op = std::get_if<post_op::rescaled_sum>(&entry)) {
        check_sum_type(op->type);
        if (dst.data_type == data_type::f32 && op->type == data_type::undef)
            fail("rescaled_sum needs an integer destination");
    }
    if (const auto *op = std::get_if<post_op::prelu>(&entry))
        if (op->mask >= 1 << dst.ndims)
            fail("prelu mask ", op->mask, " for ", dst.ndims, " dimensions");
    if (const auto *op = std::get_if<post_op::binary>(&entry)) {
        const memory_desc &src1 = op->src1.data;
        bool fits = src1.ndims == dst.ndims;
        for (int d = 0; fits && d < dst.ndims; d++)
            fits = src1.dims[d] == 1 || src1.dims[d] == dst.dims[d];
        if (!fits)
            fail("binary src1 has dims ", dims_text(src1), ", allowed: ", dims_text(dst),
                 " or 1 in any dimension");
    }
}

} // namespace

requantization_rule resolve_rule(const primitive_attr &attr, const memory_desc &dst,
                                 const memory_desc &bias) {
    if (attr.rule() != requantization_rule::automatic)
        return attr.rule();
    if (!attr.scales().empty())
        return requantization_rule::f32_v3;
    const bool plain = !attr.output_scales().is_set() && attr.get_post_ops().len() == 0 &&
                       (bias.ndims == 0 || is_integer(bias.data_type));
    return plain && dst.data_type == data_type::s32 ? requantization_rule::none : requantization_rule::f32;
}

template <typename T>
void check_masked(const attribute_support &support, const std::string &what, const masked_values<T> &values,
                  const memory_desc &md) {
    if (!values.is_set())
        return;
    if (values.mask >= 1 << md.ndims)
        throw_invalid(support.operation, ": ", what, " mask is ", values.mask, " for dims ", dims_text(md),
                      ", allowed: 0 to ", (1 << md.ndims) - 1);
    const dim_t expected = masked_count(values.mask, md);
    if (!values.runtime && static_cast<dim_t>(values.values.size()) != expected)
        throw_invalid(support.operation, ": ", values.values.size(), " ", what, " with mask ", values.mask,
                      " for dims ", dims_text(md), ", allowed: ", expected);
}
template void check_masked(const attribute_support &, const std::string &, const masked_values<float> &,
                           const memory_desc &);

epilogue lower_epilogue(const attribute_support &support, const primitive_attr &attr, const memory_desc &dst,
                        const memory_desc &bias) {
    epilogue e;
    e.rule = resolve_rule(attr, dst, bias);
    e.dst = dst;
    e.bias = bias;
    check_rule_parameters(support, attr, e.rule);
    const bool bias_in_f32 = e.rule == requantization_rule::f32 || e.rule == requantization_rule::f32_v3;
    const bool any_integer_bias = e.rule == requantization_rule::none && is_integer(bias.data_type);
    if (bias.ndims != 0 && bias.data_type != data_type::s32 && !bias_in_f32 && !any_integer_bias)
        throw_invalid(support.operation, ": bias is ", memory::desc(bias).to_string(), ", allowed with rule ",
                      to_string(e.rule), ": s32 (it is added to the accumulator)");

    e.output_scales = attr.output_scales();
    check_masked(support, "output scales", e.output_scales, dst);
    e.multipliers = attr.multipliers();
    check_masked(support, "multipliers", e.multipliers, dst);
    e.real_scales = attr.real_scales();
    e.real_scales_are_f32 = attr.real_scales_are_f32();
    check_masked(support, "real scales", e.real_scales, dst);

    if (support.accumulates) {
        e.src_scales = scales_of(attr, OCTET_ARG_SRC);
        if (e.src_scales.is_set() && e.src_scales.mask != 0)
            throw_invalid(support.operation, ": src scales mask is ", e.src_scales.mask, ", allowed: 0");
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

void reject_unknown_arguments(const attribute_support &support, const primitive_attr &attr,
                              const std::map<int, const memory_desc *> &known) {
    for (const auto &[arg, values] : attr.scales())
        if (!known.count(arg))
            throw_invalid(support.operation, ": scales of ", argument_name(arg), ", which it does not have");
    for (const auto &[arg, values] : attr.zero_points())
        if (!known.count(arg))
            throw_invalid(support.operation, ": zero points of ", argument_name(arg),
                          ", which it does not have");
}

void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args) {
    const auto vector_of = [](dim_t n, data_type type) { return memory::desc({n}, type, format_tag::a); };
    if (attr.output_scales().runtime)
        args[OCTET_ARG_ATTR_OUTPUT_SCALES] =
            vector_of(masked_count(attr.output_scales().mask, *tensors.at(OCTET_ARG_DST)), data_type::f32);
    for (const auto &[arg, values] : attr.scales())
        if (values.runtime)
            args[OCTET_ARG_ATTR_SCALES | arg] =
                vector_of(masked_count(values.mask, *tensors.at(arg)), data_type::f32);
    for (const auto &[arg, values] : attr.zero_points())
        if (values.runtime)
            args[OCTET_ARG_ATTR_ZERO_POINTS | arg] =
                vector_of(masked_count(values.mask, *tensors.at(arg)), data_type::s32);

    const std::vector<post_op_entry> &ops = attr.get_post_ops().entries();
    for (int i = 0; i < static_cast<int>(ops.size()); i++) {
        const int base = OCTET_ARG_ATTR_MULTIPLE_POST_OP(i);
        if (const auto *op = std::get_if<post_op::binary>(&ops[i]))
            args[base | OCTET_ARG_SRC_1] = op->src1;
        if (const auto *op = std::get_if<post_op::prelu>(&ops[i]))
            args[base | OCTET_ARG_WEIGHTS] = prelu_weights(op->mask, *tensors.at(OCTET_ARG_DST));
    }
}

std::string attribute_text(const primitive_attr &attr) {
    static const char *const names[] = {"sum",   "eltwise",     "binary",       "prelu",
                                        "clip",  "add",         "rescaled_sum", "leaky_relu",
                                        "table", "qlinear_add", "scaled_add"};
    std::string s;
    const auto add = [&s](const std::string &item) { s += (s.empty() ? "" : " ") + item; };
    const auto mask_text = [](int mask, bool runtime) {
        return ":" + std::to_string(mask) + (runtime ? "*" : "");
    };
    if (attr.output_scales().is_set())
        add("attr-oscale" + mask_text(attr.output_scales().mask, attr.output_scales().runtime));
    for (const auto &[arg, v] : attr.scales())
        add("attr-scales:" + argument_name(arg) + mask_text(v.mask, v.runtime));
    for (const auto &[arg, v] : attr.zero_points())
        add("attr-zero-points:" + argument_name(arg) + mask_text(v.mask, v.runtime));
    if (attr.rule() != requantization_rule::automatic)
        add(std::string("attr-rule:") + to_string(attr.rule()));
    std::string chain;
    for (const post_op_entry &entry : attr.get_post_ops().entries())
        chain += (chain.empty() ? "" : "+") + std::string(names[entry.index()]);
    if (!chain.empty())
        add("attr-post-ops:" + chain);
    return s;
}

} // namespace octet::impl
