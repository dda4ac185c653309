// Flags, epsilon and operands that batch and layer normalization share.
// SPDX-License-Identifier: Apache-2.0
#include "api/normalization.hpp"

#include <limits>

#include "api/elementwise.hpp"
#include "common/text.hpp"

namespace octet::impl {

namespace {

using flags_t = normalization_flags;

} // namespace

void check_flags(const char *operation, flags_t flags, flags_t allowed) {
    if ((flags & allowed) != flags)
        throw_invalid(operation, ": flags are ", static_cast<unsigned>(flags), " (", to_string(flags),
                      "), allowed: ", to_string(allowed));
    if (has(flags, flags_t::use_scale_shift) && has(flags, flags_t::use_scale | flags_t::use_shift))
        throw_invalid(operation, ": flags are ", to_string(flags),
                      ", allowed: use_scale_shift, or use_scale and use_shift");
}

void check_epsilon(const char *operation, float epsilon) {
    if (!(epsilon >= 0.f) || epsilon > std::numeric_limits<float>::max())
        throw_invalid(operation, ": epsilon is ", epsilon, ", allowed: 0 and above");
}

operand_tensors::operand_tensors(flags_t flags, dim_t channels) {
    operands.are_joined = has(flags, flags_t::use_scale_shift);
    operands.has_scale = has(flags, flags_t::use_scale | flags_t::use_scale_shift);
    operands.has_shift = has(flags, flags_t::use_shift | flags_t::use_scale_shift);
    vector = memory::desc({channels}, data_type::f32, format_tag::a).data;
    joined = memory::desc({2, channels}, data_type::f32, format_tag::ab).data;
}

void operand_tensors::add_to(tensor_map &tensors) const {
    if (operands.are_joined)
        tensors[OCTET_ARG_SCALE_SHIFT] = &joined;
    if (operands.has_scale && !operands.are_joined)
        tensors[OCTET_ARG_SCALE] = &vector;
    if (operands.has_shift && !operands.are_joined)
        tensors[OCTET_ARG_SHIFT] = &vector;
}

namespace {

/// Scales, zero points or multipliers.
bool has_numbers(const primitive_attr &attr) {
    return attr.output_scales().is_set() || !attr.scales().empty() || !attr.zero_points().empty() ||
           attr.multipliers().is_set() || attr.real_scales().is_set() || !attr.input_multipliers().empty();
}

} // namespace

void require_no_attributes(const char *operation, const primitive_attr &attr) {
    if (attr.rule() != requantization_rule::automatic || has_numbers(attr) || attr.get_post_ops().len() != 0)
        throw_unimplemented(operation, ": attributes, implemented: none");
}

epilogue lower_post_ops_alone(const char *operation, const primitive_attr &attr, const memory_desc &dst,
                              operators other) {
    const requantization_rule rule =
        attr.rule() == requantization_rule::automatic ? unchanged(true) : attr.rule();
    require_operators(operation, rule, {operators::reals, other});
    if (has_numbers(attr))
        throw_unimplemented(operation, ": attributes other than post-ops");
    attribute_support support{operation};
    support.accumulates = false;
    epilogue out;
    out.rule = rule;
    out.dst = dst;
    out.post_ops = lower_post_ops(support, attr, dst);
    return out;
}

} // namespace octet::impl
