// Looks beside the command first, then where a build and an installation put libraries.
// SPDX-License-Identifier: Apache-2.0
#include "base/beside.hpp"

#include <filesystem>

#include "octet/error.hpp"

namespace octet::tools {

namespace fs = std::filesystem;

std::string library_beside(const std::string &name, const std::string &built, const std::string &otherwise) {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    for (const std::string &place :
         {std::string("."), "../" + built, std::string("../" OCTET_LIBRARY_DIR), std::string("../lib")})
        if (const fs::path path = here / place / name; fs::exists(path))
            return fs::canonical(path).string();
    throw error(status::runtime_error,
                name + " is neither beside the command nor in the library directory of its installation; " +
                    otherwise);
}

} // namespace octet::tools
