#pragma once // SPDX-License-Identifier: Apache-2.0

// What the patterns of attentions have in common: attention.cpp (BERT, DistilBERT), attention_gpt2.cpp,
// attention_mobileclip.cpp.

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model::ort {

/// Looks at a graph around the nodes of one attention.
class attention_pattern {
public:
    explicit attention_pattern(ort_graph &g) : g_(g) {}

protected:
    using numbers = std::vector<std::int64_t>;

    /// The node that writes an input, if it is of an operator.
    node_id writer(node_id i, std::size_t input, std::string_view op) const {
        return g_.writer(g_.input(i, input), op);
    }
    /// Whether one node alone reads what this one writes.
    bool is_inner(node_id i) const { return i && g_.only_consumer(g_.output(i)); }
    bool has_order(node_id transpose, const numbers &order) const {
        return g_.attribute(transpose, "perm", numbers{}) == order;
    }
    /// Axes that an attribute lists, as up to operator set 12, or a constant.
    numbers axes_of(node_id i) const;
    /// The integers of a constant; none if a network computes it.
    numbers given_integers(tensor_id t) const;
    numbers shape_of(node_id reshape) const { return given_integers(g_.input(reshape, 1)); }
    /// The nodes that read a tensor, but for those that ask for its shape.
    std::vector<node_id> readers_of_elements(tensor_id t) const;
    /// Whether the network asks for the shape of a tensor.
    bool has_shape_read(tensor_id t) const;
    void drop_shapes_of(tensor_id t);
    /// A mask as integers of 32 bits.
    tensor_id as_integers(tensor_id mask, node_id before);

    ort_graph &g_;
};

void form_attention_of_bert(ort_graph &g, node_id norm);
void form_attention_of_gpt2(ort_graph &g, node_id norm);
void form_attention_of_mobileclip(ort_graph &g, node_id product);

} // namespace octet::model::ort
