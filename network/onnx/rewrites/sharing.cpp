// As `common_subexpression_elimination.cc`, `constant_sharing.cc` and `constant_folding.cc` of ONNX Runtime
// 1.30, level 1: parts that are computed twice, or of constants alone; and, when nodes are assigned,
// operators that are written as functions of others.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Equal constants of few elements that are no codes have one number (ConstantSharing), except constants that
/// a pass has computed; all others have a number of their own.
class constant_numbers {
public:
    explicit constant_numbers(const ort_graph &g) : g_(g) {}

    tensor_id of(tensor_id t) {
        constexpr std::int64_t most_elements = 8;
        if (const size_node *computed = g_.sizes_of(t))
            return computed->equal_to;
        if (!t || !g_.is_constant(t) || g_.is_folded(t) || is_code(g_.type(t)) ||
            element_count(g_.dims(t)) > most_elements)
            return t;
        const shared_bytes &data = g_.tensor_at(t).data;
        return shared_
            .emplace(std::make_tuple(g_.type(t), g_.dims(t), std::string(data.begin(), data.end())), t)
            .first->second;
    }

private:
    const ort_graph &g_;
    std::map<std::tuple<data_type, memory::dims, std::string>, tensor_id> shared_;
};

} // namespace

/// Values that are equal have the number of the first; a DequantizeLinear is there for each reader, and each
/// has values of its own. What the network gives out stays, though others may read it.
void eliminate_common_subexpressions(ort_graph &g) {
    constant_numbers constants(g);
    std::map<std::vector<tensor_id>, std::vector<node_id>> nodes_on; ///< the first ones, by what they read
    std::map<tensor_id, tensor_id> equal_to;                         ///< of tensors that are not the first
    g.for_each([&](node_id i) {
        const node &n = g.at(i);
        const bool has_own_shape = n.op == "Reshape" && n.inputs.size() == 1; // which nothing shares
        if (n.op == "DequantizeLinear" || n.inputs.empty() || has_own_shape)
            return;
        std::vector<tensor_id> inputs;
        for (const tensor_id t : inputs_of(n)) {
            const auto found = equal_to.find(t);
            inputs.push_back(found == equal_to.end() ? constants.of(t) : found->second);
        }
        std::vector<node_id> &nodes = nodes_on[inputs];
        const auto first = std::find_if(nodes.begin(), nodes.end(), [&](node_id node) {
            return are_alike(g.get_graph(), g.at(node), n);
        });
        if (first == nodes.end())
            return nodes.push_back(i);
        const tensor_ids kept = g.outputs(*first), other = outputs_of(n);
        for (std::size_t k = 0; k < other.size() && kept.size() == other.size(); k++)
            if (other[k] != kept[k])
                equal_to[other[k]] = kept[k];
    });
    g.for_each([&](node_id i) {
        const tensor_numbers outputs = g.at(i).outputs;
        bool is_read = false, is_replaced = false;
        for (const tensor_id t : tensor_ids(outputs)) {
            const auto found = equal_to.find(t);
            if (found != equal_to.end() && !g.is_graph_output(t)) {
                g.redirect(t, found->second);
                is_replaced = true;
            }
            is_read = is_read || (t && !g.consumers(t).empty());
        }
        if (is_replaced && !is_read)
            g.remove(i);
    });
}

