// As `transpose_optimizer.cc` and `onnx_transpose_optimization.cc` of ONNX Runtime 1.30, levels 1 and 2:
// Transposes go down through operators that can do with moved elements, where fewer of them, or of fewer
// dimensions, are left. Bytes depend on it where a reduction gets another axis, and on what other passes then
// recognize. Start at `transpose_mover::run`. `moved_node` changes one operator, `cost_of_input` estimates
// what is won.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/rewrites/transposes.hpp"

namespace octet::model::ort {

// ---- Orders of dimensions

order order_of(const ort_graph &g, node_id transpose) {
    return marks_of(g.at(transpose)).names_no_order ? order{} : meant_order_of(g, transpose);
}

order meant_order_of(const ort_graph &g, node_id transpose) {
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

bool is_passable(const ort_graph &g, node_id i) { return g.facts(i).passing.kind != passing_kind::unknown; }

/// Whether outputs are what the operator gives for its inputs as they are, but transposed.
bool transposes_outputs(passing_kind kind) {
    return kind != passing_kind::transpose && kind != passing_kind::reshape && kind != passing_kind::sizes;
}

/// The inputs that are transposed with a node: codes, without their scales; operands that have dimensions; or
/// all.
order passed_inputs_of(const ort_graph &g, node_id i) {
    const operator_facts &facts = g.facts(i);
    const std::size_t count = g.at(i).inputs.size();
    order result;
    for (std::size_t k = 0; k < facts.scaled.count && facts.scaled.first + 3 * k < count; k++)
        result.push_back(static_cast<std::int64_t>(facts.scaled.first + 3 * k));
    if (facts.scaled.count > 0)
        return result;
    const passing_kind kind = facts.passing.kind;
    const bool takes_all = kind == passing_kind::elements || kind == passing_kind::along_axis;
    if (facts.passing.inputs == passed_inputs::first || !(takes_all || kind == passing_kind::broadcast))
        return {0};
    for (std::size_t k = 0; k < count; k++)
        if (takes_all || (g.input(i, k) && g.rank(g.input(i, k)) > 0))
            result.push_back(static_cast<std::int64_t>(k));
    return result;
}

// ---- What is won

/// Dimensions that are not 1 stand for the size of a tensor.
int weight_of(const ort_graph &g, tensor_id t) {
    int count = 0;
    for (std::size_t d = 0; d < g.rank(t); d++)
        count += !g.has_size(t, d, 1);
    return count;
}

bool is_likely_to_go(const ort_graph &g, node_id transpose) {
    const std::vector<node_id> &readers = g.consumers(g.output(transpose));
    return all_of(readers, [&](node_id r) { return r && is_passable(g, r); });
}

/// Codes behind which a DequantizeLinear that one node reads hides constants.
node_id hidden_constant(const ort_graph &g, tensor_id t) {
    const node_id dq = g.writer(t, "DequantizeLinear");
    return dq && g.only_consumer(t) && g.is_constant(g.input(dq, 0)) ? dq : node_id();
}

int cost_of_input(const ort_graph &g, tensor_id t, const order &p) {
    if (g.is_constant(t) || hidden_constant(g, t))
        return 0;
    node_id from = g.producer(t);
    if (g.is(from, "DequantizeLinear") && g.producer(g.input(from, 0)))
        from = g.producer(g.input(from, 0));
    if (g.is(from, "Transpose") && !order_of(g, from).empty())
        return order_of(g, from) == p && is_likely_to_go(g, from) ? -weight_of(g, t) : 0;
    return weight_of(g, t);
}

class transpose_mover {
public:
    explicit transpose_mover(ort_graph &g) : g_(g) {}

    void run() {
        const std::vector<node_id> nodes = g_.visiting_order();
        find_outputs_that_lead_on(nodes);
        bool has_dq = false;
        for (const node_id i : nodes) {
            if (g_.is_removed(i))
                continue;
            has_dq = has_dq || g_.is(i, "DequantizeLinear");
            for (std::size_t k = 0; k < g_.at(i).inputs.size(); k++) {
                const node_id transpose = g_.writer(g_.input(i, k), "Transpose");
                if (transpose && push(transpose, i, k))
                    break;
            }
        }
        if (has_dq)
            repair_pairs(g_);
    }

private:
    void find_outputs_that_lead_on(const std::vector<node_id> &nodes) {
        for (auto i = nodes.rbegin(); i != nodes.rend(); ++i) {
            if (g_.is(*i, "Transpose")) {
                leads_on_.insert(g_.input(*i, 0));
                continue;
            }
            if (is_passable(g_, *i) && transposes_outputs(g_.facts(*i).passing.kind) &&
                has_output_that_leads_on(*i))
                for (const std::int64_t k : passed_inputs_of(g_, *i))
                    leads_on_.insert(g_.input(*i, static_cast<std::size_t>(k)));
        }
    }
    bool has_output_that_leads_on(node_id i) const {
        const tensor_ids outputs = g_.outputs(i);
        return any_of(outputs, [&](tensor_id t) { return leads_on_.count(t) != 0; });
    }

    bool push(node_id transpose, node_id i, std::size_t input) {
        const passing_kind kind = g_.facts(i).passing.kind;
        const order p = order_of(g_, transpose);
        if (kind == passing_kind::unknown || p.empty())
            return false;
        const order through = passed_inputs_of(g_, i);
        if (std::find(through.begin(), through.end(), static_cast<std::int64_t>(input)) == through.end())
            return false;
        if (!has_ranks(i, through, p.size(), kind))
            return false;
        if (kind != passing_kind::transpose && cost(i, kind, through, p) >= 0)
            return false;
        return moved_node(g_, i, transpose, p, through).pass(kind);
    }

    /// True if the inputs have the ranks that the operator needs, since a graph may say anything of its
    /// tensors. Constants of other ranks stay as they are, and operands of a broadcast may have fewer
    /// dimensions.
    bool has_ranks(node_id i, const order &through, std::size_t rank, passing_kind kind) const {
        return std::all_of(through.begin(), through.end(), [&](std::int64_t k) {
            const tensor_id t = g_.input(i, static_cast<std::size_t>(k));
            return t && (g_.rank(t) == rank || g_.is_constant(t) || kind == passing_kind::broadcast);
        });
    }

    int cost(node_id i, passing_kind kind, const order &through, const order &p) const {
        int sum = 0;
        for (const std::int64_t k : through)
            sum += cost_of_input(g_, g_.input(i, static_cast<std::size_t>(k)), p);
        if (sum >= 0 || !transposes_outputs(kind) || has_output_that_leads_on(i))
            return sum;
        int most = 0;
        for (const tensor_id t : g_.outputs(i))
            most = std::max(most, !t ? 0 : weight_of(g_, t));
        return sum + most;
    }

    ort_graph &g_;
    std::set<tensor_id> leads_on_; ///< tensors from which passable operators lead to a Transpose
};

} // namespace

void optimize_transposes(ort_graph &g) { transpose_mover(g).run(); }

} // namespace octet::model::ort
