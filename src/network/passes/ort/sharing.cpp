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

/// By a node, not only by who runs the network.
bool is_read(const ort_graph &g, int t) {
    const std::vector<int> &readers = g.consumers(t);
    return std::any_of(readers.begin(), readers.end(), [](int r) { return r >= 0; });
}

} // namespace

/// A DequantizeLinear is there for each reader, and each has one of its own.
void eliminate_common_subexpressions(ort_graph &g) {
    using key = std::tuple<std::string, std::vector<int>, std::map<std::string, attribute>>;
    constant_numbers numbers(g);
    std::map<key, int> first;
    g.for_each([&](int i) {
        const node &n = g.at(i);
        if (n.op == "DequantizeLinear" || n.outputs.size() != 1 || n.inputs.empty())
            return;
        std::vector<int> inputs = n.inputs;
        std::transform(inputs.begin(), inputs.end(), inputs.begin(), [&](int t) { return numbers.of(t); });
        const auto [found, is_new] = first.emplace(key{n.op, inputs, n.attributes}, i);
        const int kept = found->second, y = g.output(i);
        if (is_new || !is_read(g, y) || !is_read(g, g.output(kept)) ||
            (g.is_graph_output(y) && g.is_graph_output(g.output(kept))))
            return;
        g.remove(i);
        if (!g.is_graph_output(y))
            return g.redirect(y, g.output(kept));
        node first_of_them = g.at(kept); // writes the network's output
        const int before = first_of_them.outputs[0];
        first_of_them.outputs = {y};
        g.replace(kept, std::move(first_of_them));
        g.redirect(before, y);
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
}

bool is_computable(const ort_graph &g, int i) {
    const node &n = g.at(i);
    return !n.inputs.empty() && n.inputs[0] >= 0 && n.outputs.size() == 1 && g.facts(i).lower &&
           element_count(g.dims(n.inputs[0])) != 0 &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](int t) { return t < 0 || g.is_constant(t); });
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

/// A DequantizeLinear of constants stays, for operators on codes to be found around it.
void fold_constants(ort_graph &g) {
    g.for_each([&](int i) {
        if (g.at(i).op == "DequantizeLinear")
            return;
        if (is_computable(g, i))
            compute(g, i);
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
