// A network is made for each part before it is claimed, since only now ONNX Runtime can still run it
// otherwise. Where that fails, each group of the part is tried by itself: those that fail are left, and parts
// are formed anew.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime/claims.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "octet/onnx_graph.hpp"
#include "onnxruntime/compiled.hpp"
#include "onnxruntime/cost.hpp"

namespace octet::onnxruntime {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Groups of nodes. A group is named by its first node.
class partition {
public:
    explicit partition(std::size_t count) : first_(count) { std::iota(first_.begin(), first_.end(), 0); }
    int find(int i) {
        while (first_[at(i)] != i)
            i = first_[at(i)] = first_[at(first_[at(i)])];
        return i;
    }
    void join(int a, int b) {
        a = find(a), b = find(b);
        first_[at(std::max(a, b))] = std::min(a, b);
    }

private:
    std::vector<int> first_;
};

/// Nodes whose results are known before the network runs.
std::vector<bool> constant_nodes(const graph &g) {
    std::vector<bool> is_constant(g.nodes.size());
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        is_constant[i] = std::all_of(g.nodes[i].inputs.begin(), g.nodes[i].inputs.end(), [&](int v) {
            if (v < 0)
                return true;
            const value &read = g.values[at(v)];
            return read.constant || (read.producer >= 0 && is_constant[at(read.producer)]);
        });
    return is_constant;
}

bool is_code(int type) { return type == element::u8 || type == element::s8; }

/// Whether a node is nothing that Octet could run: no transformer joins it with others.
bool is_foreign(const node &n) { return n.has_graphs || !model::is_onnx_operator(n.op); }

/// Whether a node reads or writes codes.
bool has_codes(const graph &g, const node &n) {
    const auto are_codes = [&](int v) { return v >= 0 && is_code(g.values[at(v)].type); };
    return std::any_of(n.inputs.begin(), n.inputs.end(), are_codes) ||
           std::any_of(n.outputs.begin(), n.outputs.end(), are_codes);
}

/// A pair on s8, which ONNX Runtime makes one on u8: neither side of a border could do so alone.
bool is_signed_pair(const graph &g, const value &codes, int reader) {
    return codes.type == element::s8 && g.nodes[at(codes.producer)].op == "QuantizeLinear" &&
           g.nodes[at(reader)].op == "DequantizeLinear";
}

/// Returns why ONNX Runtime would compute another result if Octet took this value's producer; empty if it
/// would not. What an operator between codes becomes in ONNX Runtime depends on the readers of its result,
/// and Octet does not see the readers outside of a part.
std::string why_readers_matter(const graph &g, const value &v) {
    const auto count = [&](const auto &kind) {
        return std::count_if(v.consumers.begin(), v.consumers.end(),
                             [&](int c) { return kind(g.nodes[at(c)]); });
    };
    const auto writer = [&](int value) -> const node * {
        return value < 0 || g.values[at(value)].producer < 0 ? nullptr
                                                             : &g.nodes[at(g.values[at(value)].producer)];
    };
    const auto is_limit = [](const node &n) { return n.op == "Relu" || n.op == "Clip"; };
    const auto outside = count(is_foreign);
    if (is_code(v.type) || outside == 0)
        return "";
    // The bias of an operator is quantized that one QuantizeLinear reads, after Relu or Clip at most; other
    // readers count as little as an output of the graph.
    if (count([&](const node &n) { return n.op == "QuantizeLinear" || is_limit(n); }) != 0)
        return "what it computes is quantized, and read by an operator that Octet lacks; by itself it would "
               "get a quantized bias";
    // An operator stays on floats whose result goes through a Relu or Clip that has one reader.
    const node &limit = g.nodes[at(v.producer)];
    const node *const limited = is_limit(limit) ? writer(limit.inputs[0]) : nullptr;
    const bool reads_codes =
        limited && std::any_of(limited->inputs.begin(), limited->inputs.end(), [&](int x) {
            const node *const n = writer(x);
            return n && n->op == "DequantizeLinear";
        });
    const auto inside = static_cast<std::ptrdiff_t>(v.consumers.size()) - outside;
    return reads_codes && (inside + outside == 1) != (inside == 1)
               ? "an operator that Octet lacks reads what it computes; with other readers it would be "
                 "computed on codes"
               : "";
}

bool is_product_of_floats(const std::string &op) {
    return model::onnx_products(op) == model::summed_products::of_floats;
}

template <typename T> T attribute_of(const model::node &n, const char *name, T fallback) {
    const auto found = n.attributes.find(name);
    const T *const value = found == n.attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value ? *value : fallback;
}

/// Whether ONNX Runtime sums up a product with a matrix that it does not pack in an order that Octet lacks:
/// with one column, or with one row where it is transposed or multiplied by a factor.
bool has_other_order(const model::node &n, const model::tensor &a, const model::tensor &b) {
    const auto is_transposed = [&](const char *name) { return attribute_of<std::int64_t>(n, name, 0) != 0; };
    const auto size = [](const model::tensor &t, bool is_last) {
        const std::size_t rank = t.dims.size();
        return rank < 2 ? 1 : t.dims[rank - (is_last ? 1 : 2)];
    };
    const bool is_row = size(a, is_transposed("transA")) == 1,
               is_column = size(b, !is_transposed("transB")) == 1 || b.dims.size() < 2;
    return is_column || (is_row && (is_transposed("transA") || is_transposed("transB") ||
                                    attribute_of(n, "alpha", 1.f) != 1.f));
}

/// The DequantizeLinear of a product of floats with weights in codes alone, or null: ONNX Runtime makes codes
/// of the floats (MatMulNBits), Octet computes floats.
const node *weights_alone_in_codes(const graph &g, const node &n) {
    const auto writer = [&](std::size_t input) -> const node * {
        const int v = input < n.inputs.size() ? n.inputs[input] : -1;
        return v < 0 || g.values[at(v)].producer < 0 ? nullptr : &g.nodes[at(g.values[at(v)].producer)];
    };
    if (n.op != "MatMul" && n.op != "Gemm")
        return nullptr;
    const node *const a = writer(0), *const b = writer(1);
    const bool is_weights = b && b->op == "DequantizeLinear" && !b->inputs.empty() && b->inputs[0] >= 0 &&
                            g.values[at(b->inputs[0])].constant;
    return is_weights && !(a && a->op == "DequantizeLinear") ? b : nullptr;
}

/// Why a node cannot be in any part, empty if it can.
std::string why_not(const graph &g, const node &n, const session_settings &s) {
    if (n.has_graphs)
        return "it has graphs inside";
    if (!model::is_onnx_operator(n.op))
        return "Octet lacks the operator";
    if (std::any_of(n.inputs.begin(), n.inputs.end(),
                    [&](int v) { return v >= 0 && g.values[at(v)].is_outer_constant; }))
        return "it reads a constant of an outer graph, which some of ONNX Runtime's transformers see and "
               "some do not";
    if (s.claim == claim_kind::quantized && weights_alone_in_codes(g, n))
        return "only its weights are codes, and ONNX Runtime makes codes of the floats, too (option claim)";
    const bool is_pair = n.op == "QuantizeLinear" || n.op == "DequantizeLinear";
    if (is_pair && s.pairs_stay)
        return "session.disable_quant_qdq asks for floats";
    return "";
}

/// Nodes of a part, as few words as say it.
std::string list_of(const graph &g, const std::vector<int> &nodes) {
    return std::to_string(nodes.size()) + (nodes.size() == 1 ? " node, " : " nodes, ") +
           text_of(g, nodes.front()) + (nodes.size() == 1 ? "" : " to " + text_of(g, nodes.back()));
}

/// Tries claims until all parts could be made.
class claims {
public:
    claims(const runtime &ort, const graph &g, const session_settings &settings,
           const std::function<void(const std::string &)> &tell)
        : ort_(ort), g_(g), settings_(settings), tell_(tell), groups_(groups_of(g)) {
        for (std::size_t v = 0; v < g.values.size(); v++)
            values_.emplace(g.values[v].name, static_cast<int>(v));
    }

