#pragma once // SPDX-License-Identifier: Apache-2.0

// What passes over a graph need: who writes and reads a tensor, and changes that keep this knowledge right.
// Nodes are removed by `finish`, so indices stay valid while a pass runs.

#include <vector>

#include "network/graph/node_marks.hpp"

namespace octet::model {

class graph_editor {
public:
    explicit graph_editor(graph &g);

    graph &get_graph() { return g_; }
    const graph &get_graph() const { return g_; }
    std::size_t node_count() const { return g_.nodes.size(); }
    const node &at(int index) const { return g_.nodes[static_cast<std::size_t>(index)]; }
    const tensor &tensor_at(int index) const { return g_.tensors[static_cast<std::size_t>(index)]; }
    bool is_removed(int index) const { return is_removed_[static_cast<std::size_t>(index)]; }

    /// The node that writes a tensor; -1 for constants, inputs and absent tensors.
    int producer(int tensor) const;
    /// The only node that reads a tensor, which is not an output of the network; -1 if there is none such.
    int only_consumer(int tensor) const;

    /// Who reads a tensor: node indices, -1 for the network's outputs; a node that reads it twice is there
    /// twice.
    const std::vector<int> &consumers(int tensor) const {
        return consumers_[static_cast<std::size_t>(tensor)];
    }

    int add_tensor(tensor t);
    /// Return the new node's index. Nodes inserted before one node, or behind one node, keep the order in
    /// which they came. Without a number of their own they get that of the node at `index`, and so does a
    /// node that replaces another. Replaced nodes and nodes behind them keep `node_marks::unread`.
    int insert_after(int index, node n);
    int insert_before(int index, node n);
    /// Throw octet::error (runtime_error) for a node that is removed already, which is a mistake of the pass.
    ///@{
    void replace(int index, node n);
    void remove(int index);
    ///@}

    /// The last call: puts nodes behind those that write what they read, drops removed nodes, and, if there
    /// were changes, nodes whose outputs nothing reads, but for those that are `kept_unread`. Returns whether
    /// there were. Throws octet::error (runtime_error) where nodes read each other's results in a ring.
    bool finish();

protected:
    /// How many there were so far.
    std::size_t changes() const { return changes_; }

private:
    void count(const node &n, int index, bool is_there);
    bool is_read(const node &n) const;
    int insert(int before, int behind, node n);
    void need_there(int index, const char *what) const;
    std::vector<int> in_order() const;
    std::vector<int> behind_writers(const std::vector<int> &in_order) const;

    graph &g_;
    std::vector<int> producers_;
    std::vector<std::vector<int>> consumers_;
    std::vector<bool> is_removed_;
    /// The order of execution, as a list of which the entry 0 is both ends: node i has the entry i + 1.
    std::vector<int> next_, previous_;
    std::vector<int> last_behind_; ///< by node, the last that was inserted behind it; itself if none was
    std::size_t changes_ = 0;
};

} // namespace octet::model
