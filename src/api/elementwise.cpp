// The common part of element-wise operations: a destination's layout, scales and zero points of tensors, the
// rule.
// SPDX-License-Identifier: Apache-2.0
#include "api/elementwise.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace octet::impl {

memory_desc with_layout_of(const memory_desc &layout, data_type type) {
    memory_desc md = layout;
    md.data_type = type;
    return md;
}

namespace {

/// `any` takes the other tensor's layout.
void resolve_common_layout(const char *operation, memory_desc &src, memory_desc &dst) {
    if (src.format_kind == format_kind::any && dst.format_kind == format_kind::plain)
        src = with_layout_of(dst, src.data_type);
    resolve_activation_layout(src);
    if (dst.format_kind == format_kind::any)
        dst = with_layout_of(src, dst.data_type);
    require_plain(operation, "src", src);
    require_plain(operation, "dst", dst);
    require_no_overlap(operation, dst);
}

} // namespace

void resolve_elementwise(const char *operation, memory_desc &src, memory_desc &dst) {
    require_tensor(operation, "src", src, 1, max_ndims);
    require_tensor(operation, "dst", dst, 1, max_ndims);
    if (!same_dims(src, dst))
        throw_invalid(operation, ": src has dims ", dims_text(src), ", dst ", dims_text(dst));
    require_numbers(operation, "src", src);
    require_numbers(operation, "dst", dst);
    resolve_common_layout(operation, src, dst);
}

void resolve_same_type(const char *operation, memory_desc &src, memory_desc &dst,
                       std::initializer_list<data_type> types) {
    if (!same_dims(src, dst))
        throw_invalid(operation, ": src has dims ", dims_text(src), ", dst ", dims_text(dst));
    require_type(operation, "src", src, types);
    require_type(operation, "dst", dst, {src.data_type});
    resolve_common_layout(operation, src, dst);
}

float tensor_scale(const char *operation, const primitive_attr &attr, int arg, float otherwise) {
    const auto found = attr.scales().find(arg);
    if (found == attr.scales().end()) {
        if (otherwise == 0.f)
            throw_invalid(operation, ": rule ", to_string(attr.rule()), " needs set_scales(",
                          argument_name(arg), ")");
        return otherwise;
    }
    if (found->second.mask != 0)
        throw_invalid(operation, ": ", argument_name(arg), " scales mask is ", found->second.mask,
                      ", allowed: 0");
    if (found->second.runtime)
        throw_unimplemented(operation, ": ", argument_name(arg),
                            " scale is given at execution, implemented: at creation");
    const float scale = found->second.values[0];
    if (scale == 0.f && otherwise == 0.f) // frameworks divide by scales, and take their logarithms
        throw_invalid(operation, ": ", argument_name(arg), " scale is 0 with rule ", to_string(attr.rule()),
                      ", allowed: positive");
    return scale;
}

zero_points tensor_zero_point(const attribute_support &support, const primitive_attr &attr, int arg,
                              const memory_desc &md) {
    zero_points z = lower_zero_points(support, attr, arg, md);
    if (z.values.mask != 0)
        throw_invalid(support.operation, ": ", argument_name(arg), " zero points mask is ", z.values.mask,
                      ", allowed: 0");
    return z;
}

requantization_rule elementwise_rule(const primitive_attr &attr, requantization_rule resolved) {
    return attr.rule() == requantization_rule::automatic && !is_float(resolved) ? unchanged(true) : resolved;
}

void require_operators(const char *operation, requantization_rule rule,
                       std::initializer_list<operators> implemented) {
    const auto is_implemented = [&](const rule_facts &row) {
        return std::find(implemented.begin(), implemented.end(), row.of) != implemented.end();
    };
    if (!is_implemented(facts_of(rule)))
        throw_unimplemented(operation, ": rule ", to_string(rule),
                            ", implemented: ", names_of_rules(is_implemented));
}

} // namespace octet::impl
