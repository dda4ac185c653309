// An allocation for the arena and one for each buffer that outlives a run.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/run_memory.hpp"

#include <algorithm>

namespace octet::model {
namespace {

memory bytes(std::size_t count) {
    return memory(memory::desc({static_cast<dim_t>(count)}, data_type::u8, format_tag::x),
                  engine(engine::kind::cpu, 0));
}

} // namespace

run_memory::run_memory(const memory_plan &plan)
    : plan_(&plan), separate_(plan.slots.size()), addresses_(plan.slots.size()) {
    if (plan.arena_bytes != 0)
        arena_ = bytes(plan.arena_bytes);
    for (std::size_t i = 0; i < plan.slots.size(); i++) {
        if (plan.slots[i].bytes == 0 || plan.slots[i].is_lent)
            continue;
        const slot_id slot(i);
        if (plan.slots[i].is_separate)
            separate_[i] = bytes(plan.slots[i].bytes);
        addresses_[i] = own_address(slot);
        if (plan.slots[i].is_separate)
            refill(slot);
    }
}

void *run_memory::own_address(slot_id slot) const {
    const std::size_t i = slot.index();
    if (plan_->slots[i].bytes == 0 || plan_->slots[i].is_lent) // perhaps there is no arena, either
        return nullptr;
    return separate_[i] ? separate_[i].get_data_handle()
                        : arena_.map_data<std::uint8_t>() + plan_->slots[i].offset;
}

void run_memory::bind(slot_id slot, void *user) {
    addresses_[slot.index()] = user ? user : own_address(slot);
}

void run_memory::bind_sequences(slot_id slot, std::vector<sequence_place> places) {
    sequences_.resize(addresses_.size());
    sequences_[slot.index()] = std::move(places);
}

void run_memory::refill(slot_id slot) {
    const memory_plan::slot &s = plan_->slots[slot.index()];
    auto *first = static_cast<std::uint8_t *>(at(slot));
    if (s.fill.empty())
        std::fill(first, first + s.bytes, std::uint8_t{0});
    else
        for (std::size_t i = 0; i < s.bytes; i += s.fill.size())
            std::copy(s.fill.begin(), s.fill.end(), first + i);
}

} // namespace octet::model
