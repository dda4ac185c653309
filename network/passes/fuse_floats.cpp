// Float operators behind products of matrices; see fusion.hpp. What the fused operators then compute is in
// onnx/ops/float_functions.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/dialect.hpp"
#include "network/graph/graph_editor.hpp"
#include "network/passes/fusion.hpp"

namespace octet::model {
namespace {

class float_fusion {
public:
    explicit float_fusion(graph &g) : e_(g) {}

    void run() {
        for (std::size_t n = 0; n < e_.node_count(); n++) {
            const node_id i(n);
            if (e_.is_removed(i) || e_.at(i).outputs.size() != 1 || !is_float(e_.output(i)))
                continue;
            const fusion_part part = facts(i).fusion;
            if (part == fusion_part::pointwise && has_constant_parameters(i))
                fuse(i, 0, {});
            else if (part == fusion_part::operand && e_.inputs(i).size() == 2 &&
                     e_.input(i, 0) != e_.input(i, 1) && !fuse(i, 0, e_.input(i, 1)) && facts(i).commutes)
                fuse(i, 1, e_.input(i, 0));
        }
        e_.finish();
    }

private:
    const tensor &at(tensor_id t) const { return e_.tensor_at(t); }
    const operator_facts &facts(node_id i) const { return facts_of(e_.get_graph(), e_.at(i)); }
    bool is_float(tensor_id t) const { return t && at(t).type == data_type::f32; }

    bool has_constant_parameters(node_id i) const {
        const tensor_ids inputs = e_.inputs(i);
        return std::all_of(inputs.begin() + (inputs.empty() ? 0 : 1), inputs.end(),
                           [&](tensor_id t) { return !t || at(t).is_constant; });
    }

    /// The node whose result a follower alone reads.
    node_id host_of(tensor_id result, node_id follower) const {
        const node_id host = e_.producer(result);
        const bool fits = host && is_float(result) && e_.only_consumer(result) == follower &&
                          e_.at(host).outputs.size() == 1 && facts(host).fusion == fusion_part::accumulates &&
                          at(result).dims == at(e_.output(follower)).dims &&
                          at(result).is_channels_last == at(e_.output(follower)).is_channels_last;
        return fits && e_.at(host).fused.size() < most_followers ? host : node_id();
    }

    /// Whether kernels read an operand as they store results: with one number for each channel, or one for each result.
    bool is_operand(tensor_id t, tensor_id result, node_id host) const {
        if (!is_float(t) || at(t).is_channels_last)
            return false;
        const memory::dims &all = at(result).dims, &own = at(t).dims;
        const bool is_image = facts(host).takes_padding != nullptr; // of a convolution, channels come second
        const tensor_ids of_host = e_.inputs(host);
        if (of_host[1] && at(of_host[1]).dims.size() == 1)
            return false; // rows times a vector: a result for each row
        if (own == all)
            return !is_image;
        if (own.size() > all.size())
            return false;
        const std::size_t channel = is_image ? 1 : all.size() - 1, offset = all.size() - own.size();
        for (std::size_t d = 0; d < own.size(); d++)
            if (own[d] != 1 && (d + offset != channel || own[d] != all[channel]))
                return false;
        return true;
    }

    /// The follower, whose input `place` is the result so far, becomes part of the node that computes it.
    bool fuse(node_id follower, std::size_t place, tensor_id operand) {
        const tensor_id result = e_.input(follower, place);
        const node_id host = host_of(result, follower);
        if (!host || (operand && !is_operand(operand, result, host)))
            return false;
        node fused_host = e_.at(host), f = e_.at(follower);
        if (fused_host.fused.empty()) // operands have one place, whether or not there is a bias before them
            fused_host.inputs.resize(facts(host).inputs.most, tensor_id());
        f.result_input = static_cast<int>(place);
        for (const tensor_id t : inputs_of(f))
            if (t && t != result)
                fused_host.inputs.push_back(t);
        fused_host.outputs = f.outputs;
        fused_host.fused.push_back(std::move(f));
        const node_id moved =
            e_.producer(operand) > host ? follower : host; // where the operand has been written
        e_.remove(moved == host ? follower : host);
        e_.replace(moved, std::move(fused_host));
        return true;
    }

    static constexpr std::size_t most_followers = 8;
    graph_editor e_;
};

} // namespace

void fuse_floats(graph &g) { float_fusion(g).run(); }

} // namespace octet::model
