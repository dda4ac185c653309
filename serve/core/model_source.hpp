#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>

namespace octet::serve {

/// The source of a model: a file, or bytes of the program's own.
struct model_source {
    std::string name, version = "1";
    std::string path;
    std::string bytes; ///< used if there is no path
};

} // namespace octet::serve
