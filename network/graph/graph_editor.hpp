#pragma once // SPDX-License-Identifier: Apache-2.0

// Tells passes who writes and who reads a tensor, and changes a graph so that these answers stay right. Nodes
// are removed only by `finish`, so indices stay valid while a pass runs.

#include <vector>

#include "network/graph/node_marks.hpp"

namespace octet::model {

class graph_editor {
public:
    explicit graph_editor(graph &g);

    graph &get_graph() { return g_; }
    const graph &get_graph() const { return g_; }
    std::size_t node_count() const { return g_.nodes.size(); }
    const node &at(node_id i) const { return node_at(g_, i); }
    const tensor &tensor_at(tensor_id t) const { return model::tensor_at(g_, t); }
    tensor_ids inputs(node_id i) const { return inputs_of(at(i)); }
    tensor_ids outputs(node_id i) const { return outputs_of(at(i)); }
    /// None of none, and where the node has no such input or output.
    ///@{
    tensor_id input(node_id i, std::size_t k) const { return i ? input_of(at(i), k) : tensor_id(); }
    tensor_id output(node_id i, std::size_t k = 0) const { return i ? output_of(at(i), k) : tensor_id(); }
    ///@}
    bool is_removed(node_id i) const { return is_removed_[i.index()]; }

    /// The node that writes a tensor; none for constants, inputs and absent tensors.
    node_id producer(tensor_id t) const { return t ? producers_[t.index()] : node_id(); }
    /// The only node that reads a tensor, which is not an output of the network; none if there is none such, and
    /// for an absent tensor.
    node_id only_consumer(tensor_id t) const;

    /// Who reads a tensor: nodes, and none for the network's outputs; a node that reads it twice is there twice.
    const std::vector<node_id> &consumers(tensor_id t) const { return consumers_[t.index()]; }

    tensor_id add_tensor(tensor t);
    /// Return the new node. Nodes inserted before one node, or behind one node, keep the order in which they
    /// came. Without a number of their own they get that of the node at `place`, and so does a node that replaces
    /// another. Replaced nodes and nodes behind them keep `node_marks::unread`.
    node_id insert_after(node_id place, node n);
    node_id insert_before(node_id place, node n);
    /// Throw octet::error (runtime_error) for a node that is removed already, which is a mistake of the pass.
    ///@{
    void replace(node_id i, node n);
    void remove(node_id i);
    ///@}

    /// The last call: puts nodes behind those that write what they read, drops removed nodes, and, if there
    /// were changes, nodes whose outputs nothing reads, but for those that are `kept_unread`. Returns whether
    /// there were. Throws octet::error (runtime_error) where nodes read each other's results in a ring.
    bool finish();

protected:
    /// How many there were so far.
    std::size_t changes() const { return changes_; }

private:
    /// An entry of the list of nodes in the order of execution, whose entry 0 is both ends.
    static std::size_t entry_of(node_id i) { return i.index() + 1; }

    void count(const node &n, node_id i, bool is_there);
    bool is_read(const node &n) const;
    node_id insert(std::size_t before, std::size_t behind, node n);
    void need_there(node_id i, const char *what) const;
    std::vector<node_id> in_order() const;
    std::vector<node_id> behind_writers(const std::vector<node_id> &in_order) const;

    graph &g_;
    std::vector<node_id> producers_;
    std::vector<std::vector<node_id>> consumers_;
    std::vector<bool> is_removed_;
    std::vector<std::size_t> next_, previous_; ///< by entry
    std::vector<node_id> last_behind_; ///< the last that was inserted behind a node; itself if none was
    std::size_t changes_ = 0;
};

} // namespace octet::model
