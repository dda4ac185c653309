#pragma once // SPDX-License-Identifier: Apache-2.0

// Execution arguments: their names in texts, and those that attributes add to an operation's tensors.

#include <map>
#include <string>

#include "octet/primitive_attr.hpp"

namespace octet::impl {

/// Run-time scales and zero points, tensors of post-ops, each with its descriptor.
void add_attribute_arguments(const primitive_attr &attr, const std::map<int, const memory_desc *> &tensors,
                             std::map<int, memory::desc> &args);

/// "src", "weights", "src3" (of sum and concat), …: the tensor of an execution argument; and back, given whether
/// the operation has numbered sources. Unknown names throw `invalid_arguments`.
std::string argument_name(int arg);
int argument_of(const std::string &name, bool has_numbered_sources);

} // namespace octet::impl
