#pragma once // SPDX-License-Identifier: Apache-2.0

// What passes over a graph need: who writes and reads a tensor, and changes that keep this knowledge right.
// Nodes are removed by `finish`, so indices stay valid while a pass runs.

#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// Attribute of a node that stays though nobody reads its results: to ONNX Runtime it is a reader like others while patterns
/// are looked for. Its value is 1, or `kept_for_sizes`: then it goes with the nodes that read its results' sizes.
inline constexpr const char *kept_unread = "octet.kept_unread";
inline constexpr std::int64_t kept_for_sizes = 2;

/// Attribute of a node whose file names absent inputs at the end, by empty names: how many. ONNX Runtime counts them where it asks for
/// the number of inputs.
inline constexpr const char *absent_inputs = "octet.absent_inputs";

/// Attribute of a Transpose whose file names no order, which shape inference has written.
inline constexpr const char *reversed_by_default = "octet.reversed";

class graph_editor {
public:
    explicit graph_editor(graph &g);

    graph &get_graph() { return g_; }
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
    /// Return the new node's index. Nodes inserted at one place keep the order in which they came; without a
    /// number of their own they get that of the node at `index`, and so does a node that replaces another. Replaced nodes and nodes behind them
    /// keep the mark `kept_unread`.
    int insert_after(int index, node n);
    int insert_before(int index, node n);
    void replace(int index, node n);
    void remove(int index);

    /// The last call: puts nodes behind those that write what they read, drops removed nodes, and, if there were changes, nodes whose
    /// outputs nothing reads, but for those with the attribute `kept_unread`. Returns whether there were.
    bool finish();

protected:
    /// How many there were so far.
    std::size_t changes() const { return changes_; }

private:
    void count(const node &n, int index, bool is_there);
    bool is_read(const node &n) const;
    int insert(std::int64_t place, node n);
    std::vector<std::size_t> behind_writers(const std::vector<std::size_t> &in_order) const;

    graph &g_;
    std::vector<int> producers_;
    std::vector<std::vector<int>> consumers_;
    std::vector<bool> is_removed_;
    std::vector<std::int64_t> order_; ///< of execution; indices of inserted nodes are at the end
    std::size_t changes_ = 0;
};

} // namespace octet::model
