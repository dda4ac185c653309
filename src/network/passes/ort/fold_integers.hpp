#pragma once // SPDX-License-Identifier: Apache-2.0

#include <map>
#include <set>
#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Constants that a network computes from sizes of its tensors.
struct sized_constants {
    std::set<int> tensors;
    /// The dimensions that follow such values, of constants whose shape does, too (positions up to a computed end).
    std::map<int, std::vector<bool>> open_dims;
};

/// Which dimensions of what a node writes follow the values of its inputs that are among `sized`, or their open dimensions.
/// Reshape has a rule of its own and is not asked.
std::vector<bool> open_dims(const graph &g, const node &n, const sized_constants &sized);

/// Nodes that compute integers of sizes alone become constants. A Shape that ONNX Runtime keeps stays beside its constant, since it
/// reads a tensor that passes want to replace. Networks of ONNX, before all other passes. Returns what became a constant.
sized_constants fold_integers(graph &g);

} // namespace octet::model
