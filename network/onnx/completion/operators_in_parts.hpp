#pragma once // SPDX-License-Identifier: Apache-2.0

// Operators of ONNX Runtime's own set that are several others in one node, and outputs that say nothing.

#include "octet/graph.hpp"

namespace octet::model {

/// Puts what a node consists of in its place, which computes the same to the last bit; before shapes are inferred.
void expand_operators_in_parts(graph &g);

} // namespace octet::model