    std::vector<std::unique_ptr<part>> make() {
        claim_what_is_supported();
        for (;;) {
            const std::vector<bool> before = claimed_;
            const auto parts = parts_of(g_, groups_, claimed_);
            tell_divided(before);
            bool is_done = true;
            for (const auto &nodes : parts)
                is_done = make(nodes) && is_done;
            if (is_done)
                return take(parts);
        }
    }

private:
    void leave(int group, const std::string &reason) {
        for (std::size_t i = 0; i < g_.nodes.size(); i++)
            if (groups_[i] == group)
                claimed_[i] = false;
        tell_("left: " + list_of(g_, members(group)) + ": " + reason);
    }
    std::vector<int> members(int group) const {
        std::vector<int> nodes;
        for (std::size_t i = 0; i < g_.nodes.size(); i++)
            if (groups_[i] == group)
                nodes.push_back(static_cast<int>(i));
        return nodes;
    }

    void claim_what_is_supported() {
        std::map<int, std::string> refused;
        std::set<int> quantized;
        for (std::size_t i = 0; i < g_.nodes.size(); i++) {
            if (has_codes(g_, g_.nodes[i]))
                quantized.insert(groups_[i]);
            if (const std::string reason = why_not(g_, g_.nodes[i], settings_); !reason.empty())
                refused.emplace(groups_[i], text_of(g_, static_cast<int>(i)) + ": " + reason);
        }
        if (settings_.claim == claim_kind::quantized)
            for (const value &v : g_.values)
                if (const std::string why = v.producer < 0 ? "" : why_readers_matter(g_, v); !why.empty())
                    refused.emplace(groups_[at(v.producer)],
                                    text_of(g_, v.producer) + ": " + why + " (option claim)");
        claimed_.assign(g_.nodes.size(), true);
        for (const int group : std::set<int>(groups_.begin(), groups_.end()))
            if (is_compiled(g_.nodes[at(group)])) // the provider takes it by itself
                claimed_[at(group)] = false;
            else if (const auto found = refused.find(group); found != refused.end())
                leave(group, found->second);
            else if (settings_.claim == claim_kind::quantized && quantized.count(group) == 0)
                leave(group, "nothing in it is codes (option claim)");
    }

