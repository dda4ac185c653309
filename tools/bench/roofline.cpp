// The longest of three times decides, and its name is what binds.
// SPDX-License-Identifier: Apache-2.0
#include "bench/roofline.hpp"

#include <algorithm>

namespace octet::tools {

double roofline::bound() const { return of_several > 0 ? of_several : std::max({compute, read, write}); }

const char *roofline::binding() const {
    const double longest = bound();
    if (longest <= 0)
        return "";
    return of_several > 0 ? "layers" : longest == compute ? "compute" : longest == read ? "read" : "write";
}

} // namespace octet::tools
