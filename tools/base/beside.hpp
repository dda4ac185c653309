#pragma once // SPDX-License-Identifier: Apache-2.0

// Libraries that programs of others load and that come with this command.

#include <string>

namespace octet::tools {

/// The path of a library, beside the command as it was built (in `built`, from the build's folder) or as it
/// was installed. Throws octet::error, with the sentence `otherwise` on how to get it, if it is at neither
/// place.
std::string library_beside(const std::string &name, const std::string &built, const std::string &otherwise);

} // namespace octet::tools
