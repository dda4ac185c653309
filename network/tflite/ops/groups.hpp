#pragma once // SPDX-License-Identifier: Apache-2.0

// An element's place can decide its arithmetic: LiteRT's kernels for AArch64 round whole groups of elements
// in another way than the elements behind the last group. A primitive has one rule, so a tensor with both
// kinds of elements is computed twice: as a whole by the groups' rule, and by TFLite's rule, from whose
// result the elements behind the last whole group are copied.

#include <functional>

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Elements, or channels, of the node's result behind the last whole group; 0 without groups.
dim_t count_behind_groups(const lowering &l);

/// Adds the primitives that compute the node's result by the rules of the lowering `by` and write it to
/// `to()`. They call `to` last, since a fused sum decides where the buffer lies.
using add_by_rule =
    std::function<void(primitive_step &s, const lowering &by, const std::function<buffer()> &to)>;
/// A node as a step; `dst` describes its output, and has the channels in dimension 1 where groups are of channels.
std::unique_ptr<step> step_in_groups(const lowering &l, const memory::desc &dst, const add_by_rule &add);

} // namespace octet::model
