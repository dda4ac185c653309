#pragma once // SPDX-License-Identifier: Apache-2.0

// What the patterns of attentions have in common: attention.cpp (BERT, DistilBERT), attention_gpt2.cpp, attention_mobileclip.cpp.

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model::ort {

/// Looks at a graph around the nodes of one attention.
class attention_pattern {
public:
    explicit attention_pattern(ort_graph &g) : g_(g) {}

protected:
    using numbers = std::vector<std::int64_t>;

    /// The node that writes an input, if it is of an operator; -1. The input has its place.
    int writer(int i, std::size_t input, std::string_view op) const {
        return i < 0 || g_.input(i, input) < 0 ? -1 : g_.writer(g_.input(i, input), op);
    }
    /// Whether one node alone reads what this one writes.
    bool is_inner(int i) const { return i >= 0 && g_.only_consumer(g_.output(i)) >= 0; }
    bool has_order(int transpose, const numbers &order) const {
        return g_.attribute(transpose, "perm", numbers{}) == order;
    }
    /// Axes that an attribute lists, as up to operator set 12, or a constant.
    numbers axes_of(int i) const;
    /// The constant that a Reshape asks for; none if a network computes it.
    numbers shape_of(int reshape) const;
    /// The nodes that read a tensor, but for those that ask for its shape.
    std::vector<int> readers_of_elements(int t) const;
    /// Whether the network asks for the shape of a tensor.
    bool has_shape_read(int t) const;
    void drop_shapes_of(int t);
    /// A mask as integers of 32 bits.
    int as_integers(int mask, int before);

    ort_graph &g_;
};

void form_attention_of_bert(ort_graph &g, int norm);
void form_attention_of_gpt2(ort_graph &g, int norm);
void form_attention_of_mobileclip(ort_graph &g, int product);

} // namespace octet::model::ort
