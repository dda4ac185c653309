// The plan is greedy, because optimal packing is hard: largest first, lowest gap.

#include "network/lower/buffers.hpp"

#include <algorithm>
#include <numeric>

#include "network/graph/descs.hpp"

namespace octet::model {
namespace {

constexpr std::size_t alignment = 64; ///< of each buffer: a cache line, and the widest vector

std::size_t rounded_up(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool meet(const lifetime &a, const lifetime &b) { return a.first <= b.last && b.first <= a.last; }

} // namespace

/// Largest first; each takes the lowest gap among those already placed that it meets.
buffer_plan plan_buffers(const std::vector<lifetime> &lifetimes) {
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
    buffer_plan plan;
    plan.offsets.resize(lifetimes.size());
    std::vector<std::size_t> placed; // in the order of their offsets
    for (const std::size_t i : order) {
        const std::size_t bytes = rounded_up(lifetimes[i].bytes);
        if (bytes == 0)
            break;
        std::size_t offset = 0;
        for (const std::size_t p : placed) {
            if (!meet(lifetimes[i], lifetimes[p]))
                continue;
            if (offset + bytes <= plan.offsets[p])
                break;
            offset = std::max(offset, plan.offsets[p] + rounded_up(lifetimes[p].bytes));
        }
        plan.offsets[i] = offset;
        plan.total = std::max(plan.total, offset + bytes);
        placed.insert(
            std::upper_bound(placed.begin(), placed.end(), offset,
                             [&](std::size_t value, std::size_t p) { return value < plan.offsets[p]; }),
            i);
    }
    return plan;
}

tensor_buffers::tensor_buffers(graph &g, const engine &e)
    : g_(g), engine_(e), own_(g.tensors.size()), root_(g.tensors.size()), is_separate_(g.tensors.size()) {
    std::iota(root_.begin(), root_.end(), 0);
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        is_separate_[t] = g.tensors[t].is_constant || g.tensors[t].is_variable;
    for (const int t : g.inputs)
        is_separate_[at(t)] = true; // written once, read by many runs
}

void *tensor_buffers::handle_of(int root) const { return own_[at(root)].get_data_handle(); }

void tensor_buffers::make_own(int t) {
    if (own_[at(t)])
        return;
    tensor &described = g_.tensors.at(at(t));
    const memory::desc d = checked_desc(described);
    if (described.is_constant)
        own_[at(t)] = memory(d, engine_, described.data.data());
    else if (is_separate_[at(t)])
        own_[at(t)] = memory(d, engine_);
    else
        unplaced_.emplace_back(t, own_[at(t)] = memory(d, engine_, nullptr));
}

memory tensor_buffers::get(int t) {
    make_own(t);
    return own_[at(t)];
}

memory tensor_buffers::get(int t, const memory::desc &d) {
    make_own(t);
    const int root = root_[at(t)];
    const memory view(d, engine_, handle_of(root));
    if (!is_separate_[at(root)])
        unplaced_.emplace_back(root, view);
    return view;
}

void tensor_buffers::alias(int t, int source) {
    own_.at(at(t)) = get(source, checked_desc(g_.tensors.at(at(t))));
    root_[at(t)] = root_[at(source)];
}

memory tensor_buffers::keep(int t) {
    if (!own_.at(at(t)))
        is_separate_[at(t)] = true;
    if (!is_separate_[at(t)])
        throw error(status::runtime_error, "a buffer must be kept before it is used");
    return get(t);
}

std::vector<lifetime> tensor_buffers::lifetimes() const {
    std::vector<lifetime> result(g_.tensors.size());
    const auto extend = [&](int t, int node) {
        if (t < 0 || !own_[at(t)] || is_separate_[at(root_[at(t)])])
            return;
        lifetime &l = result[at(root_[at(t)])];
        const std::size_t bytes = own_[at(root_[at(t)])].get_desc().get_size();
        l = l.bytes == 0 ? lifetime{bytes, node, node}
                         : lifetime{bytes, std::min(l.first, node), std::max(l.last, node)};
    };
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
        for (const int t : g_.nodes[i].inputs)
            extend(t, static_cast<int>(i));
        for (const int t : g_.nodes[i].outputs)
            extend(t, static_cast<int>(i));
    }
    for (const int t : g_.outputs)
        extend(t, static_cast<int>(g_.nodes.size()));
    return result;
}

void tensor_buffers::place() {
    for (const int t : g_.inputs) // also those that no node reads
        make_own(t);
    for (const int t : g_.outputs)
        make_own(t);
    const std::vector<lifetime> needed = lifetimes();
    plan_ = plan_buffers(needed);
    for (const lifetime &l : needed)
        unplanned_bytes_ += l.bytes;
    if (plan_.total != 0)
        arena_ =
            memory(memory::desc({static_cast<dim_t>(plan_.total)}, data_type::u8, format_tag::x), engine_);
    for (const auto &[root, waiting] : unplaced_)
        waiting.set_data_handle(arena_.map_data<std::uint8_t>() + plan_.offsets[at(root)]);
    unplaced_.clear();
}

} // namespace octet::model
