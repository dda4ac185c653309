#pragma once // SPDX-License-Identifier: Apache-2.0

// Shapes that a TFLite network computes itself, which follow from the sizes of its inputs: Keras' Reshape and
// Flatten with an open batch become SHAPE, STRIDED_SLICE, PACK and RESHAPE.

#include "network/graph/graph.hpp"

namespace octet::model {

struct operator_facts;

/// Puts the integers that a node gives for known ones into `data` of its output, where these are a list or a
/// number; takes away what is no longer known.
void follow_shapes(graph &g, const node &n, const operator_facts &facts);

/// Follows the shapes of all nodes, in order.
void follow_shapes(graph &g);

} // namespace octet::model
