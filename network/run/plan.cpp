// From a graph to a plan, in the order of `make_plan`.
// SPDX-License-Identifier: Apache-2.0
#include "network/run/plan.hpp"

#include <algorithm>
#include <set>

#include "network/graph/file.hpp"
#include "network/passes/fusion.hpp"
#include "network/run/evaluate.hpp"
#include "network/run/on_behalf_of.hpp"
#include "network/runtime.hpp"
#include "network/saved/plan_file.hpp"
#include "octet/contract.hpp"
#include "octet/float_environment.hpp"

namespace octet::model {
namespace {

std::string list(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Inputs of a node that belong to what was fused into it: a sum of codes brings one, float operators all but
/// the result.
std::size_t fused_inputs(const graph &g, const node &n) {
    std::size_t count = 0;
    const bool is_float = output_of(n) && tensor_at(g, output_of(n)).type == data_type::f32;
    for (const node &f : n.fused)
        if (f.stored_input >= 0)
            count++;
        else if (is_float)
            for (const tensor_id t : inputs_of(f))
                count += t && t != input_of(f, static_cast<std::size_t>(f.result_input));
    return count;
}

/// Lowering functions count on it, whether the node comes from a reader, a program or a saved plan.
void check_input_count(const graph &g, std::size_t i) {
    const node &n = g.nodes[i];
    const auto check = [&](const std::string &who, const std::string &op, std::size_t own) {
        const input_counts allowed = facts_of(g, op).inputs;
        if (!allowed.have(own))
            refuse(who + ": has " + std::to_string(own) + " inputs, allowed: " + allowed.text());
    };
    const std::size_t fused = std::min(fused_inputs(g, n), n.inputs.size());
    check(node_text(g, i), n.op, n.inputs.size() - fused);
    for (const node &f : n.fused)
        check(node_text(g, i) + ": fused " + f.op, f.op, f.inputs.size());
}

/// Every node that cannot run in one sentence: the user sees at once what a network lacks.
void check_lowerings(const graph &g) {
    std::vector<std::string> unsupported;
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        check_input_count(g, i);
        if (!facts_of(g, g.nodes[i]).lower)
            unsupported.push_back(node_text(g, i));
    }
    if (!unsupported.empty())
        refuse_as_unimplemented("unsupported operators: " + list(unsupported) + "; supported are " +
                                list(dialect_of(g.framework).operators().listed()));
}

/// A large tensor that cannot have its buffer, before operators make tables as long as it is. A network of
/// small ones is planned to tell all that it needs.
void check_tensor(std::size_t limit, const tensor &t, const memory::dims &dims) {
    constexpr std::size_t small = 1 << 26;
    if (limit == 0 || t.type == data_type::undef)
        return;
    const std::size_t bytes = static_cast<std::size_t>(element_count(dims)) * memory::data_type_size(t.type);
    if (bytes > std::max(limit, small))
        throw error(status::out_of_memory, "tensor '" + t.name + "' alone needs " + std::to_string(bytes) +
                                               " bytes, allowed by memory_limit are " +
                                               std::to_string(limit));
}

void check_tensors(std::size_t limit, const graph &g) {
    for (const node &n : g.nodes)
        for (const tensor_id t : outputs_of(n))
            if (t)
                check_tensor(limit, tensor_at(g, t), tensor_at(g, t).dims);
}

/// Passes compute constants, which nodes no longer write when all is checked.
evaluator limited(std::size_t limit) {
    return [limit](const graph &g, const node &n, std::size_t varying, const shared_bytes &values,
                   const std::optional<memory::dims> &dims) {
        const tensor &y = tensor_at(g, output_of(n));
        check_tensor(limit, y, dims ? *dims : y.dims);
        return evaluate(g, n, varying, values, dims);
    };
}

/// Removes nodes that compute tensors without elements, as the past in a decoder's first run, except those
/// whose results other nodes need.
void drop_empty_results(graph &g) {
    const auto is_empty = [&](tensor_id t) { return t && element_count(tensor_at(g, t).dims) == 0; };
    if (none_of(g.nodes, [&](const node &n) { return any_of(outputs_of(n), is_empty); }))
        return;
    std::vector<bool> is_needed(g.tensors.size());
    for (const tensor_id t : outputs_of(g))
        is_needed[t.index()] = true;
    std::vector<node> kept;
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
        if (none_of(outputs_of(*n), [&](tensor_id t) { return t && is_needed[t.index()] && !is_empty(t); }))
            continue;
        for (const tensor_id t : inputs_of(*n))
            if (t)
                is_needed[t.index()] = true;
        kept.push_back(std::move(*n));
    }
    g.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

/// Tells the caller how far it is. Lowering and the jobs it leaves take half the time each, as far as one can say.
class progress {
public:
    explicit progress(const network_options &options) : tell_(options.progress) {}
    void lowering(const graph &g, std::size_t node) const {
        if (tell_)
            tell_(0.5 * static_cast<double>(node) / static_cast<double>(g.nodes.size()), node_text(g, node));
    }
    void finishing(double done) const {
        if (tell_)
            tell_(0.5 + 0.5 * done, done < 1 ? "weights and kernels" : "");
    }

private:
    const std::function<void(double, const std::string &)> &tell_;
};

/// About what will be packed: large constants of operators that accumulate codes, or multiply floats by them, which no
/// other plan has packed.
std::size_t bytes_to_pack(const graph &g, const packed_weights &packed) {
    constexpr std::size_t large = std::size_t{1} << 15;
    std::size_t bytes = 0;
    for (const node &n : g.nodes)
        if (const operator_facts &f = facts_of(g, n);
            f.fusion == fusion_part::accumulates || f.products == summed_products::of_codes)
            for (const tensor_id t : inputs_of(n)) {
                const std::size_t size = t ? tensor_at(g, t).data.size() : 0;
                if (size >= large && !packed.has(tensor_at(g, t).data))
                    bytes += size;
            }
    return bytes;
}

std::shared_ptr<const runtime> runtime_of(const graph &g, const std::string &profile) {
    if (!profile.empty())
        check_profile(profile, g.framework);
    const auto find = dialect_of(g.framework).find_runtime;
    return find ? find(profile) : std::make_shared<runtime>();
}

/// A graph's nodes become steps, in order; weights are packed and buffers found meanwhile.
class node_lowerings {
public:
    node_lowerings(const graph &g, const network_options &options, packed_weights &weights, jobs::start start)
        : g_(g), rule_(options.rule), under_(runtime_of(g, options.profile)), parts(g, weights, start) {
        if (auto other = under_->instead_for(g, [this](std::size_t i) { return of(i); }))
            under_ = std::move(other);
        evaluating_ = evaluator_under(under_);
    }

