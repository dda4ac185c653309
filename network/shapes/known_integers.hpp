#pragma once // SPDX-License-Identifier: Apache-2.0

// Integers that are known before a network runs: constants, and what is computed from sizes alone, also through floats.
// Exported networks compute their shapes with ordinary operators, so whoever wants to know the shapes must follow them.

#include <optional>

#include "network/graph/graph.hpp"

namespace octet::model {

struct operator_facts;

/// Integers of a tensor: a constant's, or those that `follow_integers` left in `tensor::data`.
std::optional<std::vector<std::int64_t>> known_integers(const tensor &t);

/// The integers of an input; none of one that is absent or computed.
std::vector<std::int64_t> known_integers_of(const graph &g, const node &n, std::size_t input);

/// Puts what a node gives into `data` of its output, if all that it depends on is known. Shapes of inputs and outputs
/// are there, and fit together.
void follow_integers(graph &g, const node &n, const operator_facts &facts);

} // namespace octet::model
