#pragma once // SPDX-License-Identifier: Apache-2.0

// The weights that a network multiplies behind a node, which the node's product may fetch meanwhile.

#include "network/graph/graph.hpp"

namespace octet::model {

/// The bytes of the weights behind node `n` of the graph, for primitive_attr::set_prefetched_bytes: 0 if they are the
/// node's own, if nodes between the two write more than caches keep, or at a level whose kernels fetch nothing.
dim_t bytes_of_next_weights(const graph &g, const node &n);

} // namespace octet::model
