#pragma once // SPDX-License-Identifier: Apache-2.0

// Integers that a network computes from sizes alone are known once the sizes of its inputs are:
// `infer_shapes` has left their values in the tensors.

#include <functional>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Whether `infer_shapes` knows what a node computes.
bool gives_known_integers(const graph &g, const node &n);

/// Replaces such nodes by constants with their results. `before` is called for each place before it is
/// folded; a node that it returns stays in its place.
using folding = std::function<std::vector<node>(std::size_t place)>;
void fold_integers(graph &g, const folding &before = {});

} // namespace octet::model
