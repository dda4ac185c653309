#pragma once // SPDX-License-Identifier: Apache-2.0

// How operators do with moved elements: what transposes.cpp decides, moved_node.cpp and transposed_pairs.cpp carry out.

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model::ort {

using order = std::vector<std::int64_t>; ///< of dimensions: `perm` of a Transpose; also axes

/// The order of a Transpose; empty if it is none.
order order_of(const ort_graph &g, node_id transpose);
/// The same of one whose order the file leaves out, too, which TransposeOptimizer does not move.
order meant_order_of(const ort_graph &g, node_id transpose);
order inverse(const order &p);
order composed(const order &first, const order &second);
memory::dims permuted(const memory::dims &dims, const order &p);
/// An order for the tensor with more dimensions, of 1 at `axes`, and for the tensor without its dimensions `axes`.
order with_axes(const order &p, const order &axes);
order without_axes(const order &p, const order &axes);

/// An operator in front of which there is a Transpose, and what becomes of both.
class moved_node {
public:
    /// `inputs` are those that are transposed with it.
    moved_node(ort_graph &g, node_id i, node_id transpose, order p, order inputs)
        : g_(g), i_(i), transpose_(transpose), p_(std::move(p)), back_(inverse(p_)),
          inputs_(std::move(inputs)) {}

    /// Whether it was possible.
    bool pass(passing_kind kind);

private:
    bool pass_axis(std::int64_t fallback);
    bool pass_softmax();
    bool pass_index(bool keeps);
    bool pass_gather();
    bool pass_reduction();
    bool pass_transpose(const order &own);
    bool pass_reshape();
    bool pass_split();
    bool pass_squeeze();
    bool pass_unsqueeze();
    bool pass_slice();
    bool pass_numbers(std::size_t input, std::size_t groups);
    bool raise_ranks();

    void transpose_inputs();
    void transpose_outputs(const order &p);
    void transpose_input(node_id i, std::size_t k, const order &p);
    node_id transpose_output(node_id i, std::size_t k, const order &p);
    void raise_input(std::size_t k, std::size_t count);
    void cancel(node_id last);

    std::optional<order> axes(std::size_t rank) const;
    void set_axes(const order &axes);

    ort_graph &g_;
    const node_id i_, transpose_;
    const order p_, back_, inputs_;
};

/// A Transpose between a DequantizeLinear and a QuantizeLinear has both, or gets the other one; pairs that
/// have come together go.
void repair_pairs(ort_graph &g);
/// DequantizeLinear, node  ->  DequantizeLinear, node, QuantizeLinear, DequantizeLinear; only if one node reads it.
bool add_pair_behind(ort_graph &g, node_id dq);

} // namespace octet::model::ort
