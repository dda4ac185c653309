// A proof by operators: all of those between the network's inputs and its outputs keep the rows of a batch apart.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/dialect.hpp"
#include "network/run/plan.hpp"
#include "network/saved/plan_file.hpp"
#include "network/shapes/node_rows.hpp"

namespace octet {
inline namespace v0 {
namespace model {
namespace {

bool begins_with_one(const tensor &t) { return !t.dims.empty() && t.dims.front() == 1; }

} // namespace

std::string why_not_batched(const graph &network, const std::string &profile) {
    const graph g = source_of(network); // a saved plan's own operators are fused
    if (g.inputs.empty())
        return "it has no inputs";
    std::vector<bool> depends(g.tensors.size());
    for (const tensor_id t : inputs_of(g)) {
        const tensor &input = tensor_at(g, t);
        if (std::any_of(input.dims.begin(), input.dims.end(), [](dim_t d) { return d < 0; }))
            return "input '" + input.name + "' has an open size";
        if (!begins_with_one(input))
            return "input '" + input.name + "' is " + to_text(input.dims) +
                   ", which does not begin with a batch of 1";
        depends[t.index()] = true;
    }
    for (const tensor &t : g.tensors)
        if (t.is_variable && !t.is_constant)
            return "it has a state, tensor '" + t.name + "'";
    const std::vector<element_groups> groups = // of tensors whose sizes are all known
        broken_groups_of(g, network.saved ? network.saved->options.profile : profile);
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const node &n = g.nodes[i];
        const auto is_computed = [&](tensor_id t) { return t && depends[t.index()]; };
        if (none_of(inputs_of(n), is_computed))
            continue;
        const bool is_known =
            all_of(outputs_of(n), [&](tensor_id t) { return !t || !tensor_at(g, t).data.empty(); });
        if (is_known) // integers that follow from sizes, not from values
            continue;
        const auto keeps_rows = facts_of(g, n).rows;
        if (!keeps_rows || !keeps_rows(node_rows(g, n, depends)))
            return node_text(g, i) + " is not known to keep the rows of a batch apart";
        if (groups[i].size != 0 && !groups[i].is_by_channel)
            return node_text(g, i) + " is computed in groups of " + std::to_string(groups[i].size) +
                   " elements, which a row does not fill";
        for (const tensor_id t : outputs_of(n)) {
            if (!t)
                continue;
            const tensor &output = tensor_at(g, t);
            if (!begins_with_one(output))
                return node_text(g, i) + ": output '" + output.name + "' is " + to_text(output.dims) +
                       ", which does not begin with the batch";
            depends[t.index()] = true;
        }
    }
    for (const tensor_id t : outputs_of(g))
        if (!depends[t.index()])
            return "an output does not depend on the inputs";
    return "";
}

} // namespace model
} // namespace v0
} // namespace octet
