// Shapes that a network computes are known once the sizes of its inputs are: `infer_shapes` has left their values in the
// tensors. Here they become constants, and the nodes that gave them go.
// SPDX-License-Identifier: Apache-2.0
#include "network/passes/fold_integers.hpp"

#include <algorithm>

namespace octet::model {

std::set<int> fold_integers(graph &g) {
    std::set<int> folded;
    const auto is_known = [&](int t) {
        const tensor &x = g.tensors.at(static_cast<std::size_t>(t));
        return !x.is_constant && !x.data.empty();
    };
    const auto last = std::remove_if(g.nodes.begin(), g.nodes.end(), [&](const node &n) {
        if (n.outputs.size() != 1 || !is_known(n.outputs[0]))
            return false;
        g.tensors[static_cast<std::size_t>(n.outputs[0])].is_constant = true;
        folded.insert(n.outputs[0]);
        return true;
    });
    g.nodes.erase(last, g.nodes.end());
    return folded;
}

} // namespace octet::model
