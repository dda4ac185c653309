// What ONNX Runtime knows of sizes that a network computes, noted before their nodes go
// (passes/fold_integers.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/sized_constants.hpp"

#include <algorithm>
#include <tuple>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/passes/fold_integers.hpp"

namespace octet::model {

namespace {

bool is_any(const std::vector<int> &inputs, std::size_t first, const std::set<int> &tensors) {
    return inputs.size() > first && std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                                inputs.end(), [&](int t) { return tensors.count(t) != 0; });
}

/// Whether a tensor is `source`, but for pairs of QuantizeLinear and DequantizeLinear.
bool is_past_pairs(const graph &g, int t, int source) {
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend() && t != source; ++n)
        if ((n->op == "QuantizeLinear" || n->op == "DequantizeLinear") && n->outputs[0] == t &&
            !n->inputs.empty())
            t = n->inputs[0];
    return t == source;
}

/// Whether ONNX Runtime keeps a Shape: others need it than Reshapes of its own source, which can copy sizes
/// (ReshapeFusion).
bool is_needed(const graph &g, std::size_t shape) {
    const int source = g.nodes[shape].inputs[0];
    std::vector<bool> follows(g.tensors.size()); // from it
    const auto is_following = [&](int t) { return t >= 0 && follows[static_cast<std::size_t>(t)]; };
    follows[static_cast<std::size_t>(g.nodes[shape].outputs[0])] = true;
    bool is_read = false, is_copied = true; // by single sizes that a Concat lists
    for (std::size_t i = shape + 1; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        if (std::none_of(n.inputs.begin(), n.inputs.end(), is_following))
            continue;
        is_read = true;
        if (gives_known_integers(g, n)) {
            follows[static_cast<std::size_t>(n.outputs[0])] = true;
            const bool is_one = element_count(g.tensors[static_cast<std::size_t>(n.outputs[0])].dims) == 1;
            is_copied =
                is_copied && (n.op == "Concat" || (is_one && (n.op == "Gather" || n.op == "Unsqueeze")));
        } else if (n.op != "Reshape" ||
                   (n.inputs[0] != source && !(is_copied && is_past_pairs(g, n.inputs[0], source)))) {
            return true;
        }
    }
    return !is_read || std::any_of(g.outputs.begin(), g.outputs.end(), is_following);
}

bool has_open_inputs(const graph &g) {
    return std::any_of(g.inputs.begin(), g.inputs.end(),
                       [&](int t) { return !g.tensors[static_cast<std::size_t>(t)].dim_names.empty(); });
}

/// Nodes that read sizes of what others compute, in a network with open ones.
std::vector<bool> needed_shapes(const graph &g) {
    std::vector<bool> needed(g.nodes.size()), is_computed(g.tensors.size());
    if (!has_open_inputs(g))
        return needed;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        needed[i] = n.op == "Shape" && !n.inputs.empty() && n.inputs[0] >= 0 && n.outputs.size() == 1 &&
                    is_computed[static_cast<std::size_t>(n.inputs[0])] && is_needed(g, i);
        for (const int t : n.outputs)
            if (t >= 0)
                is_computed[static_cast<std::size_t>(t)] = true;
    }
    return needed;
}

/// Tensors that are equal once common subexpressions are one have one number.
class equal_tensors {
public:
    explicit equal_tensors(const graph &g) : g_(g) {
        for (const node &n : g.nodes) {
            std::vector<int> inputs;
            for (const int t : n.inputs)
                inputs.push_back(number_of_read(t));
            std::vector<const node *> &readers = readers_[inputs];
            readers.push_back(&n);
            if (n.op == "DequantizeLinear" && !n.outputs.empty())
                dequantized_.insert(n.outputs[0]);
            for (std::size_t k = 0; k < n.outputs.size(); k++)
                if (n.outputs[k] >= 0)
                    numbers_[n.outputs[k]] =
                        (*std::find_if(readers.begin(), readers.end(), [&](const node *first) {
                            return k < first->outputs.size() && first->outputs[k] >= 0 &&
                                   are_alike(g, *first, n);
                        }))->outputs[k];
        }
    }
    int number_of(int t) {
        if (const auto found = numbers_.find(t); found != numbers_.end())
            return found->second;
        if (t < 0 || !g_.tensors[at(t)].is_constant || element_count(g_.tensors[at(t)].dims) > most_elements)
            return t;
        const tensor &c = g_.tensors[at(t)];
        return numbers_[t] =
                   constants_
                       .emplace(std::make_tuple(c.type, c.dims, std::string(c.data.begin(), c.data.end())), t)
                       .first->second;
    }

private:
    static constexpr std::int64_t most_elements = 8;

