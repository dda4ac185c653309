#pragma once // SPDX-License-Identifier: Apache-2.0

#include <set>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Nodes that compute integers of sizes alone become constants. Networks of ONNX, before all other passes. Returns
/// what became one.
std::set<int> fold_integers(graph &g);

} // namespace octet::model
