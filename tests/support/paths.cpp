// SPDX-License-Identifier: Apache-2.0
#include "paths.hpp"

#include <filesystem>

namespace octet::tests {

std::string source_path(const std::string &relative) { return OCTET_SOURCE_DIR "/" + relative; }

std::string shared_path() { return OCTET_SHARED_DIR; }

std::string program_path(const std::string &relative) {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / relative;
}

} // namespace octet::tests
