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

namespace octet::model {

/// Codes with their scale and zero point: what a DequantizeLinear reads, or a QuantizeLinear writes.
struct quantized {
    int codes, scale, zero_point;
    std::int64_t axis; ///< of a scale per channel
};

/// What is known of each dimension of each tensor: 0 a size, above it the number of a name, -1 nothing, -2 of a tensor of
/// unknown rank. Side by side in one list, since it is made anew with each change of a graph.
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
        /// Of another one, or a list, of as many dimensions.
        template <typename List> void assign(const List &l) const { std::copy(l.begin(), l.end(), begin_); }

    private:
        int *begin_, *end_;
    };
    of_tensor operator[](std::size_t t) { return {all_.data() + first_[t], all_.data() + first_[t + 1]}; }
    /// Of a tensor or dimension that is not there: 0.
    int at(std::size_t t, std::size_t dim) const {
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
              bool qdq_is_int8_allowed = false, std::set<int> *folded = nullptr)
        : graph_editor(g), evaluate(e), is_int8_allowed(qdq_is_int8_allowed), from_sizes_(from_sizes),
          folded_(folded), first_inserted_(count()) {
        find_symbols();
    }

    const evaluator &evaluate;  ///< runs single nodes on constants
    const bool is_int8_allowed; ///< pairs on s8 stay on s8: session.qdqisint8allowed

    /// The nodes that are there now as ONNX Runtime visits them, which decides where two patterns want one node: from the last
    /// node that no other reads up to what it reads, the last of them in the file first, and so on.
    std::vector<int> visiting_order() const;

    /// Does something for each node that is there now, in that order, unless it has gone before its turn.
    template <typename Work> void for_each(const Work &work) {
        for (const int i : visiting_order())
            if (!is_removed(i))
                work(i);
    }
    template <typename Work> void for_each(std::string_view op, const Work &work) {
        for_each([&](int i) {
            if (at(i).op == op)
                work(i);
        });
    }

    // ---- Nodes

    int count() const { return static_cast<int>(node_count()); }
    /// Whether a node stands in front of another one in the file; those that passes have made come behind.
    bool is_older(int a, int b) const;
    bool is(int i, std::string_view op) const { return i >= 0 && !is_removed(i) && at(i).op == op; }
    const operator_facts &facts(int i) const { return facts_of(get_graph(), at(i)); }
    int input(int i, std::size_t k) const { return k < at(i).inputs.size() ? at(i).inputs[k] : -1; }
    int output(int i) const { return at(i).outputs[0]; }
    /// Whether the file lists so many inputs and no more, absent ones at the end included.
    bool has_inputs(int i, std::size_t count) const {
        const auto absent = static_cast<std::size_t>(marks_of(at(i)).absent_inputs);
        const std::vector<int> &inputs = at(i).inputs;
        const auto last = std::find_if(inputs.rbegin(), inputs.rend(), [](int t) { return t >= 0; });
        return static_cast<std::size_t>(inputs.rend() - last) + absent <= count; // a pass may leave -1 behind
    }
    /// The other operand of a node that has two.
    int other(int i, int t) const { return input(i, 0) == t ? input(i, 1) : input(i, 0); }
    template <typename T> T attribute(int i, const char *name, T fallback) const {
        return attribute_or(at(i), name, fallback);
    }

    /// The node of an operator that writes a tensor as its first output; -1.
    int writer(int t, std::string_view op) const;
    /// The only reader of a tensor, which is no output of the network, if it is of that operator; -1.
    int reader(int t, std::string_view op) const;
    /// The only node that reads a tensor, which may be an output of the network, too; -1.
    int only_node_reading(int t) const;
    bool is_graph_output(int t) const;
    /// By a node, not only by who runs the network.
    bool is_read(int t) const;

    // ---- Tensors

    data_type type(int t) const { return tensor_at(t).type; }
    const memory::dims &dims(int t) const { return tensor_at(t).dims; }
    std::size_t rank(int t) const { return dims(t).size(); }
    /// One dimension; -1 beyond the rank, which what writes a tensor has not always got right in a graph that a program made.
    dim_t size(int t, std::size_t dim) const { return dim < rank(t) ? dims(t)[dim] : -1; }
    dim_t last_size(int t) const { return rank(t) == 0 ? -1 : dims(t).back(); }
    bool is_float(int t) const { return t >= 0 && type(t) == data_type::f32; }
    /// Whether the value is in the file and nobody can give another one.
    bool is_constant(int t) const {
        return t >= 0 && tensor_at(t).is_constant && !tensor_at(t).is_variable &&
               !(from_sizes_ && from_sizes_->open_floats.count(t) != 0);
    }
    bool is_float_constant(int t) const { return is_float(t) && is_constant(t); }
    std::vector<float> values(int t) const { return values_of<float>(tensor_at(t)); }

    /// The value of a constant of one float, of any number of dimensions.
    std::optional<float> number(int t) const;
    /// The value of a constant of one float that has at most one dimension.
    std::optional<float> scalar(int t) const;
    /// Whether a scalar is a value, nearly.
    bool is_value(int t, double value) const;

    /// Whether a pass has computed a constant. ONNX Runtime does not look for others that are equal to it.
    bool is_folded(int t) const { return folded_ && folded_->count(t) != 0; }
    /// How many nodes read a constant, or one of equal value and rank, if it has one float and neither was computed: they are one there
    /// (ConstantSharing, which comes before ConstantFolding).
    std::size_t readers_of_constant(int t);

    /// Whether two dimensions are known to be equal: both sizes are in the file, or both are open and of one name.
    bool are_equal(int a, std::size_t a_dim, int b, std::size_t b_dim) const;
    bool is_known(int t, std::size_t dim) const { return symbol(t, dim) == 0; }
    bool is_known(int t) const;
    bool has_size(int t, std::size_t dim, dim_t size) const {
        return is_known(t, dim) && this->size(t, dim) == size;
    }
    /// Whether a constant is one that the network computes from open sizes.
    bool is_sized(int t) const { return from_sizes_ && from_sizes_->tensors.count(t) != 0; }
    /// `sized_constants::open`, as the graph is now.
    std::set<int> constants_of_open_sizes() const;
    /// Whether a constant is among them.
    bool is_of_open_sizes(int t) const {
        return from_sizes_ && from_sizes_->open && from_sizes_->open->count(t) != 0;
    }
    /// The node that computed such a constant; null.
    const size_node *sizes_of(int t) const {
        if (!from_sizes_)
            return nullptr;
        const auto found = from_sizes_->nodes.find(t);
        return found != from_sizes_->nodes.end() ? &found->second : nullptr;
    }
    const size_node *sizes_of(int t, std::string_view op) const {
        const size_node *n = sizes_of(t);
        return n && n->computing.op == op ? n : nullptr;
    }
    /// Whether ONNX Runtime knows how many dimensions a tensor has: not behind a Reshape to what a network computes, in old operator sets.
    bool has_rank(int t) const;

    // ---- Pairs

    /// Whether scale and zero point of a DequantizeLinear or QuantizeLinear are constants that fit each other and
    /// the codes.
    bool is_plain(int i) const;
    bool has_one_scale(const quantized &q) const { return element_count(dims(q.scale)) == 1; }
    /// What stands behind a float tensor that a DequantizeLinear writes.
    std::optional<quantized> dequantized(int t) const;
    /// What stands behind a float tensor, if it has one scale and 8-bit codes.
    std::optional<quantized> activation(int t) const;
    /// The QuantizeLinear that alone reads a tensor; -1.
    int quantizer_of(int t) const;
    quantized written(int q) const { return {output(q), input(q, 1), input(q, 2), 0}; }
    quantized read(int dq) const { return {input(dq, 0), input(dq, 1), input(dq, 2), 0}; }
    float scale_of(const quantized &q) const { return values(q.scale).at(0); }
    std::int32_t zero_point_of(const quantized &q) const;
    bool are_equal(const quantized &a, const quantized &b) const;
    /// The zero point as a tensor, also where the node left it out.
    int zero_point_tensor(const quantized &q);

    // ---- Changes

    int add_constant(const std::string &name, data_type type, const memory::dims &dims,
                     std::vector<std::uint8_t> data);
    int add_floats(const std::string &name, const memory::dims &dims, const std::vector<float> &values);
    /// A computed tensor like another one.
    int add_like(int t);
    int add_like(int t, const memory::dims &dims);
    int add_like(int t, data_type type);

    /// Node i, the last of its pattern, computes the same output by one operator.
    void become(int i, node n);
    void become(int i, const char *op, std::vector<int> inputs) {
        become(i, node{op, std::move(inputs), {}, {}});
    }
    /// A constant has been computed.
    void note_folded(int t) {
        if (folded_)
            folded_->insert(t);
    }
    /// A tensor gets another shape, and so does what is computed of it.
    void give_shape(int t, const memory::dims &shape);
    void set_input(int i, std::size_t k, int t);
    void set_attribute(int i, const char *name, model::attribute value);
    template <typename T, typename Value> void set_mark(int i, T node_marks::*mark, Value &&value) {
        node n = at(i);
        model::set_mark(n, mark, std::forward<Value>(value));
        replace(i, std::move(n));
    }
    /// Counts as a change that leaves all as it is.
    void touch(int i) { replace(i, at(i)); }
    /// All readers of one tensor read another one; the network's outputs stay.
    void redirect(int from, int to);
    /// Readers of a node's output read x instead, and the node goes. If there are none, what writes x stays all the same.
    void bypass(int i, int x);
    /// The same in a rule. False where ONNX Runtime keeps the node: the output is the network's, or of several inputs not exactly
    /// one comes from another node.
    bool drop(int i, int x);

private:
    int symbol(int t, std::size_t dim) const;
    void find_symbols();

    const sized_constants *from_sizes_;
    std::set<int> *folded_;    ///< constants that a pass has computed
    const int first_inserted_; ///< node
    mutable std::vector<int> order_of_visits_;
    mutable std::size_t visits_at_ = 0; ///< changes when it was found
    dim_symbols symbols_;               ///< empty: all are known
};

} // namespace octet::model
