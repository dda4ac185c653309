// The plan is greedy, because optimal packing is hard: largest first; in the middle of an earlier one, else
// in the lowest gap.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "network/graph/descs.hpp"
#include "network/graph/file.hpp"

namespace octet::model {
namespace {

constexpr std::size_t alignment = 64; ///< of each buffer: a cache line, and the widest vector

/// Constants of so many bytes, as tables of embeddings, are read in the file.
constexpr std::size_t file_bytes = std::size_t{1} << 15;

std::size_t rounded_up(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool meet(const lifetime &a, const lifetime &b) { return a.first <= b.last && b.first <= a.last; }

/// State starts as zero: as the code of zero where it has codes.
std::vector<std::uint8_t> initial_element(const tensor &t) {
    std::vector<std::uint8_t> element(memory::data_type_size(t.type));
    const std::int32_t zero_point = t.quant.zero_points.size() == 1 ? t.quant.zero_points[0] : 0;
    if (!element.empty()) // of a type that Octet has
        std::memcpy(element.data(), &zero_point, std::min(element.size(), sizeof zero_point));
    return element;
}

/// The last guard: whatever a file says of its tensors, no descriptor reaches behind a buffer.
void need_bytes(std::size_t bytes, const memory::desc &d) {
    if (d.get_size() > bytes)
        refuse("elements of " + d.to_string() + " lie outside the " + std::to_string(bytes) +
               " bytes of their tensor");
}

} // namespace

buffer buffer::seen_through(const memory::desc &d) const {
    buffer view = *this;
    if (get_desc() == d)
        return view;
    need_bytes(get_desc().get_size(), d);
    view.desc_ = std::make_shared<const memory::desc>(d);
    if (is_shared()) {
        view.shared_ = memory(d, shared_.get_engine(), shared_.get_data_handle());
        view.owner_ = owner_ ? owner_ : std::make_shared<const memory>(shared_);
    }
    return view;
}

namespace {

/// Buffers in the order in which they are placed, and where.
class arena {
public:
    arena(const std::vector<lifetime> &lifetimes, buffer_plan &plan) : lifetimes_(lifetimes), plan_(plan) {}

    void place(std::size_t buffer) {
        const std::size_t bytes = size(buffer);
        const std::vector<std::size_t> others = met_by(buffer);
        const std::size_t offset = middle(bytes, others).value_or(lowest_gap(bytes, others));
        plan_.offsets[buffer] = offset;
        plan_.total = std::max(plan_.total, offset + bytes);
        const auto behind =
            std::upper_bound(placed_.begin(), placed_.end(), offset,
                             [&](std::size_t value, std::size_t p) { return value < plan_.offsets[p]; });
        placed_.insert(behind, buffer);
    }

private:
    std::size_t size(std::size_t buffer) const { return rounded_up(lifetimes_[buffer].bytes); }
    std::size_t end(std::size_t buffer) const { return plan_.offsets[buffer] + size(buffer); }

    /// Buffers already placed that live at the same time as this one, by offset.
    std::vector<std::size_t> met_by(std::size_t buffer) const {
        std::vector<std::size_t> others;
        for (const std::size_t p : placed_)
            if (meet(lifetimes_[buffer], lifetimes_[p]))
                others.push_back(p);
        return others;
    }

    /// In the middle of one that was placed before and is as large or larger.
    std::optional<std::size_t> middle(std::size_t bytes, const std::vector<std::size_t> &others) const {
        for (const std::size_t p : placed_) {
            const std::size_t offset = plan_.offsets[p] + (size(p) - bytes) / 2 / alignment * alignment;
            if (std::none_of(others.begin(), others.end(), [&](std::size_t other) {
                    return offset < end(other) && plan_.offsets[other] < offset + bytes;
                }))
                return offset;
        }
        return std::nullopt;
    }

    std::size_t lowest_gap(std::size_t bytes, const std::vector<std::size_t> &others) const {
        std::size_t offset = 0;
        for (const std::size_t other : others) {
            if (offset + bytes <= plan_.offsets[other])
                break;
            offset = std::max(offset, end(other));
        }
        return offset;
    }

