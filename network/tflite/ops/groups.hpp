#pragma once // SPDX-License-Identifier: Apache-2.0

// Operators whose elements are computed by their place: LiteRT's kernels for AArch64 round otherwise in whole groups of elements than
// behind them. A primitive has one rule, so a tensor with both is computed twice: by the groups' rule as a whole, then what lies behind
// the last whole group is copied from a result by TFLite's.

#include <functional>

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Elements, or channels, of the node's result behind the last whole group; 0 without groups.
dim_t count_behind_groups(const lowering &l);

/// Adds the primitives by the rule of a lowering that give the node's result in a buffer. That is asked for last, since a fused sum
/// decides where it lies.
using add_by_rule =
    std::function<void(primitive_step &s, const lowering &by, const std::function<buffer()> &to)>;
/// A node as a step; `dst` describes its output, and has the channels in dimension 1 where groups are of channels.
std::unique_ptr<step> step_in_groups(const lowering &l, const memory::desc &dst, const add_by_rule &add);

} // namespace octet::model
