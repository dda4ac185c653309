#include "paths.hpp"

namespace octet::tests {

std::string source_path(const std::string &relative) { return OCTET_SOURCE_DIR "/" + relative; }

std::string shared_path() { return OCTET_SHARED_DIR; }

} // namespace octet::tests