    /// A DequantizeLinear is there for each reader, and each has values of its own
    /// (EnsureUniqueDQForNodeUnit).
    int number_of_read(int t) { return dequantized_.count(t) != 0 ? --last_own_ : number_of(t); }

    const graph &g_;
    int last_own_ = -1; ///< below what an absent input has
    std::set<int> dequantized_;
    std::map<int, int> numbers_;
    std::map<std::vector<int>, std::vector<const node *>> readers_; ///< by the numbers of what they read
    std::map<std::tuple<data_type, memory::dims, std::string>, int> constants_;
};

/// Nodes that compute sizes of a network with open ones, before they are gone.
class size_nodes {
public:
    explicit size_nodes(const graph &g) : g_(g), equal_(g) {
        for (const node &n : g.nodes)
            for (const int t : n.outputs)
                if (t >= 0)
                    writers_[t] = &n;
    }

    std::map<int, size_node> find() {
        std::map<int, size_node> found;
        for (const node &n : g_.nodes)
            if (gives_known_integers(g_, n))
                found[n.outputs[0]] = {n, 0, equal_.number_of(n.outputs[0]),
                                       n.op == "Concat" ? entries_of(n) : std::vector<size_entry>()};
        std::map<int, std::set<std::pair<int, std::size_t>>> readers; ///< of equal tensors
        for (const node &n : g_.nodes)
            for (std::size_t k = 0; k < n.inputs.size() && !n.outputs.empty(); k++)
                if (found.count(n.inputs[k]) != 0)
                    readers[equal_.number_of(n.inputs[k])].emplace(equal_.number_of(n.outputs[0]), k);
        for (const int t : g_.outputs)
            if (found.count(t) != 0)
                readers[equal_.number_of(t)].emplace(-1, 0);
        for (auto &[t, n] : found)
            n.readers = readers[n.equal_to].size();
        return found;
    }

private:
    const node *any_writer(int t) const {
        const auto found = writers_.find(t);
        return found != writers_.end() && !found->second->inputs.empty() ? found->second : nullptr;
    }
    const node *writer(int t, std::string_view op) const {
        const node *const n = any_writer(t);
        return n && n->op == op ? n : nullptr;
    }
    /// Integers of a constant.
    std::vector<std::int32_t> integers(int t) const {
        if (t < 0 || !g_.tensors[at(t)].is_constant || g_.tensors[at(t)].type != data_type::s32)
            return {};
        return values_of<std::int32_t>(g_.tensors[at(t)]);
    }