    void tell_divided(const std::vector<bool> &before) const {
        std::set<int> told;
        for (std::size_t i = 0; i < before.size(); i++)
            if (before[i] && !claimed_[i] && told.insert(groups_[i]).second)
                tell_("left: " + list_of(g_, members(groups_[i])) + ": what is left lies between its nodes");
    }

    /// False if claims have changed.
    bool make(const std::vector<int> &nodes) {
        if (made_.count(nodes) != 0)
            return true;
        std::string reason;
        std::map<int, std::string> inexact;
        made_[nodes] = try_nodes(nodes, reason, inexact);
        if (made_[nodes])
            return true;
        made_.erase(nodes);
        if (!inexact.empty()) {
            for (const auto &[group, why] : inexact)
                leave(group, why);
            return false;
        }
        std::map<int, std::string> refused;
        for (const auto &[i, why] : part::refused(ort_, g_, select(g_, nodes)))
            refused.emplace(groups_[at(i)], text_of(g_, i) + ": " + why);
        for (const auto &[group, why] : refused)
            leave(group, why);
        if (!refused.empty())
            return false;
        std::set<int> groups;
        for (const int i : nodes)
            groups.insert(groups_[at(i)]);
        std::size_t failed = 0;
        if (groups.size() > 1)
            for (const int group : groups) {
                std::string own_reason;
                std::map<int, std::string> own_inexact; // is found out again where the rest works
                if (!try_nodes(members(group), own_reason, own_inexact) && own_inexact.empty()) {
                    leave(group, own_reason);
                    failed++;
                }
            }
        if (failed == 0)
            for (const int group : groups)
                leave(group, reason);
        return false;
    }

    /// Null with the reason, and with groups to blame where it is their bytes.
    std::unique_ptr<part> try_nodes(const std::vector<int> &nodes, std::string &reason,
                                    std::map<int, std::string> &inexact) const {
        try {
            const selection chosen = select(g_, nodes);
            auto made = std::make_unique<part>(ort_, g_, chosen, settings_, tell_);
            if (settings_.claim == claim_kind::all)
                return made;
            const model::graph &runs = made->network_graph();
            for (std::size_t i = 0; i < runs.nodes.size(); i++)
                if (const std::string why = why_other_bytes(runs, runs.nodes[i]); !why.empty()) {
                    const int blamed = model::node_number(runs, i);
                    inexact.emplace(groups_[at(blamed)],
                                    text_of(g_, blamed) + ": " + why + " (option claim)");
                }
            if (inexact.empty())
                return made;
        } catch (const error &e) {
            reason = e.what();
        }
        return nullptr;
    }

