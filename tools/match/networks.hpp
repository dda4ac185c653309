#pragma once // SPDX-License-Identifier: Apache-2.0

// Whole networks: under which runtime or rule a network gives a device's tensors, and where each of the
// others parts from it.

#include <map>
#include <string>
#include <vector>

#include "match/contenders.hpp"
#include "match/values.hpp"
#include "octet/graph.hpp"

namespace octet::match {

inline const model::tensor &tensor_of(const model::graph &g, int index) {
    return g.tensors[static_cast<std::size_t>(index)];
}

/// Tensors that a device computed, by index in the graph.
using known_tensors = std::map<int, values>;

struct network_match {
    std::string name;
    std::string refused;                     ///< why there is no such network; the rest is empty then
    std::string substituted;                 ///< of "A+B": what A has no contract for, which B computes
    std::size_t compared = 0, different = 0; ///< elements of all known tensors
    std::string first; ///< the first operator with an element that differs, and the element; empty: none

    bool is_equal() const { return refused.empty() && different == 0; }
};

/// Runs the network under everything there is; a profile that has no contract for an operator, with each
/// substitute that has one. The best is first: fewest elements that differ. Throws octet::error, with the
/// tensor, for inputs and known tensors of other types or dimensions than the graph's.
std::vector<network_match> match_network(const model::graph &g, const inputs &given,
                                         const known_tensors &known);

} // namespace octet::match
