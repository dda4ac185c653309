#pragma once // SPDX-License-Identifier: Apache-2.0

// Deviations of oneDNN from its documentation that the comparison knows. Every entry was found by a random
// problem, traced to one implementation and reproduced by hand; an unexplained difference is a failure.

#include <string>

#include "problem.hpp"

namespace peers {

/// Why oneDNN 2.6.3's implementation does not compute the documented result of this problem bit for bit; null
/// if it does. Each reason was found by experiment; Octet gives the documented result.
const char *deviation(const problem &p, const std::string &implementation);

} // namespace peers
