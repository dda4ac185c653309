#pragma once

#include "network/graph/graph.hpp"

namespace octet::model {

/// Nodes that compute integers of sizes alone become constants. Networks of ONNX, before all other passes.
void fold_integers(graph &g);

} // namespace octet::model
