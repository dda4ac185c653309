// TransposeOptimizer: Transposes go down through operators that can do with moved elements, where fewer of them, or of fewer
// dimensions, are left. Bytes depend on it where a reduction gets another axis, and on what other passes then recognize.
// Start at `transpose_mover::run`. `moved_node` changes one operator, `cost_of_input` estimates what is won.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"
#include "network/passes/ort/transposes.hpp"

namespace octet::model::ort {

// ---- Orders of dimensions

order order_of(const ort_graph &g, int transpose) {
    return marks_of(g.at(transpose)).names_no_order ? order{} : meant_order_of(g, transpose);
}

order meant_order_of(const ort_graph &g, int transpose) {
    order reversed(g.rank(g.input(transpose, 0)));
    for (std::size_t d = 0; d < reversed.size(); d++)
        reversed[d] = static_cast<std::int64_t>(reversed.size() - 1 - d);
    order result = g.attribute(transpose, "perm", reversed);
    order sorted = result;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < sorted.size(); d++)
        if (sorted.size() != reversed.size() || sorted[d] != static_cast<std::int64_t>(d))
            return {};
    return result;
}

order inverse(const order &p) {
    order result(p.size());
    for (std::size_t d = 0; d < p.size(); d++)
        result[static_cast<std::size_t>(p[d])] = static_cast<std::int64_t>(d);
    return result;
}

order composed(const order &first, const order &second) {
    order result;
    for (const std::int64_t d : second)
        result.push_back(first[static_cast<std::size_t>(d)]);
    return result;
}

memory::dims permuted(const memory::dims &dims, const order &p) {
    if (dims.size() != p.size())
        throw error(status::invalid_arguments, "Transpose: a tensor of " + std::to_string(dims.size()) +
                                                   " dimensions is read or written with " +
                                                   std::to_string(p.size()));
    memory::dims result;
    for (const std::int64_t d : p)
        result.push_back(dims[static_cast<std::size_t>(d)]);
    return result;
}

order with_axes(const order &p, const order &axes) {
    const std::size_t rank = p.size() + axes.size();
    std::vector<bool> is_added(rank);
    for (const std::int64_t a : axes)
        is_added[static_cast<std::size_t>(a)] = true;
    order place, result;
    for (std::size_t d = 0; d < rank; d++)
        if (!is_added[d])
            place.push_back(static_cast<std::int64_t>(d));
    for (std::size_t d = 0, next = 0; d < rank; d++)
        result.push_back(is_added[d] ? static_cast<std::int64_t>(d)
                                     : place[static_cast<std::size_t>(p[next++])]);
    return result;
}

order without_axes(const order &p, const order &axes) {
    const std::set<std::int64_t> dropped(axes.begin(), axes.end());
    order place(p.size()), result;
    for (std::size_t d = 0, next = 0; d < p.size(); d++)
        place[d] = dropped.count(static_cast<std::int64_t>(d)) ? -1 : static_cast<std::int64_t>(next++);
    for (const std::int64_t d : p)
        if (dropped.count(d) == 0)
            result.push_back(place[static_cast<std::size_t>(d)]);
    return result;
}

// ---- What can be passed