namespace {

void become_constant(ort_graph &g, tensor_id t, std::vector<std::uint8_t> data) {
    tensor &constant = tensor_at(g.get_graph(), t);
    constant.data = std::move(data);
    constant.is_constant = true;
    g.note_folded(t);
}

/// A constant takes the place of a node's output. Its matrix has not been packed ahead, so sums are those of
/// a computed one.
void compute(ort_graph &g, node_id i) {
    const graph &all = g.get_graph();
    node n = g.at(i);
    if (n.op == "Conv" || n.op == "ConvTranspose" || g.facts(i).products == summed_products::of_floats)
        set_mark(n, &node_marks::has_dequantized, true);
    g.remove(i);
    become_constant(g, output_of(n), g.evaluate(all, n, 0, g.tensor_at(input_of(n, 0)).data, {}));
}

/// Constants take the place of all that a Split gives.
void compute_split(ort_graph &g, node_id i) {
    const node n = g.at(i);
    const tensor &x = g.tensor_at(input_of(n, 0));
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    const std::int64_t axis = attribute_or<std::int64_t>(n, "axis", 0);
    const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    std::size_t inner = memory::data_type_size(x.type), first = 0;
    for (std::size_t d = split; d < x.dims.size(); d++)
        inner *= d == split ? 1 : static_cast<std::size_t>(x.dims[d]);
    const std::size_t row = inner * static_cast<std::size_t>(x.dims.at(split)); // of all outputs
    g.remove(i);
    for (const tensor_id y : outputs_of(n)) {
        const std::size_t own = inner * static_cast<std::size_t>(g.size(y, split));
        std::vector<std::uint8_t> data;
        for (std::size_t at = first; at + own <= x.data.size(); at += row)
            data.insert(data.end(), x.data.begin() + static_cast<std::ptrdiff_t>(at),
                        x.data.begin() + static_cast<std::ptrdiff_t>(at + own));
        become_constant(g, y, std::move(data));
        first += own;
    }
}

/// ONNX Runtime computes its own operators when it runs.
bool is_folded(const ort_graph &g, node_id i) {
    return g.get_graph().opset >= g.facts(i).folded_since && g.facts(i).domain != domains::microsoft;
}

/// Sizes that the file leaves open are no constants.
bool is_computable(ort_graph &g, node_id i) {
    const node &n = g.at(i);
    const bool has_result = n.outputs.size() == 1 || (n.op == "Split" && !n.outputs.empty());
    return input_of(n, 0) && has_result && g.facts(i).lower && is_folded(g, i) &&
           element_count(g.dims(input_of(n, 0))) != 0 &&
           all_of(inputs_of(n), [&](tensor_id t) { return !t || (g.is_constant(t) && !g.is_sized(t)); });
}

/// DequantizeLinear of constants, an operator of one input, QuantizeLinear.
void compute_requantized(ort_graph &g, node_id q) {
    const node_id i = g.producer(g.input(q, 0));
    if (!i || g.at(i).inputs.size() != 1 || g.at(i).outputs.size() != 1 || !g.facts(i).lower ||
        g.only_consumer(g.output(i)) != q)
        return;
    const tensor_id x = g.input(i, 0);
    const node_id dq = g.writer(x, "DequantizeLinear");
    if (!dq || g.only_consumer(x) != i || !is_computable(g, dq))
        return;
    for (const node_id node : {dq, i, q})
        compute(g, node);
}

/// Among nodes whose results nobody reads, true for a Shape whose sizes are constants already, and for nodes
/// that were kept for such a Shape.
bool is_needless(const ort_graph &g, node_id i) {
    return marks_of(g.at(i)).unread == kept_unread::for_sizes ||
           (g.at(i).op == "Shape" && g.is_known(g.input(i, 0)));
}

} // namespace

/// A DequantizeLinear of constants stays, for quantized operators to be found around it.
void fold_constants(ort_graph &g) {
    g.for_each([&](node_id i) {
        if (g.at(i).op == "DequantizeLinear" || marks_of(g.at(i)).not_folded != 0)
            return;
        if (is_computable(g, i))
            g.is(i, "Split") ? compute_split(g, i) : compute(g, i);
        else if (is_needless(g, i))
            g.remove(i);
        else if (g.at(i).op == "QuantizeLinear")
            compute_requantized(g, i);
    });
}

/// HardSwish has no kernel there.
void inline_functions(ort_graph &g) {
    g.for_each("HardSwish", [&](node_id i) {
        const tensor_id x = g.input(i, 0), gate = g.add_like(g.output(i));
        g.insert_before(i, {"HardSigmoid", {x}, {gate}, {{"alpha", 1.f / 6.f}, {"beta", 0.5f}}});
        g.become(i, "Mul", {x, gate});
    });
}

} // namespace octet::model::ort
