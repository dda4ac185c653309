#pragma once // SPDX-License-Identifier: Apache-2.0

// A graph as ONNX Runtime's transformers see it: an editor that answers their questions about neighbours, constants,
// open sizes, and pairs of QuantizeLinear and DequantizeLinear.

#include <algorithm>
#include <optional>
#include <set>

#include "network/dialect.hpp"
#include "network/graph/evaluator.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/onnx/rewrites/sized_constants.hpp"
#include "octet/network.hpp"

namespace octet::model {

/// Codes with their scale and zero point: what a DequantizeLinear reads, or a QuantizeLinear writes.
struct quantized {
    tensor_id codes, scale, zero_point;
    std::int64_t axis; ///< of a scale per channel
};

/// Knowledge of each dimension of each tensor: 0 for a size, above 0 the number of a name, -1 for nothing, -2
/// in a tensor of unknown rank. All stand in one list, since it is made anew with each change of a graph.
class dim_symbols {
public:
    dim_symbols() = default;
    /// All are sizes.
    explicit dim_symbols(const std::vector<tensor> &tensors) : first_(1, 0) {
        first_.reserve(tensors.size() + 1);
        for (const tensor &t : tensors)
            first_.push_back(first_.back() + t.dims.size());
        all_.resize(first_.back());
    }

    class of_tensor {
    public:
        of_tensor(int *begin, int *end) : begin_(begin), end_(end) {}
        int *begin() const { return begin_; }
        int *end() const { return end_; }
        std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
        bool empty() const { return begin_ == end_; }
        int &operator[](std::size_t dim) const { return begin_[dim]; }
        std::vector<int> list() const { return {begin_, end_}; }
        /// Copies the symbols of another tensor, or a list, which must have as many dimensions.
        template <typename List> void assign(const List &l) const { std::copy(l.begin(), l.end(), begin_); }

    private:
        int *begin_, *end_;
    };
    of_tensor operator[](tensor_id id) {
        const std::size_t t = id.index();
        return {all_.data() + first_[t], all_.data() + first_[t + 1]};
    }
    /// Returns the symbol of a dimension; 0 if the tensor or the dimension does not exist.
    int at(tensor_id id, std::size_t dim) const {
        const std::size_t t = id.index();
        return t + 1 < first_.size() && dim < first_[t + 1] - first_[t] ? all_[first_[t] + dim] : 0;
    }

private:
    std::vector<std::size_t> first_; ///< of each tensor's, and the end
    std::vector<int> all_;
};

class ort_graph : public graph_editor {
public:
    /// `from_sizes`: constants that the network computes from open sizes, if there may be such.
    ort_graph(graph &g, const evaluator &e, const sized_constants *from_sizes = nullptr,
              network_options how = {}, std::set<tensor_id> *folded = nullptr)
        : graph_editor(g), evaluate(e), options(std::move(how)), from_sizes_(from_sizes), folded_(folded),
          first_inserted_(node_count()) {
        find_symbols();
    }

    const evaluator &evaluate;     ///< runs single nodes on constants
    const network_options options; ///< that stand for entries of ONNX Runtime's session

    /// Returns the nodes that exist now in the order in which ONNX Runtime visits them: from the last node
    /// without readers to the nodes that it reads, the last of them in the file first, and so on. This order
    /// decides which of two patterns gets a node that both want.
    std::vector<node_id> visiting_order() const;

    /// Does something for each node that is there now, in that order, unless it has gone before its turn.
    template <typename Work> void for_each(const Work &work) {
        for (const node_id i : visiting_order())
            if (!is_removed(i))
                work(i);
    }
    template <typename Work> void for_each(std::string_view op, const Work &work) {
        for_each([&](node_id i) {
            if (at(i).op == op)
                work(i);
        });
    }

    // ---- Nodes. What is asked of none is none.

    /// Whether a node stands in front of another one in the file; those that passes have made come behind.
    bool is_older(node_id a, node_id b) const;
    bool is(node_id i, std::string_view op) const { return i && !is_removed(i) && at(i).op == op; }
    const operator_facts &facts(node_id i) const { return facts_of(get_graph(), at(i)); }
    /// Whether the file lists so many inputs and no more, absent ones at the end included.
    bool has_inputs(node_id i, std::size_t count) const {
        const auto absent = static_cast<std::size_t>(marks_of(at(i)).absent_inputs);
        std::size_t listed = inputs(i).size();
        while (listed > 0 && !input(i, listed - 1)) // a pass may leave none behind
            listed--;
        return listed + absent <= count;
    }
    /// The other operand of a node that has two.
    tensor_id other(node_id i, tensor_id t) const { return input(i, 0) == t ? input(i, 1) : input(i, 0); }
    template <typename T> T attribute(node_id i, const char *name, T fallback) const {
        return attribute_or(at(i), name, fallback);
    }

