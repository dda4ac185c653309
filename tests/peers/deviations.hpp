#pragma once

#include <string>

#include "problem.hpp"

namespace peers {

/// Why oneDNN 2.6.3's implementation does not compute the documented result of this problem bit for bit; null
/// if it does. Each reason was found by experiment; Octet gives the documented result.
const char *deviation(const problem &p, const std::string &implementation);

} // namespace peers
