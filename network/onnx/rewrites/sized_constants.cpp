// As `constant_folding.cc` of ONNX Runtime 1.30, level 1: what is known of sizes that a network computes,
// noted before their nodes go (passes/fold_integers.hpp).
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/rewrites/sized_constants.hpp"

#include <algorithm>
#include <tuple>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/passes/fold_integers.hpp"

namespace octet::model {

namespace {

bool reads_any(tensor_ids inputs, std::size_t first, const std::set<tensor_id> &tensors) {
    return inputs.size() > first &&
           std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(first), inputs.end(),
                       [&](tensor_id t) { return tensors.count(t) != 0; });
}

/// Whether a tensor is `source`, but for pairs of QuantizeLinear and DequantizeLinear.
bool is_past_pairs(const graph &g, tensor_id t, tensor_id source) {
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend() && t != source; ++n)
        if ((n->op == "QuantizeLinear" || n->op == "DequantizeLinear") && output_of(*n) == t &&
            !n->inputs.empty())
            t = input_of(*n, 0);
    return t == source;
}

/// Whether ONNX Runtime keeps a Shape: others need it than Reshapes of its own source, which can copy sizes
/// (ReshapeFusion).
bool is_needed(const graph &g, std::size_t shape) {
    const tensor_id source = input_of(g.nodes[shape], 0);
    std::vector<bool> follows(g.tensors.size()); // from it
    const auto is_following = [&](tensor_id t) { return t && follows[t.index()]; };
    follows[output_of(g.nodes[shape]).index()] = true;
    bool is_read = false, is_copied = true; // by single sizes that a Concat lists
    for (std::size_t i = shape + 1; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        if (none_of(inputs_of(n), is_following))
            continue;
        is_read = true;
        if (gives_known_integers(g, n)) {
            follows[output_of(n).index()] = true;
            const bool is_one = element_count(tensor_at(g, output_of(n)).dims) == 1;
            is_copied =
                is_copied && (n.op == "Concat" || (is_one && (n.op == "Gather" || n.op == "Unsqueeze")));
        } else if (n.op != "Reshape" ||
                   (input_of(n, 0) != source && !(is_copied && is_past_pairs(g, input_of(n, 0), source)))) {
            return true;
        }
    }
    return !is_read || any_of(outputs_of(g), is_following);
}

bool has_open_inputs(const graph &g) {
    return any_of(inputs_of(g), [&](tensor_id t) { return !tensor_at(g, t).dim_names.empty(); });
}

/// Nodes that read sizes of what others compute, in a network with open ones.
std::vector<bool> needed_shapes(const graph &g) {
    std::vector<bool> needed(g.nodes.size()), is_computed(g.tensors.size());
    if (!has_open_inputs(g))
        return needed;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        needed[i] = n.op == "Shape" && input_of(n, 0) && n.outputs.size() == 1 &&
                    is_computed[input_of(n, 0).index()] && is_needed(g, i);
        for (const tensor_id t : outputs_of(n))
            if (t)
                is_computed[t.index()] = true;
    }
    return needed;
}

/// The first of those tensors that are equal once common subexpressions are one.
class equal_tensors {
public:
    explicit equal_tensors(const graph &g) : g_(g) {
        for (const node &n : g.nodes) {
            std::vector<int> inputs;
            for (const tensor_id t : inputs_of(n))
                inputs.push_back(number_of_read(t));
            std::vector<const node *> &readers = readers_[inputs];
            readers.push_back(&n);
            if (n.op == "DequantizeLinear" && !n.outputs.empty())
                dequantized_.insert(output_of(n));
            for (std::size_t k = 0; k < n.outputs.size(); k++)
                if (const tensor_id written = output_of(n, k)) {
                    const node *const first =
                        *std::find_if(readers.begin(), readers.end(), [&](const node *one) {
                            return output_of(*one, k) && are_alike(g, *one, n);
                        });
                    first_[written] = output_of(*first, k);
                }
        }
    }
    tensor_id first_of(tensor_id t) {
        if (const auto found = first_.find(t); found != first_.end())
            return found->second;
        if (!t || !tensor_at(g_, t).is_constant || element_count(tensor_at(g_, t).dims) > most_elements)
            return t;
        const tensor &c = tensor_at(g_, t);
        return first_[t] =
                   constants_
                       .emplace(std::make_tuple(c.type, c.dims, std::string(c.data.begin(), c.data.end())), t)
                       .first->second;
    }

private:
    static constexpr std::int64_t most_elements = 8;

    /// A DequantizeLinear is there for each reader, and each has values of its own
    /// (EnsureUniqueDQForNodeUnit).
    int number_of_read(tensor_id t) {
        return dequantized_.count(t) != 0 ? --last_own_ : first_of(t).number();
    }

    const graph &g_;
    int last_own_ = -1; ///< below what an absent input has
    std::set<tensor_id> dequantized_;
    std::map<tensor_id, tensor_id> first_;
    std::map<std::vector<int>, std::vector<const node *>> readers_; ///< by the numbers of what they read
    std::map<std::tuple<data_type, memory::dims, std::string>, tensor_id> constants_;
};