    /// None where something is no list of integers.
    std::vector<size_entry> entries_of(const node &concat) const {
        std::vector<size_entry> entries;
        for (const int t : concat.inputs) {
            if (t < 0)
                return {};
            if (g_.tensors[at(t)].is_constant) {
                if (g_.tensors[at(t)].type != data_type::s32)
                    return {};
                for (const std::int32_t v : integers(t))
                    entries.push_back({-1, 0, v});
            } else if (element_count(g_.tensors[at(t)].dims) == 1)
                entries.push_back(dimension(t));
            else
                return {};
        }
        return entries;
    }
    /// What stands before operators that change no size, which are gone when sizes are looked at.
    int before_noops(int t) const {
        constexpr std::int64_t as_s64 = 7;
        for (const node *n = nullptr; (n = any_writer(t)) != nullptr;) {
            const std::vector<int> &in = n->inputs;
            const auto is = [&](std::size_t k, std::int32_t value) {
                return k < in.size() && integers(in[k]) == std::vector<std::int32_t>{value};
            };
            const bool is_sum = n->op == "Add", is_product = n->op == "Mul";
            if (n->op == "Identity" ||
                (n->op == "Cast" && attribute_or<std::int64_t>(*n, "to", 0) == as_s64 &&
                 !writer(in[0], "Cast")) ||
                (is_sum && is(1, 0)) || (is_product && is(1, 1)))
                t = in[0];
            else if ((is_sum && is(0, 0)) || (is_product && is(0, 1)))
                t = in[1];
            else
                break;
        }
        return t;
    }

    /// Unsqueeze of Gather of Shape.
    size_entry dimension(int t) const {
        const node *const alone = writer(before_noops(t), "Unsqueeze");
        const node *const gather = alone ? writer(before_noops(alone->inputs[0]), "Gather") : nullptr;
        const node *const shape = gather ? writer(gather->inputs[0], "Shape") : nullptr;
        const std::vector<std::int32_t> index =
            gather && gather->inputs.size() > 1 ? integers(gather->inputs[1]) : std::vector<std::int32_t>();
        if (!shape || index.size() != 1 || index[0] < 0 || !shape->attributes.empty())
            return {};
        return {shape->inputs[0], static_cast<std::size_t>(index[0]), {}};
    }

    const graph &g_;
    equal_tensors equal_;
    std::map<int, const node *> writers_;
};

/// A reader of what a Shape reads, of which nobody reads anything.
node unread_copy(graph &g, const node &shape) {
    tensor unread = g.tensors[at(shape.outputs[0])];
    unread.data = {};
    g.tensors.push_back(std::move(unread));
    node copy = shape;
    copy.outputs = {static_cast<int>(g.tensors.size() - 1)};
    return copy;
}

} // namespace

std::vector<bool> open_dims(const graph &g, const node &n, const operator_facts &facts,
                            const sized_constants &sized) {
    const std::size_t rank = g.tensors[at(n.outputs.at(0))].dims.size();
    std::vector<bool> open;
    for (const int t : n.inputs)
        if (const auto found = sized.open_dims.find(t); found != sized.open_dims.end()) {
            if (found->second.size() != rank)
                return std::vector<bool>(rank, true);
            open.resize(rank);
            for (std::size_t d = 0; d < rank; d++)
                open[d] = open[d] || found->second[d];
        }
    const std::size_t first = facts.dims.first;
    if (first == dims_from_values::none || !is_any(n.inputs, first, sized.tensors))
        return open;
    return std::vector<bool>(rank, true);
}

sized_constants take_sized_constants(graph &g) {
    sized_constants folded;
    if (std::none_of(g.nodes.begin(), g.nodes.end(),
                     [&](const node &n) { return gives_known_integers(g, n); }))
        return folded;
    const std::vector<bool> needed = needed_shapes(g);
    if (has_open_inputs(g))
        folded.nodes = size_nodes(g).find();
    fold_integers(g, [&](std::size_t i) {
        const node &n = g.nodes[i];
        const int sizes = n.outputs[0];
        if (n.op == "Shape" && !n.inputs.empty())
            folded.measured.insert(n.inputs[0]);
        const operator_facts &facts = facts_of(g, n);
        std::vector<bool> open = open_dims(g, n, facts, folded);
        if (!facts.is_known_from_dims && std::count(open.begin(), open.end(), true) != 0)
            folded.open_dims.emplace(sizes, std::move(open));
        folded.tensors.insert(sizes);
        folded.in_order.push_back(sizes);
        return needed[i] ? std::vector<node>{unread_copy(g, n)} : std::vector<node>();
    });
    return folded;
}

} // namespace octet::model