    /// The node of an operator that writes a tensor as its first output.
    node_id writer(tensor_id t, std::string_view op) const;
    /// The only reader of a tensor, which is no output of the network, if it is of that operator.
    node_id reader(tensor_id t, std::string_view op) const;
    /// The only node that reads a tensor, which may be an output of the network, too.
    node_id only_node_reading(tensor_id t) const;
    /// The node at the only edge from a tensor to nodes; one that reads it twice has two. That the network
    /// gives it out does not count.
    node_id only_edge(tensor_id t) const;
    bool is_graph_output(tensor_id t) const;
    /// Whether it is an output of the network, and no node reads it.
    bool is_output_alone(tensor_id t) const { return is_graph_output(t) && consumers(t).size() == 1; }
    /// True if a node reads the tensor; that the network gives it out does not count.
    bool is_read(tensor_id t) const;

    // ---- Tensors

    data_type type(tensor_id t) const { return tensor_at(t).type; }
    const memory::dims &dims(tensor_id t) const { return tensor_at(t).dims; }
    std::size_t rank(tensor_id t) const { return dims(t).size(); }
    /// Returns one dimension; -1 beyond the rank, since ranks are not always right in a graph that a program
    /// made.
    dim_t size(tensor_id t, std::size_t dim) const { return dim < rank(t) ? dims(t)[dim] : -1; }
    dim_t last_size(tensor_id t) const { return rank(t) == 0 ? -1 : dims(t).back(); }
    bool is_float(tensor_id t) const { return t && type(t) == data_type::f32; }
    /// Whether the value is in the file and nobody can give another one.
    bool is_constant(tensor_id t) const {
        return t && tensor_at(t).is_constant && !tensor_at(t).is_variable &&
               !(from_sizes_ && from_sizes_->open_floats.count(t) != 0);
    }
    bool is_float_constant(tensor_id t) const { return is_float(t) && is_constant(t); }
    std::vector<float> values(tensor_id t) const { return values_of<float>(tensor_at(t)); }

    /// The value of a constant of one float, of any number of dimensions.
    std::optional<float> number(tensor_id t) const;
    /// The value of a constant of one float that has at most one dimension.
    std::optional<float> scalar(tensor_id t) const;
    /// Whether a scalar is a value, nearly.
    bool is_value(tensor_id t, double value) const;

    /// The elements of a constant of integers; nothing for any other tensor, or none.
    std::optional<memory::dims> integers(tensor_id t) const {
        return is_constant(t) ? constant_integers(get_graph(), t) : std::nullopt;
    }
    /// Whether a constant is this one integer, of any number of dimensions.
    bool is_integer(tensor_id t, std::int64_t value) const { return integers(t) == memory::dims{value}; }

    /// Whether a pass has computed a constant. ONNX Runtime does not look for others that are equal to it.
    bool is_folded(tensor_id t) const { return folded_ && folded_->count(t) != 0; }
    /// Returns how many nodes read a constant or another one of equal value and rank, if it has one float and
    /// no pass computed either: ONNX Runtime makes one of them (ConstantSharing, which comes before
    /// ConstantFolding).
    std::size_t readers_of_constant(tensor_id t);

    /// Whether two dimensions are known to be equal: both sizes are in the file, or both are open and of one name.
    bool are_equal(tensor_id a, std::size_t a_dim, tensor_id b, std::size_t b_dim) const;
    /// Whether that holds for all dimensions of two tensors of one rank.
    bool have_equal_sizes(tensor_id a, tensor_id b) const;
    bool is_known(tensor_id t, std::size_t dim) const { return symbol(t, dim) == 0; }
    bool is_known(tensor_id t) const;
    bool has_size(tensor_id t, std::size_t dim, dim_t size) const {
        return is_known(t, dim) && this->size(t, dim) == size;
    }
    /// Whether a constant is one that the network computes from open sizes.
    bool is_sized(tensor_id t) const { return from_sizes_ && from_sizes_->tensors.count(t) != 0; }
    /// `sized_constants::open`, as the graph is now.
    std::set<tensor_id> constants_of_open_sizes() const;
    /// Whether a constant is among them.
    bool is_of_open_sizes(tensor_id t) const {
        return from_sizes_ && from_sizes_->open && from_sizes_->open->count(t) != 0;
    }
    /// The node that computed such a constant; null.
    const size_node *sizes_of(tensor_id t) const {
        if (!from_sizes_)
            return nullptr;
        const auto found = from_sizes_->nodes.find(t);
        return found != from_sizes_->nodes.end() ? &found->second : nullptr;
    }
    const size_node *sizes_of(tensor_id t, std::string_view op) const {
        const size_node *n = sizes_of(t);
        return n && n->computing.op == op ? n : nullptr;
    }
    /// True if ONNX Runtime knows how many dimensions a tensor has. In old operator sets it does not behind a
    /// Reshape to sizes that a network computes.
    bool has_rank(tensor_id t) const;