    const std::vector<lifetime> &lifetimes_;
    buffer_plan &plan_;
    std::vector<std::size_t> placed_; ///< in the order of their offsets
};

} // namespace

buffer_plan plan_buffers(const std::vector<lifetime> &lifetimes) {
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
    buffer_plan plan;
    plan.offsets.resize(lifetimes.size());
    arena bytes(lifetimes, plan);
    for (const std::size_t buffer : order)
        if (lifetimes[buffer].bytes != 0)
            bytes.place(buffer);
    return plan;
}

tensor_buffers::tensor_buffers(const graph &g, packing &packed)
    : g_(g), packing_(packed), own_(g.tensors.size()), slots_(g.tensors.size()),
      packed_reads_(g.tensors.size()) {
    for (std::size_t t = 0; t < g.tensors.size(); t++)
        if (g.tensors[t].is_variable) {
            slots_[t].is_separate = true;
            slots_[t].fill = initial_element(g.tensors[t]);
        }
    for (const tensor_id t : inputs_of(g))
        slots_[t.index()].is_separate = true; // written once, read by many runs
}

void tensor_buffers::make_own(tensor_id t) {
    if (own_.at(t.index()))
        return;
    const tensor &described = tensor_at(g_, t);
    const memory::desc d = described.is_constant ? constant_desc(described) : checked_desc(described);
    if (described.is_constant) {
        // A page that is read in a run brings its neighbours in the file, most of which only packing needs.
        const bool is_copied = !g_.saved && is_mapped(described.data) && described.data.size() < file_bytes;
        const shared_bytes data = is_borrowed(described.data) ? packing_.copy_of(described.data)
                                  : is_copied ? aligned_copy(described.data.data(), described.data.size())
                                              : described.data;
        const memory m = constant_memory(d, data);
        own_[t.index()] = buffer(m, m.get_data_handle() == data.data() ? data.owner() : nullptr);
    } else {
        own_[t.index()] = buffer(slot_of(t), d);
        slots_[t.index()].bytes = d.get_size();
    }
}

/// Nodes that write nothing are gone by now: to others, a tensor without elements is a special case that none
/// of them has.
void tensor_buffers::need_elements(tensor_id t) const {
    const tensor &described = tensor_at(g_, t);
    if (element_count(described.dims) == 0)
        refuse_as_unimplemented("tensor '" + described.name + "' has no elements (" +
                                to_text(described.dims) + ")");
}

buffer tensor_buffers::get(tensor_id t) {
    need_elements(t);
    make_own(t);
    return own_[t.index()];
}

buffer tensor_buffers::get(tensor_id t, const memory::desc &d) {
    need_elements(t);
    make_own(t);
    return own_[t.index()].seen_through(d);
}

buffer tensor_buffers::packed(tensor_id t, const memory::desc &plain, const memory::desc &chosen) {
    if (plain == chosen)
        return get(t, plain);
    packed_reads_[t.index()]++;
    need_bytes(tensor_at(g_, t).data.size(), plain);
    const auto constant = packing_.get(tensor_at(g_, t).data, plain, chosen);
    return buffer(constant->packed, constant);
}

buffer tensor_buffers::scratch(const memory::desc &d) {
    slots_.emplace_back().bytes = d.get_size();
    scratch_nodes_.push_back(node_);
    return {slot_id(slots_.size() - 1), d};
}

void tensor_buffers::alias(tensor_id t, tensor_id source) {
    const memory::desc d = checked_desc(tensor_at(g_, t));
    const buffer shared = get(source, d);
    const std::size_t there =
        shared.is_shared() ? own_[source.index()].get_desc().get_size() : slots_[shared.slot().index()].bytes;
    if (d.get_size() > there)
        refuse("the output '" + tensor_at(g_, t).name + "' takes " + std::to_string(d.get_size()) +
               " bytes, but would lie in '" + tensor_at(g_, source).name + "', which has " +
               std::to_string(there));
    own_.at(t.index()) = shared;
}

void tensor_buffers::overwrite(tensor_id t, tensor_id source) {
    alias(t, source);
    if (own_[t.index()].is_shared() || slots_[own_[t.index()].slot().index()].is_separate)
        refuse("the output would overwrite '" + tensor_at(g_, source).name + "', which outlives the run");
}

void tensor_buffers::fill(tensor_id t, std::vector<std::uint8_t> element) {
    if (own_.at(t.index()))
        throw error(status::runtime_error, "a buffer must be filled before it is used");
    slots_[t.index()].is_separate = true;
    slots_[t.index()].fill = std::move(element);
}

void tensor_buffers::lend(tensor_id t) {
    slots_[t.index()].is_separate = true;
    slots_[t.index()].is_lent = true;
}

std::vector<lifetime> tensor_buffers::lifetimes() const {
    std::vector<lifetime> result(slots_.size());
    const auto extend_slot = [&](slot_id slot, std::size_t node) {
        const memory_plan::slot &s = slots_[slot.index()];
        if (s.is_separate)
            return;
        lifetime &l = result[slot.index()];
        l = l.bytes == 0 ? lifetime{s.bytes, node, node}
                         : lifetime{s.bytes, std::min(l.first, node), std::max(l.last, node)};
    };
    const auto extend = [&](tensor_id t, std::size_t node) {
        if (t && !own_[t.index()].is_shared())
            extend_slot(own_[t.index()].slot(), node);
    };
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
        for (const tensor_id t : inputs_of(g_.nodes[i]))
            extend(t, i);
        for (const tensor_id t : outputs_of(g_.nodes[i]))
            extend(t, i);
    }
    for (const tensor_id t : outputs_of(g_))
        extend(t, g_.nodes.size());
    for (std::size_t i = 0; i < scratch_nodes_.size(); i++)
        extend_slot(slot_id(g_.tensors.size() + i), scratch_nodes_[i]);
    return result;
}

memory_plan tensor_buffers::place() {
    for (const tensor_id t : inputs_of(g_)) // also those that no node reads
        make_own(t);
    for (const tensor_id t : outputs_of(g_))
        make_own(t);
    const std::vector<lifetime> needed = lifetimes();
    const buffer_plan arena = plan_buffers(needed);
    memory_plan plan;
    plan.arena_bytes = arena.total;
    for (std::size_t i = 0; i < slots_.size(); i++) {
        slots_[i].offset = arena.offsets[i];
        plan.unplanned_bytes += needed[i].bytes;
    }
    plan.slots = std::move(slots_);
    return plan;
}

} // namespace octet::model