/// Nodes that compute sizes of a network with open ones, before they are gone.
class size_nodes {
public:
    explicit size_nodes(const graph &g) : g_(g), equal_(g) {
        for (const node &n : g.nodes)
            for (const tensor_id t : outputs_of(n))
                if (t)
                    writers_[t] = &n;
    }

    std::map<tensor_id, size_node> find() {
        std::map<tensor_id, size_node> found;
        for (const node &n : g_.nodes)
            if (gives_known_integers(g_, n))
                found[output_of(n)] = {n, 0, equal_.first_of(output_of(n)),
                                       n.op == "Concat" ? entries_of(n) : std::vector<size_entry>()};
        std::map<tensor_id, std::set<std::pair<tensor_id, std::size_t>>> readers; ///< of equal tensors
        for (const node &n : g_.nodes)
            for (std::size_t k = 0; k < n.inputs.size() && !n.outputs.empty(); k++)
                if (const tensor_id t = input_of(n, k); found.count(t) != 0)
                    readers[equal_.first_of(t)].emplace(equal_.first_of(output_of(n)), k);
        for (const tensor_id t : outputs_of(g_))
            if (found.count(t) != 0)
                readers[equal_.first_of(t)].emplace(tensor_id(), 0);
        for (auto &[t, n] : found)
            n.readers = readers[n.equal_to].size();
        return found;
    }

private:
    const node *any_writer(tensor_id t) const {
        const auto found = writers_.find(t);
        return found != writers_.end() && !found->second->inputs.empty() ? found->second : nullptr;
    }
    const node *writer(tensor_id t, std::string_view op) const {
        const node *const n = any_writer(t);
        return n && n->op == op ? n : nullptr;
    }

    /// None where something is no list of integers.
    std::vector<size_entry> entries_of(const node &concat) const {
        std::vector<size_entry> entries;
        for (const tensor_id t : inputs_of(concat)) {
            if (const auto integers = constant_integers(g_, t); integers)
                for (const std::int64_t v : *integers)
                    entries.push_back({{}, 0, v});
            else if (t && !tensor_at(g_, t).is_constant && element_count(tensor_at(g_, t).dims) == 1)
                entries.push_back(dimension(t));
            else
                return {};
        }
        return entries;
    }
    /// Returns the tensor before operators that change no size, which are gone when sizes are looked at.
    tensor_id before_noops(tensor_id t) const {
        constexpr std::int64_t as_s64 = 7;
        for (const node *n = nullptr; (n = any_writer(t)) != nullptr;) {
            const tensor_ids in = inputs_of(*n);
            const auto is = [&](std::size_t k, std::int64_t value) {
                return k < in.size() && constant_integers(g_, in[k]) == memory::dims{value};
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
    size_entry dimension(tensor_id t) const {
        const node *const alone = writer(before_noops(t), "Unsqueeze");
        const node *const gather = alone ? writer(before_noops(input_of(*alone, 0)), "Gather") : nullptr;
        const node *const shape = gather ? writer(input_of(*gather, 0), "Shape") : nullptr;
        const auto index = gather ? constant_integers(g_, input_of(*gather, 1)) : std::nullopt;
        if (!shape || !index || index->size() != 1 || index->front() < 0 || !shape->attributes.empty())
            return {};
        return {input_of(*shape, 0), static_cast<std::size_t>(index->front()), {}};
    }

    const graph &g_;
    equal_tensors equal_;
    std::map<tensor_id, const node *> writers_;
};

/// A reader of what a Shape reads, of which nobody reads anything.
node unread_copy(graph &g, const node &shape) {
    tensor unread = tensor_at(g, output_of(shape));
    unread.data = {};
    node copy = shape;
    copy.outputs = {add_tensor(g, std::move(unread))};
    return copy;
}

} // namespace

std::optional<memory::dims> constant_integers(const graph &g, tensor_id t) {
    if (!t || !tensor_at(g, t).is_constant || tensor_at(g, t).type != data_type::s32)
        return {};
    const auto values = values_of<std::int32_t>(tensor_at(g, t));
    return memory::dims(values.begin(), values.end());
}

std::vector<bool> open_dims(const graph &g, const node &n, const operator_facts &facts,
                            const sized_constants &sized) {
    const std::size_t rank = tensor_at(g, output_of(n)).dims.size();
    std::vector<bool> open;
    for (const tensor_id t : inputs_of(n))
        if (const auto found = sized.open_dims.find(t); found != sized.open_dims.end()) {
            if (found->second.size() != rank)
                return std::vector<bool>(rank, true);
            open.resize(rank);
            for (std::size_t d = 0; d < rank; d++)
                open[d] = open[d] || found->second[d];
        }
    const std::size_t first = facts.dims.first;
    if (first == dims_from_values::none || !reads_any(inputs_of(n), first, sized.tensors))
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
        const tensor_id sizes = output_of(n);
        if (n.op == "Shape" && !n.inputs.empty())
            folded.measured.insert(input_of(n, 0));
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
