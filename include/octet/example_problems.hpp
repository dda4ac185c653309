#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// A problem as text (octet/problem.hpp), with a name for people.
struct example_problem {
    std::string name;    ///< as in "depthwise convolution"
    std::string problem; ///< a text for `primitive_desc_from_string`
};

/// Returns small, usual problems, at least one of each operation, for probes and as a starting point;
/// `octet info` shows which implementations they get.
OCTET_API std::vector<example_problem> example_problems();

} // namespace v0
} // namespace octet