    std::string why_other_bytes(const model::graph &runs, const model::node &n) const {
        return why_inexact(runs, n, [&](const model::tensor &matrix) {
            const auto found = values_.find(matrix.name);
            return found == values_.end() || g_.values[at(found->second)].constant;
        });
    }

    /// Why a part is not worth its cost, empty if it is. What only a run tells the size of may be large.
    std::string why_not_worth_it(const part &p) const {
        if (settings_.minimum == 1)
            return "";
        const run_cost cost = cost_of(g_, p.nodes(), p.network_graph());
        if (cost.products == 0 && p.nodes().size() < settings_.minimum)
            return "no product, and fewer nodes than " + std::to_string(settings_.minimum) +
                   " (option minimum)";
        return p.is_open() || cost.saved() > run_cost::border ? "" : text_of(cost) + " (option minimum)";
    }

    std::vector<std::unique_ptr<part>> take(const std::vector<std::vector<int>> &parts) {
        std::vector<std::unique_ptr<part>> taken;
        for (const auto &nodes : parts)
            if (const std::string why = why_not_worth_it(*made_.at(nodes)); !why.empty()) {
                tell_("left: " + list_of(g_, nodes) + ": " + why);
            } else {
                tell_("taken: " + list_of(g_, nodes));
                taken.push_back(std::move(made_.at(nodes)));
            }
        return taken;
    }

    const runtime &ort_;
    const graph &g_;
    const session_settings &settings_;
    const std::function<void(const std::string &)> &tell_;
    const std::vector<int> groups_;
    std::unordered_map<std::string, int> values_; ///< by name
    std::vector<bool> claimed_;
    std::map<std::vector<int>, std::unique_ptr<part>> made_;
};

} // namespace

std::vector<int> groups_of(const graph &g) {
    partition groups(g.nodes.size());
    const std::vector<bool> is_constant = constant_nodes(g);
    for (const value &v : g.values) {
        if (v.producer < 0 || is_foreign(g.nodes[at(v.producer)]))
            continue;
        const bool may_be_border = is_code(v.type) && !is_constant[at(v.producer)];
        for (const int reader : v.consumers)
            if (!is_foreign(g.nodes[at(reader)]) && (!may_be_border || is_signed_pair(g, v, reader)))
                groups.join(v.producer, reader);
    }
    // Weights without other operands in codes become something else in ONNX Runtime if other nodes read their
    // codes and scales, so all these readers stay together.
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (const node *const weights = weights_alone_in_codes(g, g.nodes[i]))
            for (std::size_t k = 0; k < std::min<std::size_t>(weights->inputs.size(), 2); k++)
                if (const int constant = weights->inputs[k]; constant >= 0)
                    for (const int reader : g.values[at(constant)].consumers)
                        if (!is_foreign(g.nodes[at(reader)]))
                            groups.join(static_cast<int>(i), reader);
    std::vector<int> result;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        result.push_back(groups.find(static_cast<int>(i)));
    return result;
}

namespace {

/// Claimed groups and nodes that are not, as the steps of paths.
class walk {
public:
    walk(const graph &g, const std::vector<int> &groups, const std::vector<bool> &claimed)
        : g_(g), groups_(groups), claimed_(claimed) {
        for (std::size_t i = 0; i < g.nodes.size(); i++)
            members_[vertex(static_cast<int>(i))].push_back(static_cast<int>(i));
    }

    /// Whether a path leaves a claimed group through what is not claimed, and returns.
    bool returns_to(int group) const {
        std::set<std::pair<int, bool>>
            seen; // vertices, and whether something that is not claimed was on the way
        std::vector<std::pair<int, bool>> next{{group, false}};
        while (!next.empty()) {
            const auto [from, has_left] = next.back();
            next.pop_back();
            for (const int i : members_.at(from))
                for (const int v : g_.nodes[at(i)].outputs)
                    for (const int reader : v < 0 ? std::vector<int>() : g_.values[at(v)].consumers) {
                        const std::pair<int, bool> to{vertex(reader), has_left || !claimed_[at(reader)]};
                        if (to.first == group && to.second)
                            return true;
                        if (to.first != group && seen.insert(to).second)
                            next.push_back(to);
                    }
        }
        return false;
    }

private:
    /// Groups by their first nodes, other nodes behind them.
    int vertex(int i) const {
        return claimed_[at(i)] ? groups_[at(i)] : static_cast<int>(g_.nodes.size()) + i;
    }

