// Another batch, before shapes mean anything else: whatever is computed from an input begins with the batch, and
// where a tensor does not, the network cannot be asked for several images at once.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/dialect.hpp"
#include "network/passes/fold_integers.hpp"

namespace octet::model {
namespace {

[[noreturn]] void fail(const std::string &reason) { throw error(status::invalid_arguments, reason); }

class batch_change {
public:
    batch_change(graph &g, dim_t to) : g_(g), to_(to), depends_(g.tensors.size()) {
        const memory::dims &first = tensor_at(inputs_of(g)[0]).dims;
        from_ = first.empty() ? 0 : first.front();
    }

    void run() {
        for (const tensor_id t : inputs_of(g_))
            change(t, "the network's input");
        for (std::size_t i = 0; i < g_.nodes.size(); i++) {
            const tensor_ids inputs = inputs_of(g_.nodes[i]);
            if (!gives_known_integers(g_, g_.nodes[i]) && // which follow the batch
                any_of(inputs, [&](tensor_id t) { return t && depends_[t.index()]; })) {
                check_node(i);
                for (const tensor_id t : inputs)
                    if (t && tensor_at(t).is_variable && !depends_[t.index()])
                        change(t, node_text(g_, i) + ": state");
                for (const tensor_id t : outputs_of(g_.nodes[i]))
                    change(t, node_text(g_, i) + ": output");
            }
        }
    }

private:
    /// Refuses what only a batch of one keeps apart.
    void check_node(std::size_t i) {
        const node &n = g_.nodes[i];
        const auto couples = facts_of(g_, n).couples;
        if (couples && couples(g_, n))
            fail("the batch cannot be changed: " + node_text(g_, i) +
                 " treats images as it does any dimension");
        const dialect *const spoken = find_dialect(g_.framework);
        if (spoken && spoken->may_broadcast_batch)
            check_ranks(i);
    }

    /// Broadcast, an operand of lower rank meets another dimension than the batch.
    void check_ranks(std::size_t i) {
        const tensor *first = nullptr;
        for (const tensor_id t : inputs_of(g_.nodes[i])) {
            if (!t || !depends_[t.index()] || tensor_at(t).is_variable)
                continue;
            const tensor &other = tensor_at(t);
            if (first && first->dims.size() != other.dims.size())
                fail("the batch cannot be changed: " + node_text(g_, i) + ": inputs '" + first->name + "' (" +
                     to_text(first->dims) + ") and '" + other.name + "' (" + to_text(other.dims) +
                     ") both begin with it, and differ in rank");
            first = &other;
        }
    }

    tensor &tensor_at(tensor_id t) { return model::tensor_at(g_, t); }

    void change(tensor_id t, const std::string &who) {
        memory::dims &dims = tensor_at(t).dims;
        if (dims.empty() || dims.front() != from_)
            fail("the batch cannot be changed: " + who + " '" + tensor_at(t).name + "' is " + to_text(dims) +
                 ", which does not begin with the batch of " + std::to_string(from_));
        dims.front() = to_;
        depends_[t.index()] = true;
    }

    graph &g_;
    dim_t from_, to_;
    std::vector<bool> depends_;
};

} // namespace

} // namespace octet::model

void octet::model::set_batch(graph &g, dim_t batch) {
    if (batch < 1)
        fail("the batch is " + std::to_string(batch) + ", allowed is 1 or more");
    if (g.inputs.empty())
        fail("the batch cannot be changed: the network has no inputs");
    batch_change(g, batch).run();
    check_graph(g);
}
