#pragma once // SPDX-License-Identifier: Apache-2.0

// The evaluator that there is: it lowers the node by itself.

#include "network/graph/evaluator.hpp"

namespace octet::model {

struct runtime;

/// See `evaluator`. As the runtime computes the node; null: by the operator's own contract. Throws octet::error if the node
/// cannot be executed.
std::vector<std::uint8_t> evaluate(const graph &g, const node &n, std::size_t varying,
                                   const shared_bytes &values, const std::optional<memory::dims> &dims,
                                   const runtime *under = nullptr);

} // namespace octet::model
