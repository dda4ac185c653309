#pragma once // SPDX-License-Identifier: Apache-2.0

// Checks of an operation's attributes: each throws `invalid_arguments` naming the attribute, what was given
// and what is allowed. Checks of single values are in the setters (primitive_attr.cpp); here values meet the
// tensors and the rule.

#include <map>
#include <string>

#include "api/attributes/support.hpp"
#include "octet/primitive_attr.hpp"

namespace octet::impl {

/// Scales and multipliers that contradict the rule.
void check_rule_parameters(const attribute_support &support, const primitive_attr &attr,
                           requantization_rule rule);

/// A post-op that the destination does not fit.
void check_post_op(const attribute_support &support, const memory_desc &dst, const post_op_entry &entry,
                   int index);

/// The mask's dimensions, and the number of values.
template <typename T>
void check_masked(const attribute_support &support, const std::string &what, const masked_values<T> &values,
                  const memory_desc &md);

/// Quantizers of sources and values with groups, for operations that have none.
void reject_dynamic_attributes(const char *operation, const primitive_attr &attr);

/// Scales and zero points of arguments that the operation does not have.
void reject_unknown_arguments(const attribute_support &support, const primitive_attr &attr,
                              const std::map<int, const memory_desc *> &known);

} // namespace octet::impl
