#pragma once // SPDX-License-Identifier: Apache-2.0

// Attributes as text and back, for verbose lines and octet/problem.hpp. doc/verbose.md describes the tokens.

#include <map>
#include <string>
#include <vector>

#include "api/attributes/arguments.hpp"

namespace octet::impl {

/// "output_scales:2:0.5/0.25 zero_points:dst:0:* post_op:eltwise_relu:0:0:1": tokens separated by spaces, empty
/// without attributes. Up to 8 values are written out; of more, "lowest..highest" is kept.
std::string attribute_text(const primitive_attr &attr);

/// Reads such tokens of an operation with these tensors, which tell how many values a mask has. Throws
/// `invalid_arguments` naming the token that is no attribute or a wrong one.
primitive_attr attributes_from_text(const std::vector<std::string> &tokens, bool has_numbered_sources,
                                    const std::map<int, memory::desc> &tensors);

} // namespace octet::impl
