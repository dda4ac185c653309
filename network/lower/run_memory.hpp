#pragma once // SPDX-License-Identifier: Apache-2.0

// The memory of one context, as its network's plan lays it out. Nothing else of a network changes while it runs.

#include <vector>

#include "network/lower/buffers.hpp"

namespace octet::model {

/// Where a sequence of a batch has its rows, of which so many are filled before the run.
struct sequence_place {
    std::uint8_t *first;
    dim_t rows;
};

class run_memory {
public:
    /// Allocates and fills. `plan` must outlive it. Throws std::bad_alloc or octet::error without memory.
    explicit run_memory(const memory_plan &plan);

    /// The first byte of a buffer.
    void *at(const buffer &b) const {
        return b.is_shared() ? b.get_memory().get_data_handle() : at(b.slot());
    }
    void *at(slot_id slot) const { return addresses_[slot.index()]; }

    /// Elements of type T.
    template <typename T> T *at(const buffer &b) const { return static_cast<T *>(at(b)); }

    /// Lets a slot lie in the caller's bytes; null: in its own again.
    void bind(slot_id slot, void *bytes);

    /// Lets each sequence of a batch lie in bytes of its own: only steps that ask for `sequence` can run then.
    void bind_sequences(slot_id slot, std::vector<sequence_place> places);

    /// The places of sequences; null where they lie one after the other.
    const sequence_place *sequences(const buffer &b) const {
        const bool are_apart = !b.is_shared() && !sequences_.empty() && !sequences_[b.slot().index()].empty();
        return are_apart ? sequences_[b.slot().index()].data() : nullptr;
    }

    /// The first byte of sequence i of a batch, each of which has so many bytes.
    std::uint8_t *sequence(const buffer &b, std::size_t i, std::size_t bytes) const {
        const sequence_place *const places = sequences(b);
        return places ? places[i].first : at<std::uint8_t>(b) + i * bytes;
    }

    /// Fills a separate slot as it was at first.
    void refill(slot_id slot);

private:
    void *own_address(slot_id slot) const;

    const memory_plan *plan_;
    memory arena_;
    std::vector<memory> separate_; ///< by slot; null for those in the arena
    std::vector<void *> addresses_;
    std::vector<std::vector<sequence_place>> sequences_; ///< by slot; empty: one after the other
};

} // namespace octet::model
