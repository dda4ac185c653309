#pragma once // SPDX-License-Identifier: Apache-2.0

// Makes post-ops of the nodes that the pass `fuse_followers` fused into a node that gives codes.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Codes as post-ops compute them: less `zero_point`, which is added in the end.
struct fused_codes {
    post_ops ops;
    std::int32_t zero_point;
};

/// Appends the addition of the codes so far and those in the output's buffer, whichever is a, as the
/// framework of `add` has it.
using fused_sum = void (*)(fused_codes &codes, const lowering &add);

/// Makes the post-ops of what is fused behind the node of `l`; `attr` has all else. With a sum the output
/// gets the other tensor's buffer, so this comes before the output's memory is asked for.
void append_fused(primitive_attr &attr, const lowering &l, fused_sum append_sum);

} // namespace octet::model
