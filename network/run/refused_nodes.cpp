// Takes the way of a network that is made, up to its weights. A step that fails names its node: that one is
// cut out, its results become inputs as far as they are known, and all begins anew. So one call tells of all
// nodes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <set>

#include "network/dialect.hpp"
#include "network/graph/graph.hpp"
#include "network/run/plan.hpp"
#include "network/run/sizes.hpp"
#include "octet/network.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

/// Numbers of the nodes that a sentence says "node N (OP)" of, in order.
std::vector<int> nodes_named_in(const std::string &sentence) {
    static const std::string word = "node ";
    std::vector<int> numbers;
    for (std::size_t p = sentence.find(word); p != std::string::npos; p = sentence.find(word, p + 1)) {
        int number = -1;
        const char *const end = sentence.data() + sentence.size();
        const auto read = std::from_chars(sentence.data() + p + word.size(), end, number);
        if (read.ec == std::errc() && end - read.ptr > 1 && read.ptr[0] == ' ' && read.ptr[1] == '(')
            numbers.push_back(number);
    }
    return numbers;
}

bool is_known(const tensor &t) {
    return t.type != data_type::undef &&
           std::all_of(t.dims.begin(), t.dims.end(), [](dim_t d) { return d > 0; });
}

class questioned_graph {
public:
    questioned_graph(graph g, const network_options &options) : g_(std::move(g)), options_(options) {
        for (std::size_t i = 0; i < g_.nodes.size(); i++)
            g_.nodes[i].number = node_number(g_, i);
        for (const tensor &t : g_.tensors)
            is_int64_.push_back(t.foreign_type == "INT64");
    }

    std::vector<refused_node> answers() {
        while (!g_.nodes.empty() && !is_answered())
            ;
        std::stable_sort(refused_.begin(), refused_.end(),
                         [](const refused_node &a, const refused_node &b) { return a.number < b.number; });
        return std::move(refused_);
    }

private:
    /// False where a node was cut out.
    bool is_answered() {
        graph now = g_;
        try {
            if (const dialect *spoken = find_dialect(now.framework); spoken && spoken->complete && !now.saved)
                spoken->complete(now, is_int64_);
            if (!now.saved)
                infer_shapes(now);
            for (auto &[number, sentence] : refused_lowerings(now, options_))
                refuse(number, std::move(sentence), true);
            return true;
        } catch (const error &e) {
            blame(e, now);
            return false;
        }
    }

    /// A sentence that lists operators is one for each.
    void blame(const error &e, const graph &now) {
        static const std::string list = "unsupported operators: ";
        const std::string sentence = e.what();
        std::vector<int> named = nodes_named_in(sentence);
        const bool is_list = sentence.rfind(list, 0) == 0;
        if (!is_list)
            named.resize(sentence.rfind("node ", 0) == 0 && !named.empty() ? 1 : 0);
        bool is_cut = false;
        for (const int number : named) // before one takes others with it
            if (const auto n = find(number); n != g_.nodes.end())
                refuse(number, is_list ? list + node_text(g_, index_of(n)) : sentence, true);
        for (const int number : named)
            if (const auto n = find(number); n != g_.nodes.end()) {
                cut(n, now);
                is_cut = true;
            }
        if (!is_cut)
            throw e;
    }

    /// The first reason counts.
    void refuse(int number, std::string reason, bool is_certain) {
        if (std::none_of(refused_.begin(), refused_.end(),
                         [&](const refused_node &n) { return n.number == number; }))
            refused_.push_back({number, std::move(reason), is_certain});
    }

    std::vector<node>::iterator find(int number) {
        return std::find_if(g_.nodes.begin(), g_.nodes.end(),
                            [&](const node &n) { return n.number == number; });
    }
    std::size_t index_of(std::vector<node>::iterator n) const {
        return static_cast<std::size_t>(n - g_.nodes.begin());
    }
    tensor &at(tensor_id t) { return tensor_at(g_, t); }

    /// Takes a node out, and those that read what nobody knows without it. What it reads stays in use.
    void cut(std::vector<node>::iterator n, const graph &now) {
        const node removed = std::move(*n);
        g_.nodes.erase(n);
        for (const tensor_id t : inputs_of(removed))
            if (t && is_written(t) && !has(outputs_of(g_), t))
                g_.outputs.push_back(t);
        for (const tensor_id t : outputs_of(removed)) {
            if (!t)
                continue;
            g_.outputs.erase(std::remove(g_.outputs.begin(), g_.outputs.end(), t.number()), g_.outputs.end());
            const tensor &inferred = tensor_at(now, t);
            if (!is_known(at(t)) && is_known(inferred) && inferred.foreign_type != "unknown")
                at(t).type = inferred.type, at(t).dims = inferred.dims, at(t).foreign_type.clear();
            if (is_known(at(t)) && at(t).foreign_type != "unknown") {
                g_.inputs.push_back(t);
                continue;
            }
            for (auto reader = reader_of(t); reader != g_.nodes.end(); reader = reader_of(t)) {
                refuse(reader->number,
                       node_text(g_, index_of(reader)) + ": nothing is known of tensor '" + at(t).name +
                           "', which node " + std::to_string(removed.number) + " (" + removed.op +
                           ") computes",
                       false);
                cut(reader, now);
            }
        }
    }
    bool is_written(tensor_id t) const {
        return any_of(g_.nodes, [&](const node &n) { return has(outputs_of(n), t); });
    }
    std::vector<node>::iterator reader_of(tensor_id t) {
        return std::find_if(g_.nodes.begin(), g_.nodes.end(),
                            [&](const node &n) { return has(inputs_of(n), t); });
    }

    graph g_;
    const network_options &options_;
    std::vector<bool> is_int64_;
    std::vector<refused_node> refused_;
};

} // namespace
} // namespace model

std::vector<refused_node> refused_nodes(model::graph g, const network_options &options) {
    model::set_input_sizes(g, {options.batch, options.shapes, options.dimensions});
    for (const model::tensor_id t : model::inputs_of(g)) // nobody has said, and some size may do
        for (dim_t &size : model::tensor_at(g, t).dims) {
            constexpr dim_t any = 16;
            size = size < 0 ? any : size;
        }
    return model::questioned_graph(std::move(g), options).answers();
}

std::string why_not_supported(const operator_query &query, const network_options &options) {
    model::graph g;
    g.framework = query.framework;
    g.opset = query.opset;
    model::node n;
    const model::dialect *const spoken = model::find_dialect(query.framework);
    n.op = spoken ? spoken->operator_name(query.domain, query.op) : query.op;
    n.attributes = query.attributes;
    for (const model::tensor &t : query.inputs) {
        const bool is_absent = t.type == data_type::undef && t.foreign_type.empty();
        n.inputs.push_back(is_absent ? model::tensor_id() : model::add_tensor(g, t));
        if (!is_absent && !t.is_constant)
            g.inputs.push_back(n.inputs.back());
    }
    model::drop_absent_at_end(n.inputs);
    for (model::tensor t : query.outputs) {
        if (spoken && spoken->infers_all)
            t.foreign_type = "unknown"; // until shapes are inferred
        n.outputs.push_back(model::add_tensor(g, t));
        g.outputs.push_back(n.outputs.back());
    }
    g.nodes.push_back(std::move(n));
    const std::vector<refused_node> refused = refused_nodes(std::move(g), options);
    return refused.empty() ? "" : refused.front().reason;
}

} // namespace v0
} // namespace octet
