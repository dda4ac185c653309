// Operators behind accumulating ones; see fusion.hpp. Here is decided what is fused; what the fused operators
// then compute is in ops/fused.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/passes/fusion.hpp"

namespace octet::model {
namespace {

class follower_fusion {
public:
    follower_fusion(graph &g, std::vector<bool> stay_alone) : stay_alone_(std::move(stay_alone)), e_(g) {}

    void run() {
        for (std::size_t n = 0; n < e_.node_count(); n++) {
            const node_id i(n);
            if (e_.is_removed(i) || stays_alone(i) || e_.at(i).outputs.size() != 1)
                continue;
            const operator_facts &facts = facts_of_node(i);
            if (facts.fusion == fusion_part::pointwise)
                fuse_function(i);
            else if (facts.fusion == fusion_part::sum)
                fuse_sum(i, e_.input(i, facts.operand_a), e_.input(i, facts.operand_b));
        }
        e_.finish();
    }

private:
    const tensor &at(tensor_id t) const { return e_.tensor_at(t); }

    const operator_facts &facts_of_node(node_id i) const { return facts_of(e_.get_graph(), e_.at(i)); }
    bool stays_alone(node_id i) const { return stay_alone_[i.index()]; }
    bool is_aliased_or_persistent(node_id i) const {
        return facts_of_node(i).buffers == buffer_use::aliased_or_persistent;
    }

    /// The accumulating node that writes a tensor of codes which node `reader` alone reads.
    node_id accumulator_of(tensor_id t, node_id reader) const {
        const node_id host = e_.producer(t);
        const bool fits = host && !stays_alone(host) && e_.only_consumer(t) == reader &&
                          is_code(at(t).type) && e_.at(host).outputs.size() == 1 &&
                          facts_of_node(host).fusion == fusion_part::accumulates;
        return fits ? host : node_id();
    }

    /// True if a sum is fused into the node already. Its operand lies in the buffer of the output, which has
    /// no room for a second one.
    bool has_sum(node_id host) const {
        const std::vector<node> &fused = e_.at(host).fused;
        return std::any_of(fused.begin(), fused.end(), [](const node &f) { return f.stored_input >= 0; });
    }

    bool are_stored_alike(tensor_id a, tensor_id b) const {
        return at(a).type == at(b).type && at(a).dims == at(b).dims &&
               at(a).is_channels_last == at(b).is_channels_last;
    }

    /// `follower` becomes part of `host`, which moves to `place`, its own or the follower's. The host hands it
    /// tensor `result`; with `stored`, it adds that one's codes.
    void fuse(node_id host, node_id follower, node_id place, tensor_id result, tensor_id stored = {}) {
        node fused_host = e_.at(host), f = e_.at(follower);
        const auto position = [&](tensor_id t) {
            const tensor_ids inputs = inputs_of(f);
            return static_cast<int>(std::find(inputs.begin(), inputs.end(), t) - inputs.begin());
        };
        f.result_input = position(result);
        if (stored) {
            f.stored_input = position(stored);
            fused_host.inputs.resize(std::max(fused_host.inputs.size(), facts_of_node(host).inputs.most),
                                     tensor_id());
            fused_host.inputs.push_back(stored); // behind a bias that there may not be
        }
        fused_host.outputs = f.outputs;
        fused_host.fused.push_back(std::move(f));
        e_.remove(place == host ? follower : host);
        e_.replace(place, std::move(fused_host));
    }

    void fuse_function(node_id i) {
        const tensor_id x = e_.input(i, 0);
        const node_id host = accumulator_of(x, i);
        if (host && are_stored_alike(x, e_.output(i)))
            fuse(host, i, host, x);
    }

    void fuse_sum(node_id i, tensor_id value, tensor_id other) {
        if (!value || !other)
            return;
        if (e_.producer(other) > e_.producer(value)) // the later one need not move
            std::swap(value, other);
        if (!fuse_sum_behind(value, other, i))
            fuse_sum_behind(other, value, i);
    }

    bool fuse_sum_behind(tensor_id value, tensor_id other, node_id i) {
        const node_id host = accumulator_of(value, i);
        const node_id other_producer = e_.producer(other);
        if (!host || has_sum(host) || !other_producer || !are_stored_alike(value, other) ||
            !are_stored_alike(value, e_.output(i)) || at(other).is_variable)
            return false;
        // The operand must be there when the host runs: if it is written later, the host moves to the sum.
        const node_id place = other_producer < host ? host : i;
        const tensor_ids read = e_.inputs(host);
        if (std::find(read.begin(), read.end(), other) != read.end() ||
            !can_be_overwritten(other, place, i) || !can_move(host, place))
            return false;
        fuse(host, i, place, value, other);
        overwritten_at_[other] = place;
        return true;
    }

    /// Whether nobody but the sum, node `reader`, needs a tensor from node `place` on.
    bool can_be_overwritten(tensor_id t, node_id place, node_id reader) const {
        if (is_aliased_or_persistent(e_.producer(t)))
            return false;
        const std::vector<node_id> &readers = e_.consumers(t);
        return all_of(readers, [&](node_id r) {
            return r == reader || (r && r < place && !is_aliased_or_persistent(r));
        });
    }

    /// Whether a node's inputs are still there if it runs later.
    bool can_move(node_id i, node_id to) const {
        return none_of(e_.inputs(i), [&](tensor_id t) {
            const auto found = overwritten_at_.find(t);
            return found != overwritten_at_.end() && found->second > i && found->second <= to;
        });
    }

    const std::vector<bool> stay_alone_;
    graph_editor e_;
    std::map<tensor_id, node_id> overwritten_at_; ///< tensors whose buffer a sum took, and the sum's place
};

} // namespace

void fuse_followers(graph &g, requantization_rule rule, std::vector<bool> stay_alone) {
    if (rounds_before_zero_point(rule))
        follower_fusion(g, std::move(stay_alone)).run();
}

} // namespace octet::model
