// Each function of `expansion` writes one operator's parts; start at `expand_operators_in_parts`.
// SPDX-License-Identifier: Apache-2.0
#include "network/onnx/completion/operators_in_parts.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "network/onnx/parts/attention_parts.hpp"
#include "network/onnx/parts/node_parts.hpp"

namespace octet::model {
namespace {

class expansion : public node_parts {
public:
    using node_parts::node_parts;

    /// Passes know it whole.
    void bias_gelu() {
        if (!input(1))
            refuse("no bias");
        add(whole_);
    }

    void attention() { parts_ = attention_parts(g_, whole_); }

    /// x tanh(softplus(x)), the parts that the standard gives.
    void mish() {
        const tensor_id softplus = between("softplus"), factor = between("factor");
        add({"Softplus", {input(0)}, {softplus}, {}});
        add({"Tanh", {softplus}, {factor}, {}});
        add({"Mul", {input(0), factor}, {output()}, {}});
    }

    /// Nothing is dropped; without a mask that nobody reads, passes see one output.
    void dropout() {
        node n = whole_;
        if (n.outputs.size() == 2 && !is_read(g_, output_of(n, 1)))
            n.outputs.pop_back();
        add(std::move(n));
    }
};

} // namespace

void expand_operators_in_parts(graph &g) {
    using e = expansion;
    static const std::map<std::string, void (e::*)()> expansions = {
        {"BiasGelu", &e::bias_gelu},
        {"Dropout", &e::dropout},
        {"Mish", &e::mish},
        {"QAttention", &e::attention},
    };
    if (std::none_of(g.nodes.begin(), g.nodes.end(),
                     [&](const node &n) { return expansions.count(n.op) != 0; }))
        return;
    std::vector<node> nodes;
    for (node &n : g.nodes) {
        const auto found = expansions.find(n.op);
        if (found == expansions.end()) {
            nodes.push_back(std::move(n));
            continue;
        }
        e parts(g, n);
        (parts.*found->second)();
        std::vector<node> all = parts.take_parts();
        std::move(all.begin(), all.end(), std::back_inserter(nodes));
    }
    g.nodes = std::move(nodes);
}

} // namespace octet::model
