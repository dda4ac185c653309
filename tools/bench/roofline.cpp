#include "bench/roofline.hpp"

#include <algorithm>

namespace octet::tools {

double roofline::bound() const { return std::max({compute, read, write}); }

const char *roofline::binding() const {
    const double longest = bound();
    return longest <= 0 ? "" : longest == compute ? "compute" : longest == read ? "read" : "write";
}

} // namespace octet::tools
