// Checks of attributes against tensors and rule. A primitive_attr is made before anybody knows which
// operation it is for, so all that depends on dims, types or the rule is found here, at the creation of a
// primitive descriptor.
// SPDX-License-Identifier: Apache-2.0
#include "api/attributes/checks.hpp"

#include "api/attributes/arguments.hpp"
#include "api/attributes/derived.hpp"
#include "common/element.hpp"
#include "common/layout/layout.hpp"
#include "common/post_ops.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"

namespace octet::impl {

void check_rule_parameters(const attribute_support &support, const primitive_attr &attr,
                           requantization_rule rule) {
    const bool by_argument = !attr.scales().empty();
    const rule_facts &facts = facts_of(rule);
    if (attr.output_scales().is_set() && by_argument)
        throw_invalid(support.operation,
                      ": both set_output_scales and set_scales are used, allowed: one of them");
    if (attr.output_scales().is_set() && !facts.f32.takes_output_scales)
        throw_invalid(support.operation, ": rule ", to_string(rule), " takes no output scales (allowed with ",
                      names_of_rules([](const rule_facts &row) { return row.f32.takes_output_scales; }), ")",
                      is_fixed_point(rule) ? "; pass multipliers to set_requantization, see from_double"
                                           : "");
    const bool derives = by_argument && support.accumulates && derives_from_scales(rule);
    if (by_argument && !derives && !facts.f32.takes_argument_scales && support.accumulates)
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " takes no per-argument scales (allowed with ",
                      names_of_rules([](const rule_facts &row) {
                          return row.f32.takes_argument_scales || derives_from_scales(row.rule);
                      }),
                      ")");
    if (derives && (attr.multipliers().is_set() || attr.real_scales().is_set()))
        throw_invalid(support.operation, ": both ", is_fixed_point(rule) ? "multipliers" : "real scales",
                      " and set_scales are used, allowed: one of them");
    if (support.accumulates && is_fixed_point(rule) && !derives && !attr.multipliers().is_set())
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " needs multipliers, pass them to set_requantization");
    const bool tensors_scale =
        derives || (by_argument && facts.real.takes_tensor_scales && !support.accumulates);
    if (takes_real_scales(rule) && !attr.real_scales().is_set() && !tensors_scale)
        throw_invalid(support.operation, ": rule ", to_string(rule),
                      " needs real scales, pass them to set_requantization");
}

void check_post_op(const attribute_support &support, const memory_desc &dst, const post_op_entry &entry,
                   int index) {
    const auto fail = [&](const auto &...parts) {
        throw_invalid(support.operation, ": post-op ", index, ": ", parts...);
    };
    const post_op_facts &facts = facts_of(entry);
    if (depthwise_of(entry))
        throw_unimplemented(support.operation, ": post-op ", index,
                            ": a depthwise convolution, implemented: one in a chain of a convolution");
    if (const std::optional<data_type> type = type_of_dst_before(entry)) {
        if (*type != data_type::undef &&
            (memory::data_type_size(*type) != memory::data_type_size(dst.data_type) ||
             elements_per_byte(*type) != elements_per_byte(dst.data_type)))
            fail("sum reads the destination as a type of another size");
        if (!facts.gives_f32 && is_real(dst.data_type) && *type == data_type::undef)
            fail(facts.name, " needs an integer destination");
    }
    if (facts.adds_codes && dst.data_type != data_type::s8 && dst.data_type != data_type::u8)
        fail("an addition of codes needs an 8-bit destination");
    if (const std::optional<int> mask = weights_mask_of(entry); mask && *mask >= 1 << dst.ndims)
        fail(facts.name, " mask ", *mask, " for ", dst.ndims, " dimensions");
    if (const memory_desc *src1 = src1_of(entry)) {
        bool fits = src1->ndims == dst.ndims;
        for (int d = 0; fits && d < dst.ndims; d++)
            fits = src1->dims[d] == 1 || src1->dims[d] == dst.dims[d];
        if (!fits)
            fail("binary src1 has dims ", dims_text(*src1), ", allowed: ", dims_text(dst),
                 " or 1 in any dimension");
    }
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
template void check_masked(const attribute_support &, const std::string &, const masked_values<double> &,
                           const memory_desc &);
template void check_masked(const attribute_support &, const std::string &,
                           const masked_values<std::int32_t> &, const memory_desc &);
template void check_masked(const attribute_support &, const std::string &,
                           const masked_values<fixed_point_multiplier> &, const memory_desc &);

void reject_dynamic_attributes(const char *operation, const primitive_attr &attr) {
    if (attr.get_source_quantization() || attr.get_combination())
        throw_unimplemented(operation,
                            ": set_source_quantization and set_combination, implemented: matmul and ",
                            "inner_product with float src and weights of codes");
    const auto check = [&](const char *what, const auto &values) {
        for (const auto &[arg, v] : values)
            if (v.type != data_type::undef)
                throw_unimplemented(operation, ": ", what, " of ", argument_name(arg),
                                    " with groups or a type, implemented: with ",
                                    "set_source_quantization, and of reorders to packed weights");
    };
    check("scales", attr.scales());
    check("zero points", attr.zero_points());
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

} // namespace octet::impl
