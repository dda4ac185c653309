#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of the fronts of element-wise operations: layouts, and scales and zero points per tensor.

#include "api/front.hpp"
#include "common/rules.hpp"

namespace octet::impl {

/// Equal shapes in plain layouts; `any` takes the other tensor's layout, or channels-last.
void resolve_elementwise(const char *operation, memory_desc &src, memory_desc &dst);

/// The same for operations whose dst has src's type, one of `types`. Both are tensors.
void resolve_same_type(const char *operation, memory_desc &src, memory_desc &dst,
                       std::initializer_list<data_type> types);

/// Scale of one argument, per tensor and given at creation. `otherwise` without one; 0: it is required.
float tensor_scale(const char *operation, const primitive_attr &attr, int arg, float otherwise = 0.f);

/// Zero point of one argument, per tensor.
zero_points tensor_zero_point(const attribute_support &support, const primitive_attr &attr, int arg,
                              const memory_desc &md);

/// The rule of an operation without accumulator: `automatic` never means `none`.
requantization_rule elementwise_rule(const primitive_attr &attr, requantization_rule resolved);

/// Throws `unimplemented` unless the rule stands for one of these operators; the message names the rules that do.
void require_operators(const char *operation, requantization_rule rule,
                       std::initializer_list<operators> implemented);

/// `layout` for a tensor of the same shape but its own type.
memory_desc with_layout_of(const memory_desc &layout, data_type type);

} // namespace octet::impl