    const graph &g_;
    const std::vector<int> &groups_;
    const std::vector<bool> &claimed_;
    std::map<int, std::vector<int>> members_;
};

/// How often a path to a node has changed sides, at most; equal in a claimed group. What lies on a path
/// between two nodes of one depth has their side.
std::vector<int> depths_of(const graph &g, const std::vector<int> &groups, const std::vector<bool> &claimed) {
    std::vector<int> depth(g.nodes.size()), of_group(g.nodes.size());
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (std::size_t i = 0; i < g.nodes.size(); i++) {
            int deepest = claimed[i] ? of_group[at(groups[i])] : 0;
            for (const std::vector<int> *read : {&g.nodes[i].inputs, &g.nodes[i].implicit})
                for (const int v : *read)
                    if (const int p = v < 0 ? -1 : g.values[at(v)].producer; p >= 0)
                        deepest = std::max(deepest, depth[at(p)] + (claimed[at(p)] != claimed[i] ? 1 : 0));
            has_changed = has_changed || deepest != depth[i];
            depth[i] = deepest;
            if (claimed[i])
                of_group[at(groups[i])] = deepest;
        }
    }
    return depth;
}

} // namespace

std::vector<std::vector<int>> parts_of(const graph &g, const std::vector<int> &groups,
                                       std::vector<bool> &claimed) {
    for (bool are_whole = false; !are_whole;) {
        std::set<int> divided;
        const walk paths(g, groups, claimed);
        for (std::size_t i = 0; i < g.nodes.size(); i++)
            if (claimed[i] && groups[i] == static_cast<int>(i) && paths.returns_to(groups[i]))
                divided.insert(groups[i]);
        are_whole = divided.empty();
        for (std::size_t i = 0; i < g.nodes.size(); i++)
            claimed[i] = claimed[i] && divided.count(groups[i]) == 0;
    }
    const std::vector<int> depth = depths_of(g, groups, claimed);
    partition parts(g.nodes.size());
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (claimed[i]) // constants may be all that connects a group
            parts.join(groups[i], static_cast<int>(i));
    for (const value &v : g.values)
        if (v.producer >= 0)
            for (const int reader : v.consumers)
                if (claimed[at(v.producer)] && claimed[at(reader)] &&
                    depth[at(v.producer)] == depth[at(reader)])
                    parts.join(v.producer, reader);
    std::map<int, std::vector<int>> by_first;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (claimed[i])
            by_first[parts.find(static_cast<int>(i))].push_back(static_cast<int>(i));
    std::vector<std::vector<int>> result;
    for (auto &[first, nodes] : by_first)
        result.push_back(std::move(nodes));
    return result;
}

std::string why_inexact(const model::graph &g, const model::node &n,
                        const std::function<bool(const model::tensor &)> &is_constant) {
    const auto tensor = [&](std::size_t i) -> const model::tensor * {
        return i < n.inputs.size() && n.inputs[i] >= 0 ? &g.tensors[at(n.inputs[i])] : nullptr;
    };
    static constexpr std::string_view sums[] = {"AveragePool", "Conv", "ConvTranspose"};
    if (std::find(std::begin(sums), std::end(sums), n.op) != std::end(sums))
        return "its sums of floats may have other last bits than ONNX Runtime's";
    const model::tensor *const a = tensor(0), *const b = tensor(1);
    const bool is_packed = b && b->is_constant && is_constant(*b);
    const bool is_inexact = is_product_of_floats(n.op) && a && b && !is_packed && has_other_order(n, *a, *b);
    return is_inexact
               ? "its sums of a single row or column of floats may have other last bits than ONNX Runtime's"
               : "";
}

std::vector<std::unique_ptr<part>> claim(const runtime &ort, const graph &g, const session_settings &settings,
                                         const std::function<void(const std::string &)> &tell) {
    return claims(ort, g, settings, tell).make();
}

} // namespace octet::onnxruntime
