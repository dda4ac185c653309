#pragma once // SPDX-License-Identifier: Apache-2.0

// The evaluators that there are: they lower the node by itself.

#include "network/graph/evaluator.hpp"

namespace octet::model {

class runtime;

/// See `evaluator`: by the operator's own lowering.
std::vector<std::uint8_t> evaluate(const graph &g, const node &n, std::size_t varying,
                                   const shared_bytes &values, const std::optional<memory::dims> &dims);

/// An evaluator that computes nodes as a runtime does.
evaluator evaluator_under(std::shared_ptr<const runtime> under);

} // namespace octet::model
