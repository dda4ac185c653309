#pragma once // SPDX-License-Identifier: Apache-2.0

#include "base/json.hpp"

namespace octet::tools {

/// Prints what the reference implementation computes on this machine, and why generated code refuses it.
void print_reference();
/// {"problems", "reference": [{"problem", "what", "refusals"}]}
json reference_json();

} // namespace octet::tools
