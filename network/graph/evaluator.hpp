#pragma once // SPDX-License-Identifier: Apache-2.0

// Running one node by itself while a network is being prepared: constants are folded, functions of one code
// become tables. Passes and lowering call it without knowing what runs; `network` hands in the one that there
// is (run/evaluate.cpp).

#include <functional>
#include <optional>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Returns the bytes that a node writes to its first output if its input `varying` holds `values`; its other
/// inputs are constants of `g`. Throws octet::error if the node cannot be executed. `dims` are the dimensions
/// of that input and of the output, if they differ from the tensors' own.
using evaluator = std::function<std::vector<std::uint8_t>(const graph &g, const node &n, std::size_t varying,
                                                          const shared_bytes &values,
                                                          const std::optional<memory::dims> &dims)>;

} // namespace octet::model
