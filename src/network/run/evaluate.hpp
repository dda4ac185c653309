#pragma once // SPDX-License-Identifier: Apache-2.0

// The evaluator that there is: it lowers the node by itself.

#include "network/graph/evaluator.hpp"

namespace octet::model {

/// See `evaluator`. Throws octet::error if the node cannot be executed.
std::vector<std::uint8_t> evaluate(const graph &g, const node &n, std::size_t varying,
                                   const shared_bytes &values, const std::optional<memory::dims> &dims);

} // namespace octet::model