    // ---- Pairs

    /// Whether scale and zero point of a DequantizeLinear or QuantizeLinear are constants that fit each other and
    /// the codes.
    bool is_plain(node_id i) const;
    bool has_one_scale(const quantized &q) const { return element_count(dims(q.scale)) == 1; }
    /// Returns the codes, scale and zero point of a float tensor that a DequantizeLinear writes.
    std::optional<quantized> dequantized(tensor_id t) const;
    /// Returns the same if there are one scale and 8-bit codes.
    std::optional<quantized> activation(tensor_id t) const;
    /// The QuantizeLinear that alone reads a tensor; -1.
    node_id quantizer_of(tensor_id t) const;
    quantized written(node_id q) const { return {output(q), input(q, 1), input(q, 2), 0}; }
    quantized read(node_id dq) const { return {input(dq, 0), input(dq, 1), input(dq, 2), 0}; }
    float scale_of(const quantized &q) const { return values(q.scale).at(0); }
    std::int32_t zero_point_of(const quantized &q) const;
    bool are_equal(const quantized &a, const quantized &b) const;
    /// The zero point as a tensor, also where the node left it out.
    tensor_id zero_point_tensor(const quantized &q);

    // ---- Changes

    tensor_id add_constant(const std::string &name, data_type type, const memory::dims &dims,
                           std::vector<std::uint8_t> data);
    tensor_id add_floats(const std::string &name, const memory::dims &dims, const std::vector<float> &values);
    /// A list of integers.
    tensor_id add_integers(const std::string &name, const memory::dims &values);
    /// A computed tensor like another one.
    tensor_id add_like(tensor_id t);
    tensor_id add_like(tensor_id t, const memory::dims &dims);
    tensor_id add_like(tensor_id t, data_type type);

    /// Node i, the last of its pattern, computes the same output by one operator.
    void become(node_id i, node n);
    void become(node_id i, const char *op, tensor_numbers inputs) {
        become(i, node{op, std::move(inputs), {}, {}});
    }
    /// A constant has been computed.
    void note_folded(tensor_id t) {
        if (folded_)
            folded_->insert(t);
    }
    /// A tensor gets another shape, and so does what is computed of it.
    void give_shape(tensor_id t, const memory::dims &shape);
    void set_input(node_id i, std::size_t k, tensor_id t);
    void set_attribute(node_id i, const char *name, model::attribute value);
    template <typename T, typename Value> void set_mark(node_id i, T node_marks::*mark, Value &&value) {
        node n = at(i);
        model::set_mark(n, mark, std::forward<Value>(value));
        replace(i, std::move(n));
    }
    /// Counts as a change that leaves all as it is.
    void touch(node_id i) { replace(i, at(i)); }
    /// All readers of one tensor read another one; the network's outputs stay.
    void redirect(tensor_id from, tensor_id to);
    /// Lets the readers of a node's output read x instead, and removes the node. The writer of x stays even
    /// if there are no readers.
    void bypass(node_id i, tensor_id x);
    /// Does the same in a rule. Returns false if ONNX Runtime keeps the node: if its output is the network's,
    /// or if it has several inputs and not exactly one of them comes from another node.
    bool drop(node_id i, tensor_id x);

private:
    int symbol(tensor_id t, std::size_t dim) const;
    void find_symbols();

    const sized_constants *from_sizes_;
    std::set<tensor_id> *folded_;      ///< constants that a pass has computed
    const std::size_t first_inserted_; ///< node
    mutable std::vector<node_id> order_of_visits_;
    mutable std::size_t visits_at_ = 0; ///< changes when it was found
    dim_symbols symbols_;               ///< empty: all are known
};

} // namespace octet::model