    std::unique_ptr<step> next(std::size_t i) {
        parts.buffers.start_node(i);
        return on_behalf_of(g_, i, [&] { return under_->lower(of(i)); });
    }

    element_groups broken_groups_of(std::size_t i) {
        return on_behalf_of(g_, i, [&] { return under_->broken_groups(of(i)); });
    }

private:
    lowering of(std::size_t i) { return lowering(g_.nodes[i], g_, parts.buffers, cpu_, rule_, evaluating_); }

    const graph &g_;
    const requantization_rule rule_;
    const engine cpu_{engine::kind::cpu, 0};
    std::shared_ptr<const runtime> under_;
    evaluator evaluating_;

public:
    struct shared_parts {
        shared_parts(const graph &g, packed_weights &weights, jobs::start start)
            : work(start), packed(weights, work, bytes_to_pack(g, weights), !g.saved), buffers(g, packed) {}
        jobs work;
        packing packed;
        tensor_buffers buffers;
    } parts;
};

/// Element i is true if node i computes elements by their place under the profile. Such nodes are fused with
/// no others.
std::vector<bool> nodes_by_place(const graph &g, const network_options &options) {
    const std::vector<element_groups> groups = broken_groups_of(g, options.profile);
    std::vector<bool> are(groups.size());
    std::transform(groups.begin(), groups.end(), are.begin(),
                   [](const element_groups &e) { return e.size != 0; });
    return are;
}

/// Returns what the framework's own rewrites did.
rewrite_history apply_passes(graph &g, const network_options &options) {
    const dialect &spoken = dialect_of(g.framework);
    check_graph(g);
    for (std::size_t i = 0; i < g.nodes.size(); i++) // before passes move them
        g.nodes[i].number = node_number(g, i);
    rewrite_history transformed = spoken.prepare(g, options, limited(options.memory_limit));
    drop_empty_results(g);
    check_lowerings(g);
    if (options.fusion)
        fuse_padding(g);
    if (spoken.assign_layouts)
        spoken.assign_layouts(g);
    if (options.fusion)
        fuse_followers(g, options.rule, nodes_by_place(g, options));
    if (options.fusion && spoken.fuse)
        spoken.fuse(g);
    return transformed;
}

/// Constants that primitives read as they are, and packed ones; a mapped file's pages come and go with use.
std::size_t weight_bytes(const std::vector<buffer> &buffers, std::size_t packed) {
    std::size_t bytes = packed;
    for (const buffer &b : buffers)
        if (b && b.is_shared())
            bytes += b.get_desc().get_size();
    return bytes;
}

/// Gives all pages of mapped files back. Most were read to be packed, or once; the system reads those again
/// that runs need.
void release_files(const graph &g) {
    const void *last = nullptr;
    for (const tensor &t : g.tensors)
        if (t.data.owner() && t.data.owner().get() != last) {
            last = t.data.owner().get();
            release_all_pages(t.data);
        }
}

void check_memory(std::size_t limit, std::size_t weights, const memory_plan &m) {
    std::size_t buffers = m.arena_bytes;
    for (const memory_plan::slot &s : m.slots)
        if (s.is_separate && !s.is_lent)
            buffers += s.bytes;
    if (limit != 0 && weights + buffers > limit)
        throw error(status::out_of_memory, "the network needs " + std::to_string(weights + buffers) +
                                               " bytes (weights " + std::to_string(weights) + ", buffers " +
                                               std::to_string(buffers) + "), allowed by memory_limit are " +
                                               std::to_string(limit));
}

} // namespace

std::vector<element_groups> broken_groups_of(const graph &g, const std::string &profile) {
    std::vector<element_groups> groups(g.nodes.size());
    if (profile.empty())
        return groups;
    network_options options;
    options.profile = profile;
    packed_weights none;
    node_lowerings lowerings(g, options, none, jobs::start::at_finish); // which does not come
    for (std::size_t i = 0; i < groups.size(); i++)
        groups[i] = lowerings.broken_groups_of(i);
    return groups;
}

std::shared_ptr<const plan> make_plan(model::graph g, const network_options &options, packed_weights &weights,
                                      const std::vector<tensor_id> &lent) {
    const default_float_environment environment; // scales of rules and fused nodes are computed
    auto result = std::make_shared<plan>();
    result->graph = std::move(g);
    graph &own = result->graph; // steps and buffers refer to it
    if (own.saved)
        check_lowerings(own); // the reader has checked all else
    else
        result->transformed = apply_passes(own, options);
    check_tensors(options.memory_limit, own);
    result->isa = get_effective_cpu_isa();

    const progress report(options);
    node_lowerings lowerings(own, options, weights,
                             options.memory_limit == 0 ? jobs::start::at_once
                                                       : jobs::start::at_finish); // it is checked before
    auto &[work, packed, buffers] = lowerings.parts;
    result->steps.reserve(own.nodes.size());
    const auto start = [&, &work = work](std::size_t i) {
        work.add(
            [&own, i, &made = *result->steps[i]] { on_behalf_of(own, i, [&] { made.make_primitives(); }); });
    };
    primitive_step *waiting = nullptr; // for the address of the weights behind it
    std::size_t waits_at = 0;
    for (std::size_t i = 0; i < own.nodes.size(); i++) {
        report.lowering(own, i);
        result->steps.push_back(lowerings.next(i));
        auto *const made = dynamic_cast<primitive_step *>(result->steps[i].get());
        const buffer multiplied = made ? made->weights() : buffer();
        const bool can_fetch = made && made->can_fetch();
        if (waiting && (multiplied || can_fetch)) {
            waiting->fetch(multiplied);
            start(waits_at);
            waiting = nullptr;
        }
        if (can_fetch) {
            waiting = made;
            waits_at = i;
        } else
            start(i);
    }
    if (waiting)
        start(waits_at);
    for (const tensor_id t : lent)
        buffers.lend(t);
    result->memory = buffers.place();
    result->buffers.reserve(own.tensors.size());
    result->weights = packed.used();
    result->joint_weights = packed.used_jointly();
    result->packed_reads = buffers.packed_reads();
    for (std::size_t t = 0; t < own.tensors.size(); t++)
        result->buffers.push_back(buffers.find(tensor_id(t)));
    check_memory(options.memory_limit, weight_bytes(result->buffers, packed.bytes()), result->memory);
    work.finish([&](double done) { report.finishing(done); });
    packed.share();
    for (std::size_t i = 0; i < own.nodes.size(); i++)
        on_behalf_of(own, i, [&] { result->steps[i]->prepare(); });
    if (!own.saved)
        release_files(own);
    for (tensor &t : own.tensors) // all that runs read of them is copied or packed
        if (is_borrowed(t.data))
            t.data = zero_bytes(t.data.size());
    return result;
}

std::vector<std::pair<int, std::string>> refused_lowerings(model::graph g, const network_options &options) {
    const default_float_environment environment;
    if (g.saved)
        check_lowerings(g);
    else
        apply_passes(g, options);
    check_tensors(options.memory_limit, g);
    packed_weights weights;
    node_lowerings lowerings(g, options, weights, jobs::start::at_finish); // which does not come
    std::vector<std::pair<int, std::string>> refused;
    for (std::size_t i = 0; i < g.nodes.size(); i++)
        try {
            lowerings.next(i);
        } catch (const error &e) {
            refused.emplace_back(node_number(g, i), e.what());
        }
    return refused;
}

void save_plan(const byte_sink &put, const plan &p, const graph &source, const network_options &options) {
    std::vector<int> reads(p.graph.tensors.size());
    const auto count = [&](const node &n) {
        for (const tensor_id t : inputs_of(n))
            if (t)
                reads[t.index()]++;
    };
    for (const node &n : p.graph.nodes) {
        count(n);
        std::for_each(n.fused.begin(), n.fused.end(), count);
    }
    // Small elements are stored in both orders, since they may be anything; this rule reads weights.
    constexpr std::size_t small = 1024;
    const bool are_read = needs_magnitudes(options.rule);
    std::set<const std::uint8_t *> recoverable;
    for (const auto &w : p.weights)
        if (can_be_unpacked(*w))
            recoverable.insert(w->original.data());
    graph saved = p.graph;
    std::vector<bool> is_only_packed(reads.size());
    for (std::size_t t = 0; t < reads.size(); t++) {
        tensor &constant = saved.tensors[t];
        if (!constant.is_constant)
            continue;
        is_only_packed[t] = !are_read && constant.data.size() > small && p.packed_reads[t] > 0 &&
                            p.packed_reads[t] == reads[t] && !p.buffers[t] &&
                            recoverable.count(constant.data.data()) != 0;
        if (reads[t] == 0 && !p.buffers[t]) // what passes have folded away
            constant.is_constant = false, constant.data = {};
    }
    write_plan(put, {saved, source, options, p.isa, p.weights, is_only_packed});
}

} // namespace octet::model
