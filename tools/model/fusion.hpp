#pragma once

// Joining operators before a network is lowered, where every byte of its outputs stays the same:
//
//   - padding with the zero point, before a convolution: becomes padding of the convolution;
//   - a function of single codes (activation, requantization), behind an operator that accumulates: the
//     accumulating primitive applies it to each result, as a clip or as a table of 256 entries.
//
// Tensors between joined operators vanish.

#include "model/lowering.hpp"

namespace octet::model {

/// The last pass over a graph: layouts are assigned. Does nothing to accumulating operators under a rule
/// whose post-ops see values that are not yet codes.
void fuse(graph &g, requantization_rule rule);

/// Makes the post-ops of what is fused behind the node of `l`; `attr` has all else.
void append_fused(primitive_attr &attr, const lowering &l);

} // namespace octet::model
