// Walks over the nodes in order, so that each finds the shapes of its inputs; what an operator gives is in
// the shape functions of its dialect.
// SPDX-License-Identifier: Apache-2.0
#include "network/dialect.hpp"
#include "network/shapes/known_integers.hpp"
#include "network/shapes/known_shapes.hpp"
#include "network/shapes/node_shapes.hpp"

namespace octet::model {

void check_operators(const graph &g) {
    std::string unknown;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        if (!facts_of(g, g.nodes[i]).infer)
            unknown += (unknown.empty() ? "" : ", ") + node_text(g, i);
    if (!unknown.empty())
        refuse_as_unimplemented("unsupported operators: " + unknown);
}

namespace {

/// Forgets what another shape of the inputs may change.
void forget_computed(graph &g) {
    for (const node &n : g.nodes)
        for (const tensor_id output : outputs_of(n))
            if (output) {
                tensor &t = tensor_at(g, output);
                t.dims.clear();
                t.data = {};
            }
}

/// Does something for a node; what it throws gets the node's name in front.
template <typename Work> void on_behalf_of(const graph &g, std::size_t node, const Work &work) {
    try {
        work();
    } catch (const error &e) {
        throw error(e.status, node_text(g, node) + ": " + e.what());
    }
}

} // namespace

void follow_shapes(graph &g) {
    for (const node &n : g.nodes)
        follow_shapes(g, n, facts_of(g, n));
}

} // namespace octet::model

void octet::model::infer_shapes(graph &g) {
    check_operators(g);
    const dialect *const spoken = find_dialect(g.framework);
    const bool infers_all = spoken && spoken->infers_all;
    if (infers_all)
        forget_computed(g);
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        check_tensor(g, tensor_id(t)); // forgotten ones are scalars
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const operator_facts &facts = facts_of(g, g.nodes[i]);
        on_behalf_of(g, i, [&] {
            node_shapes n(g, g.nodes[i]);
            facts.infer(n);
        });
        for (const tensor_id output : outputs_of(g.nodes[i]))
            if (output)
                check_tensor(g, output);
        on_behalf_of(g, i, [&] {
            infers_all ? follow_integers(g, g.nodes[i], facts) : follow_shapes(g, g.nodes[i], facts);
        });
    }
}
