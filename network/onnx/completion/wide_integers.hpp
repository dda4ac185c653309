#pragma once // SPDX-License-Identifier: Apache-2.0

// INT64 is s32 here, so sums and products of INT64 must not wrap around where INT32's do.

#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Marks nodes that add, subtract or multiply INT64 `node_marks::is_wide`. `is_wide` says by tensor which
/// inputs and constants of the file are INT64; what nodes give follows from it. Throws `unimplemented` where
/// a node computes with a constant that 32 bits may not hold.
void mark_wide_integers(graph &g, std::vector<bool> is_wide);

} // namespace octet::model
