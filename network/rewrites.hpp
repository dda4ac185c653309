#pragma once // SPDX-License-Identifier: Apache-2.0

// The changes that a framework's own rewrites made to a graph, for those who compare with the framework
// (`octet inspect --passes`, `octet check`).

#include <string>
#include <vector>

namespace octet::model {

struct rewrite_history {
    std::vector<std::string> passes;    ///< that changed the graph, in order: "L1.2 ConstantFolding"
    std::vector<std::string> operators; ///< that are left, one for each node
};

} // namespace octet::model
