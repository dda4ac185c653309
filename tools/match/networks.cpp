// A network runs without fused operators under each contender, and each tensor is compared as soon as it is written.
// SPDX-License-Identifier: Apache-2.0
#include "match/networks.hpp"

#include <algorithm>
#include <cstring>

#include "common/text.hpp"

namespace octet::match {
namespace {

using impl::text;

void require_equal(const model::tensor &t, const values &v) {
    const bool is_other_batch = v.dims.size() == t.dims.size() && !t.dims.empty() && v.dims[0] > 0 &&
                                v.dims[0] != t.dims[0] &&
                                std::equal(t.dims.begin() + 1, t.dims.end(), v.dims.begin() + 1);
    if (v.type != t.type || v.dims != t.dims)
        impl::throw_invalid(v.name, ": holds ", model::to_text(v.type), ' ', model::to_text(v.dims),
                            ", allowed: ", model::type_text(t), ' ', model::to_text(t.dims), ", as tensor '",
                            t.name, "'",
                            is_other_batch ? text(" (--batch ", v.dims[0], " takes the whole file)") : "");
}

/// Compares what a node has just written.
void compare(const network &net, std::size_t node, const known_tensors &known, network_match &m) {
    const model::graph &g = net.get_graph();
    for (const int index : g.nodes[node].outputs) {
        const auto found = known.find(index);
        if (found == known.end() || tensor_of(g, index).type != found->second.type ||
            tensor_of(g, index).is_channels_last)
            continue;
        const values &theirs = found->second;
        const auto *ours = static_cast<const std::uint8_t *>(net.tensor(index).data());
        const std::size_t size = theirs.element_size();
        std::size_t different = 0, first = 0;
        for (std::size_t i = 0; i < theirs.count(); i++)
            if (std::memcmp(ours + i * size, theirs.bytes.data() + i * size, size) != 0 && different++ == 0)
                first = i;
        m.compared += theirs.count();
        m.different += different;
        if (different > 0 && m.first.empty()) {
            values mine = theirs;
            mine.bytes.assign(ours, ours + theirs.bytes.size());
            m.first = text(model::node_text(g, node), ", tensor ", index, " ('", tensor_of(g, index).name,
                           "'): ", different, " of ", theirs.count(), " elements differ, the first at [",
                           first, "]: ", mine.text(first), " instead of ", theirs.text(first));
        }
    }
}

network_match run_under(const contender &c, const model::graph &g, const inputs &given,
                        const known_tensors &known) {
    network_match m;
    m.name = c.name;
    try {
        network_options options = c.options;
        options.fusion = false; // fused operators hide tensors
        network net(g, options);
        for (std::size_t i = 0; i < given.size(); i++)
            net.input(i).copy_bytes_from(given[i].bytes.data(), given[i].bytes.size());
        net.run([&](std::size_t node, double) { compare(net, node, known, m); });
    } catch (const error &e) {
        m.refused = e.what();
    }
    return m;
}

} // namespace

std::vector<network_match> match_network(const model::graph &g, const inputs &given,
                                         const known_tensors &known) {
    for (std::size_t i = 0; i < given.size(); i++)
        require_equal(tensor_of(g, g.inputs[i]), given[i]);
    for (const auto &[index, v] : known)
        require_equal(tensor_of(g, index), v);
    std::vector<network_match> all;
    for (const contender &c : contenders(g.framework)) {
        all.push_back(run_under(c, g, given, known));
        if (all.back().refused.empty())
            continue;
        const std::string refused = all.back().refused;
        for (const contender &pair : with_substitutes(c)) {
            network_match m = run_under(pair, g, given, known);
            m.substituted = refused;
            if (m.refused.empty()) // else the refusal of the profile alone says why
                all.push_back(std::move(m));
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const network_match &a, const network_match &b) {
        return std::make_pair(!a.refused.empty(), a.different) <
               std::make_pair(!b.refused.empty(), b.different);
    });
    return all;
}

} // namespace octet::match
