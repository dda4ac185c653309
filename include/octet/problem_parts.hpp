#pragma once // SPDX-License-Identifier: Apache-2.0

#include <map>
#include <string>

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// The primitive descriptor of a problem in parts, for bindings that treat all operations alike: `operation`
/// and `parameters` have the names and texts of `primitive_desc_from_string` (octet/problem.hpp); a parameter
/// that is left out has its default there. `tensors` are those that the operation describes, by execution
/// argument; mean, variance, scale and shift of normalizations follow from the parameter "flags".
///
/// Throws `invalid_arguments` for names that do not exist and texts that do not fit, and what the operation's
/// own primitive descriptor throws. With `allow_empty`, a problem that no implementation takes gives an empty
/// one.
OCTET_API primitive_desc primitive_desc_from_parts(const std::string &operation,
                                                   const std::map<int, memory::desc> &tensors,
                                                   const std::map<std::string, std::string> &parameters,
                                                   const primitive_attr &attr, const engine &e,
                                                   bool allow_empty = false);

} // namespace v0
} // namespace octet
