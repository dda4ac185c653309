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
        for (int i = 0; i < static_cast<int>(e_.node_count()); i++) {
            if (e_.is_removed(i) || stays_alone(i) || e_.at(i).outputs.size() != 1)
                continue;
            const operator_facts &facts = facts_of_node(i);
            if (facts.fusion == fusion_part::pointwise)
                fuse_function(i);
            else if (facts.fusion == fusion_part::sum)
                fuse_sum(i, input(i, facts.operand_a), input(i, facts.operand_b));
        }
        e_.finish();
    }

private:
    const tensor &at(int t) const { return e_.tensor_at(t); }
    int input(int i, std::size_t k) const { return k < e_.at(i).inputs.size() ? e_.at(i).inputs[k] : -1; }

    const operator_facts &facts_of_node(int i) const { return facts_of(e_.get_graph(), e_.at(i)); }
    bool stays_alone(int i) const { return stay_alone_[static_cast<std::size_t>(i)]; }
    bool is_aliased_or_persistent(int i) const {
        return facts_of_node(i).buffers == buffer_use::aliased_or_persistent;
    }

    /// The accumulating node that writes a tensor of codes which node `reader` alone reads; -1.
    int accumulator_of(int t, int reader) const {
        const int host = e_.producer(t);
        const bool fits = host >= 0 && !stays_alone(host) && e_.only_consumer(t) == reader &&
                          is_code(at(t).type) && e_.at(host).outputs.size() == 1 &&
                          facts_of_node(host).fusion == fusion_part::accumulates;
        return fits ? host : -1;
    }

    /// Whose operand will lie in the buffer of the output, which has no room for a second one.
    bool has_sum(int host) const {
        const std::vector<node> &fused = e_.at(host).fused;
        return std::any_of(fused.begin(), fused.end(), [](const node &f) { return f.stored_input >= 0; });
    }

    bool are_alike(int a, int b) const {
        return at(a).type == at(b).type && at(a).dims == at(b).dims &&
               at(a).is_channels_last == at(b).is_channels_last;
    }

    /// `follower` becomes part of `host`, which moves to `place`, its own or the follower's. The host hands it
    /// tensor `result`; with `stored`, it adds that one's codes.
    void fuse(int host, int follower, int place, int result, int stored = -1) {
        node fused_host = e_.at(host), f = e_.at(follower);
        const auto position = [&](int t) {
            return static_cast<int>(std::find(f.inputs.begin(), f.inputs.end(), t) - f.inputs.begin());
        };
        f.result_input = position(result);
        if (stored >= 0) {
            f.stored_input = position(stored);
            fused_host.inputs.resize(std::max(fused_host.inputs.size(), facts_of_node(host).inputs.most), -1);
            fused_host.inputs.push_back(stored); // behind a bias that there may not be
        }
        fused_host.outputs = f.outputs;
        fused_host.fused.push_back(std::move(f));
        e_.remove(place == host ? follower : host);
        e_.replace(place, std::move(fused_host));
    }

    void fuse_function(int i) {
        const int host = input(i, 0) < 0 ? -1 : accumulator_of(input(i, 0), i);
        if (host >= 0 && are_alike(input(i, 0), e_.at(i).outputs[0]))
            fuse(host, i, host, input(i, 0));
    }

    void fuse_sum(int i, int value, int other) {
        if (value < 0 || other < 0)
            return;
        if (e_.producer(other) > e_.producer(value)) // the later one need not move
            std::swap(value, other);
        if (!fuse_sum_behind(value, other, i))
            fuse_sum_behind(other, value, i);
    }

    bool fuse_sum_behind(int value, int other, int i) {
        const int host = accumulator_of(value, i), other_producer = e_.producer(other);
        if (host < 0 || has_sum(host) || other_producer < 0 || !are_alike(value, other) ||
            !are_alike(value, e_.at(i).outputs[0]) || at(other).is_variable)
            return false;
        const int place = other_producer < host ? host : i;
        const std::vector<int> &read = e_.at(host).inputs;
        if (std::find(read.begin(), read.end(), other) != read.end() ||
            !can_be_overwritten(other, place, i) || !can_move(host, place))
            return false;
        fuse(host, i, place, value, other);
        overwritten_at_[other] = place;
        return true;
    }

    /// Whether nobody but the sum, node `reader`, needs a tensor from node `place` on.
    bool can_be_overwritten(int t, int place, int reader) const {
        if (is_aliased_or_persistent(e_.producer(t)))
            return false;
        const std::vector<int> &readers = e_.consumers(t);
        return std::all_of(readers.begin(), readers.end(), [&](int r) {
            return r == reader || (r >= 0 && r < place && !is_aliased_or_persistent(r));
        });
    }

    /// Whether a node's inputs are still there if it runs later.
    bool can_move(int i, int to) const {
        return std::none_of(e_.at(i).inputs.begin(), e_.at(i).inputs.end(), [&](int t) {
            const auto found = overwritten_at_.find(t);
            return found != overwritten_at_.end() && found->second > i && found->second <= to;
        });
    }

    const std::vector<bool> stay_alone_;
    graph_editor e_;
    std::map<int, int> overwritten_at_; ///< tensors whose buffer a sum took, and the sum's place
};

} // namespace

void fuse_followers(graph &g, requantization_rule rule, std::vector<bool> stay_alone) {
    if (rounds_before_zero_point(rule))
        follower_fusion(g, std::move(stay_alone)).run();
}

} // namespace octet::model
