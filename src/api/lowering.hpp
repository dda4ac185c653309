#pragma once // SPDX-License-Identifier: Apache-2.0

// From attributes to what a problem holds: the epilogue and the zero points of inputs.

#include "api/attributes/checks.hpp"
#include "common/epilogue.hpp"
#include "common/problem.hpp"

namespace octet::impl {

/// The rule that `automatic` stands for. `bias` as in `lower_epilogue`.
requantization_rule resolve_rule(const attribute_support &support, const primitive_attr &attr,
                                 const memory_desc &dst, const memory_desc &bias);

/// Checks the attributes against the operation and lowers them. `bias` is the zero descriptor without one,
/// else in dst's rank. Throws `invalid_arguments` naming the attribute.
epilogue lower_epilogue(const attribute_support &support, const primitive_attr &attr, const memory_desc &dst,
                        const memory_desc &bias);

/// The post-ops, checked against the destination.
std::vector<post_op_entry> lower_post_ops(const attribute_support &support, const primitive_attr &attr,
                                          const memory_desc &dst);

/// Zero points of an input, checked against its dims.
zero_points lower_zero_points(const attribute_support &support, const primitive_attr &attr, int arg,
                              const memory_desc &md);

} // namespace octet::impl
