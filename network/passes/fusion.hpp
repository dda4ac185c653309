#pragma once // SPDX-License-Identifier: Apache-2.0

// Joining operators before a network is lowered, where every byte of its outputs stays the same. Tensors
// between fused operators vanish.

#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Padding with the zero point, before a convolution, becomes padding of the convolution. Comes before
/// layouts are assigned, so that none is chosen for the padded tensor.
void fuse_padding(graph &g);

/// Behind an operator that accumulates, the accumulating primitive does as post-ops
///
///   - a function of single codes (activation, requantization), as a clip or as a table of 256 entries;
///   - the addition of another tensor that nobody reads later, in that tensor's buffer.
///
/// Comes after all other passes, since it reads layouts and the order of nodes. Does nothing under a rule
/// whose post-ops see values that are not yet codes, and leaves the nodes alone that `stay_alone` tells by
/// their number.
void fuse_followers(graph &g, requantization_rule rule, std::vector<bool> stay_alone);

/// Behind a product of matrices or a float convolution, functions and operators with a second tensor of one number
/// per channel, or of the result's shape, become post-ops. Comes after layouts are assigned.
void fuse_floats(graph &g);

} // namespace octet::model
