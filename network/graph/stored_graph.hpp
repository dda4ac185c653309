#pragma once // SPDX-License-Identifier: Apache-2.0

// A graph while nobody uses it. A network keeps the one that it was read from for other sizes; as values with room for
// whatever a tensor may have that takes several times as much, which counts where weights are few.

#include <memory>
#include <string>
#include <vector>

#include "octet/graph.hpp"

namespace octet::model {

/// Gives back what it was made of, elements of constants at the same addresses.
class stored_graph {
public:
    explicit stored_graph(const graph &g);
    graph get() const;

private:
    std::string fields_;                                   ///< one after the other
    std::vector<shared_bytes> constants_;                  ///< in the order of the tensors
    std::vector<std::shared_ptr<const node_marks>> marks_; ///< in the order of the nodes
    std::shared_ptr<const saved_plan> saved_;
};

} // namespace octet::model
