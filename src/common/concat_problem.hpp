#pragma once // SPDX-License-Identifier: Apache-2.0

// Concatenations, as reorders into parts of the destination.

#include <vector>

#include "common/reorder_problem.hpp"

namespace octet::impl {

/// One reorder per source, into its part of dst; sources are OCTET_ARG_MULTIPLE_SRC + i.
struct concat_problem {
    std::vector<reorder_problem> parts;
};

} // namespace octet::impl
