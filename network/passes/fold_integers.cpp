// Folds integers of known values: their tensors become constants, the nodes that computed them go.
// SPDX-License-Identifier: Apache-2.0

#include "network/passes/fold_integers.hpp"

namespace octet::model {

bool gives_known_integers(const graph &g, const node &n) {
    if (n.outputs.size() != 1 || !output_of(n))
        return false;
    const tensor &y = tensor_at(g, output_of(n));
    return !y.is_constant && !y.data.empty();
}

void fold_integers(graph &g, const folding &before) {
    std::vector<node> kept;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        if (!gives_known_integers(g, g.nodes[i])) {
            kept.push_back(std::move(g.nodes[i]));
            continue;
        }
        if (before)
            for (node &n : before(i))
                kept.push_back(std::move(n));
        tensor_at(g, output_of(g.nodes[i])).is_constant = true;
    }
    g.nodes = std::move(kept);
}

} // namespace octet::model
