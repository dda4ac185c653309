// Parts that are computed twice, or of constants alone, and operators that are written as functions of others.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Constants of few elements that are no codes are one where they are equal (ConstantSharing); others have a number of
/// their own.
class constant_numbers {
public:
    explicit constant_numbers(const ort_graph &g) : g_(g) {}

    int of(int t) {
        constexpr std::int64_t most_elements = 8;
        if (const size_node *computed = g_.sizes_of(t))
            return computed->equal_to;
        if (t < 0 || !g_.is_constant(t) || is_code(g_.type(t)) || element_count(g_.dims(t)) > most_elements)
            return t;
        const shared_bytes &data = g_.tensor_at(t).data;
        return shared_
            .emplace(std::make_tuple(g_.type(t), g_.dims(t), std::string(data.begin(), data.end())), t)
            .first->second;
    }

private:
    const ort_graph &g_;
    std::map<std::tuple<data_type, memory::dims, std::string>, int> shared_;
};

} // namespace

/// Values that are equal have the number of the first; a DequantizeLinear is there for each reader, and each has values of its
/// own. What the network gives out stays, though others may read it.
void eliminate_common_subexpressions(ort_graph &g) {
    constant_numbers constants(g);
    std::map<std::vector<int>, std::vector<int>>
        nodes_on;                ///< those that are the first, by the numbers of what they read
    std::map<int, int> equal_to; ///< of tensors that are not the first
    g.for_each([&](int i) {
        const node &n = g.at(i);
        const bool has_own_shape = n.op == "Reshape" && n.inputs.size() == 1; // which nothing shares
        if (n.op == "DequantizeLinear" || n.inputs.empty() || has_own_shape)
            return;
        std::vector<int> inputs;
        for (const int t : n.inputs) {
            const auto found = equal_to.find(t);
            inputs.push_back(found == equal_to.end() ? constants.of(t) : found->second);
        }
        std::vector<int> &nodes = nodes_on[inputs];
        const auto first =
            std::find_if(nodes.begin(), nodes.end(), [&](int node) { return are_alike(g.at(node), n); });
        if (first == nodes.end())
            return nodes.push_back(i);
        const std::vector<int> &kept = g.at(*first).outputs;
        for (std::size_t k = 0; k < n.outputs.size() && kept.size() == n.outputs.size(); k++)
            if (n.outputs[k] != kept[k])
                equal_to[n.outputs[k]] = kept[k];
    });
    g.for_each([&](int i) {
        const std::vector<int> outputs = g.at(i).outputs;
        bool is_read = false;
        for (const int t : outputs) {
            const auto found = equal_to.find(t);
            if (found != equal_to.end() && !g.is_graph_output(t))
                g.redirect(t, found->second);
            is_read = is_read || (t >= 0 && !g.consumers(t).empty());
        }
        if (!is_read && g.at(i).attributes.count(kept_unread) == 0)
            g.remove(i);
    });
}

namespace {

/// A constant takes the place of a node's output.
void compute(ort_graph &g, int i) {
    graph &all = g.get_graph();
    const int y = g.output(i);
    const node n = g.at(i);
    std::vector<std::uint8_t> data =
        g.evaluate(all, n, 0, all.tensors[static_cast<std::size_t>(n.inputs[0])].data, {});
    g.remove(i);
    tensor &constant = all.tensors[static_cast<std::size_t>(y)];
    constant.data = std::move(data);
    constant.is_constant = true;
    g.note_folded(y);
}

/// Sizes that the file leaves open are no constants.
bool is_computable(const ort_graph &g, int i) {
    const node &n = g.at(i);
    return !n.inputs.empty() && n.inputs[0] >= 0 && n.outputs.size() == 1 && g.facts(i).lower &&
           element_count(g.dims(n.inputs[0])) != 0 &&
           std::all_of(n.inputs.begin(), n.inputs.end(),
                       [&](int t) { return t < 0 || (g.is_constant(t) && !g.is_sized(t)); });
}

/// DequantizeLinear of constants, an operator of one input, QuantizeLinear.
void compute_requantized(ort_graph &g, int q) {
    const int i = g.producer(g.input(q, 0));
    if (i < 0 || g.at(i).inputs.size() != 1 || g.at(i).outputs.size() != 1 || !g.facts(i).lower ||
        g.only_consumer(g.output(i)) != q)
        return;
    const int x = g.input(i, 0), dq = g.writer(x, "DequantizeLinear");
    if (dq < 0 || g.only_consumer(x) != i || !is_computable(g, dq))
        return;
    for (const int node : {dq, i, q})
        compute(g, node);
}

} // namespace

/// A DequantizeLinear of constants stays, for quantized operators to be found around it.
void fold_constants(ort_graph &g) {
    g.for_each([&](int i) {
        if (g.at(i).op == "DequantizeLinear" || g.at(i).attributes.count(not_folded) != 0)
            return;
        if (is_computable(g, i))
            compute(g, i);
        else if (g.at(i).op == "Shape" && g.is_known(g.input(i, 0)))
            g.remove(i); // whose sizes are constants already
        else if (g.at(i).op == "QuantizeLinear")
            compute_requantized(g, i);
    });
}

/// HardSwish has no kernel there.
void inline_functions(ort_graph &g) {
    g.for_each("HardSwish", [&](int i) {
        const int x = g.input(i, 0), gate = g.add_like(g.output(i));
        g.insert_before(i, {"HardSigmoid", {x}, {gate}, {{"alpha", 1.f / 6.f}, {"beta", 0.5f}}});
        g.become(i, "Mul", {x, gate});
    });
}

} // namespace octet::model::ort
