#pragma once // SPDX-License-Identifier: Apache-2.0

// Inputs and outputs of unknown devices in .npy files.

#include <string>
#include <vector>

#include "match/subject.hpp"

namespace octet::tools {

/// DIR/NAME.npy for each input; the folder is made. Returns the paths.
std::vector<std::string> write_inputs(const match::inputs &all, const std::string &directory);
/// Inputs of a subject, as `write_inputs` wrote them. Throws octet::error for other types and dimensions.
match::inputs read_inputs(const match::subject &s, const std::string &directory);
match::values read_values(const std::string &path);

} // namespace octet::tools