namespace {

using inputs_function = order (*)(const ort_graph &, int);

order all_inputs(const ort_graph &g, int i) {
    order all(g.at(i).inputs.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}
order first_input(const ort_graph &, int) { return {0}; }
order operands(const ort_graph &, int) { return {0, 3}; }
order parts_of_concat(const ort_graph &g, int i) {
    order all;
    for (std::size_t k = 2; k < g.at(i).inputs.size(); k += 3)
        all.push_back(static_cast<std::int64_t>(k));
    return all;
}
order tensors(const ort_graph &g, int i) {
    order all;
    for (std::size_t k = 0; k < g.at(i).inputs.size(); k++)
        if (g.input(i, k) >= 0 && g.rank(g.input(i, k)) > 0)
            all.push_back(static_cast<std::int64_t>(k));
    return all;
}

struct passing {
    passing_kind kind;
    inputs_function inputs;
    bool transposes_outputs = true;
};

const std::map<std::string_view, passing> &all_passings() {
    using k = passing_kind;
    static const std::map<std::string_view, passing> table = [] {
        std::map<std::string_view, passing> t;
        for (const char *const op : {"Cast",
                                     "Exp",
                                     "Gelu",
                                     "Identity",
                                     "LeakyRelu",
                                     "Log",
                                     "Reciprocal",
                                     "Relu",
                                     "Sigmoid",
                                     "Sqrt",
                                     "Tanh",
                                     "Abs",
                                     "Not",
                                     "Ceil",
                                     "Floor",
                                     "Neg",
                                     "Erf",
                                     "HardSigmoid",
                                     "Round",
                                     "Selu",
                                     "Softplus",
                                     "Softsign",
                                     "ThresholdedRelu",
                                     "HardSwish",
                                     "Elu",
                                     "IsInf",
                                     "IsNaN",
                                     "Shrink",
                                     "Sign",
                                     "Celu",
                                     "Sin",
                                     "Cos",
                                     "Tan",
                                     "Sinh",
                                     "Cosh",
                                     "Asin",
                                     "Acos",
                                     "Atan",
                                     "Asinh",
                                     "Acosh",
                                     "Atanh"})
            t[op] = {k::elements, all_inputs};
        for (const char *const op :
             {"Add",         "Max", "Min",      "Mul",   "Sub",     "Div",  "And",
              "Or",          "Mod", "PRelu",    "Equal", "Greater", "Less", "GreaterOrEqual",
              "LessOrEqual", "Xor", "BitShift", "Mean",  "Sum",     "Pow",  "Where"})
            t[op] = {k::broadcast, tensors};
        for (const char *const op :
             {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "ReduceL2", "ReduceL1", "ReduceProd",
              "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
            t[op] = {k::reduction, first_input};
        for (const char *const op : {"Softmax", "LogSoftmax", "Hardmax", "QLinearSoftmax"})
            t[op] = {k::softmax, first_input};
        for (const char *const op : {"QuantizeLinear", "DequantizeLinear"})
            t[op] = {k::quantization, first_input};
        for (const char *const op : {"Clip", "CastLike", "QLinearLeakyRelu", "QLinearSigmoid"})
            t[op] = {k::elements, first_input};
        for (const char *const op : {"QLinearAdd", "QLinearMul"})
            t[op] = {k::broadcast, operands};
        t["QLinearConcat"] = {k::along_axis, parts_of_concat};
        t["Concat"] = {k::along_axis, all_inputs};
        t["Split"] = {k::along_axis, first_input};
        for (const char *const op : {"ArgMax", "ArgMin"})
            t[op] = {k::index, first_input};
        t["Gather"] = {k::gather, first_input};
        t["Transpose"] = {k::transpose, first_input, false};
        t["Reshape"] = {k::reshape, first_input, false};
        t["Squeeze"] = {k::squeeze, first_input};
        t["Unsqueeze"] = {k::unsqueeze, first_input};
        t["Slice"] = {k::slice, first_input};
        t["Tile"] = {k::tile, first_input};
        t["Pad"] = {k::pad, first_input};
        t["Shape"] = {k::sizes, first_input, false};
        t["MaxPool"] = {k::none, first_input}; // known, and not passed by floats
        t["Resize"] = {k::none, first_input};
        return t;
    }();
    return table;
}

const passing *passing_of(const ort_graph &g, int i) {
    const auto found = all_passings().find(g.at(i).op);
    return found == all_passings().end() ? nullptr : &found->second;
}

// ---- What is won

/// Dimensions that are not 1 stand for the size of a tensor.
int weight_of(const ort_graph &g, int t) {
    int count = 0;
    for (std::size_t d = 0; d < g.rank(t); d++)
        count += !g.has_size(t, d, 1);
    return count;
}

bool is_likely_to_go(const ort_graph &g, int transpose) {
    const std::vector<int> &readers = g.consumers(g.output(transpose));
    return std::all_of(readers.begin(), readers.end(),
                       [&](int r) { return r >= 0 && passing_of(g, r) != nullptr; });
}

/// Codes behind which a DequantizeLinear that one node reads hides constants.
int hidden_constant(const ort_graph &g, int t) {
    const int dq = g.writer(t, "DequantizeLinear");
    return dq >= 0 && g.only_consumer(t) >= 0 && g.is_constant(g.input(dq, 0)) ? dq : -1;
}

int cost_of_input(const ort_graph &g, int t, const order &p) {
    if (g.is_constant(t) || hidden_constant(g, t) >= 0)
        return 0;
    int from = g.producer(t);
    if (g.is(from, "DequantizeLinear") && g.producer(g.input(from, 0)) >= 0)
        from = g.producer(g.input(from, 0));
    if (g.is(from, "Transpose") && !order_of(g, from).empty())
        return order_of(g, from) == p && is_likely_to_go(g, from) ? -weight_of(g, t) : 0;
    return weight_of(g, t);
}

class transpose_mover {
public:
    explicit transpose_mover(ort_graph &g) : g_(g) {}

    void run() {
        const std::vector<int> nodes = g_.visiting_order();
        find_outputs_that_lead_on(nodes);
        bool has_dq = false;
        for (const int i : nodes) {
            if (g_.is_removed(i))
                continue;
            has_dq = has_dq || g_.is(i, "DequantizeLinear");
            for (std::size_t k = 0; k < g_.at(i).inputs.size(); k++) {
                const int transpose = g_.input(i, k) < 0 ? -1 : g_.writer(g_.input(i, k), "Transpose");
                if (transpose >= 0 && push(transpose, i, k))
                    break;
            }
        }
        if (has_dq)
            repair_pairs(g_);
    }

private:
    void find_outputs_that_lead_on(const std::vector<int> &nodes) {
        for (auto i = nodes.rbegin(); i != nodes.rend(); ++i) {
            if (g_.is(*i, "Transpose")) {
                leads_on_.insert(g_.input(*i, 0));
                continue;
            }
            const passing *const p = passing_of(g_, *i);
            if (p && p->transposes_outputs && has_output_that_leads_on(*i))
                for (const std::int64_t k : p->inputs(g_, *i))
                    leads_on_.insert(g_.input(*i, static_cast<std::size_t>(k)));
        }
    }
    bool has_output_that_leads_on(int i) const {
        const std::vector<int> &outputs = g_.at(i).outputs;
        return std::any_of(outputs.begin(), outputs.end(), [&](int t) { return leads_on_.count(t) != 0; });
    }

    bool push(int transpose, int i, std::size_t input) {
        const passing *const way = passing_of(g_, i);
        const order p = order_of(g_, transpose);
        if (!way || p.empty())
            return false;
        const order through = way->inputs(g_, i);
        if (std::find(through.begin(), through.end(), static_cast<std::int64_t>(input)) == through.end())
            return false;
        if (!has_ranks(i, through, p.size(), way->kind))
            return false;
        if (way->kind != passing_kind::transpose && cost(i, *way, through, p) >= 0)
            return false;
        return moved_node(g_, i, transpose, p, through).pass(way->kind);
    }

    /// A graph may say anything of its tensors. Constants of other ranks stay as they are, and operands may have fewer dimensions.
    bool has_ranks(int i, const order &through, std::size_t rank, passing_kind kind) const {
        return std::all_of(through.begin(), through.end(), [&](std::int64_t k) {
            const int t = g_.input(i, static_cast<std::size_t>(k));
            return t >= 0 && (g_.rank(t) == rank || g_.is_constant(t) || kind == passing_kind::broadcast);
        });
    }

    int cost(int i, const passing &way, const order &through, const order &p) const {
        int sum = 0;
        for (const std::int64_t k : through)
            sum += cost_of_input(g_, g_.input(i, static_cast<std::size_t>(k)), p);
        if (sum >= 0 || !way.transposes_outputs || has_output_that_leads_on(i))
            return sum;
        int most = 0;
        for (const int t : g_.at(i).outputs)
            most = std::max(most, t < 0 ? 0 : weight_of(g_, t));
        return sum + most;
    }

    ort_graph &g_;
    std::set<int> leads_on_; ///< tensors from which passable operators lead to a Transpose
};

} // namespace

void optimize_transposes(ort_graph &g) { transpose_mover(g).run(); }

} // namespace octet::model::ort
