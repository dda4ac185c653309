#pragma once // SPDX-License-Identifier: Apache-2.0

// Execution arguments that attributes add to an operation's tensors.

#include <map>

#include "octet/primitive_attr.hpp"

namespace octet::impl {

/// Run-time scales and zero points, tensors of post-ops, each with its descriptor.
void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args);

} // namespace octet::impl
