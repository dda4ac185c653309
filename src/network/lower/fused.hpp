#pragma once // SPDX-License-Identifier: Apache-2.0

// What the passes `fuse_followers` and `fuse_floats` fuse into a node, as post-ops of its primitive.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Makes the post-ops of what is fused behind the node of `l`; `attr` has all else. With a sum the output
/// gets the other tensor's buffer, so this comes before the output's memory is asked for.
void append_fused(primitive_attr &attr, const lowering &l);

/// Appends what is fused behind a result of floats, whose tensors become arguments.
void append_float_followers(primitive_attr &attr, arguments &args, const lowering &l,
                            const memory::desc &dst);

} // namespace octet::model
