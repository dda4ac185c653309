#pragma once // SPDX-License-Identifier: Apache-2.0

// Places the tensors of a network in memory. Lowering asks for buffers and binds them to primitives before
// anyone knows an address. When all nodes are lowered, `place` gives tensors that are never alive together
// the same bytes of one arena. The plan is shared by all contexts of a network, each of which allocates one
// arena (run_memory.hpp).

#include <memory>
#include <utility>
#include <vector>

#include "network/lower/packed_weights.hpp"

namespace octet::model {

/// A buffer is needed from the node that writes it to the last node that reads it, both included.
struct lifetime {
    std::size_t bytes = 0;
    std::size_t first = 0, last = 0; ///< nodes, by their place
};

struct buffer_plan {
    std::vector<std::size_t> offsets; ///< one per lifetime, multiples of 64 bytes
    std::size_t total = 0;
};

/// Buffers whose lifetimes meet do not overlap. Freed bytes are used again at once, while caches still hold
/// them: the caches of the same core where that is possible. Threads divide most tensors by rows, so buffers in turn
/// have one middle: the first half of them belongs to the first half of the threads.
buffer_plan plan_buffers(const std::vector<lifetime> &lifetimes);

/// The memory that the slots of a context need.
struct memory_plan {
    struct slot {
        std::size_t bytes = 0;    ///< 0: nobody uses it
        bool is_separate = false; ///< outlives a run: inputs, variables, what padding is filled into
        bool is_lent = false;     ///< lies in bytes of whoever runs, and has none of its own
        std::vector<std::uint8_t>
            fill;               ///< bytes of an element that fills a separate one at first; none: zeros
        std::size_t offset = 0; ///< in the arena, of one that is not separate
    };
    std::vector<slot> slots;
    std::size_t arena_bytes = 0;
    std::size_t unplanned_bytes = 0; ///< what the arena would take if each slot had its own bytes
};

using slot_id = id<memory_plan::slot>;

/// Elements with a layout, and where they are: in a slot of the context that runs, or in memory that all contexts
/// share (constants, packed weights).
class buffer {
public:
    buffer() = default; ///< none
    /// Memory that sees bytes of `owner`, or null for its own.
    explicit buffer(memory shared, std::shared_ptr<const void> owner = nullptr)
        : desc_(std::make_shared<const memory::desc>(shared.get_desc())), shared_(std::move(shared)),
          owner_(std::move(owner)) {}
    buffer(slot_id slot, const memory::desc &d)
        : desc_(std::make_shared<const memory::desc>(d)), slot_(slot) {}

    const memory::desc &get_desc() const {
        static const memory::desc of_none;
        return desc_ ? *desc_ : of_none;
    }
    bool is_shared() const { return !slot_; }
    buffer seen_through(const memory::desc &d) const;    ///< the same bytes
    slot_id slot() const { return slot_; }               ///< of a context; none for shared memory
    const memory &get_memory() const { return shared_; } ///< null for a slot
    explicit operator bool() const { return slot_ || shared_; }

private:
    std::shared_ptr<const memory::desc> desc_; ///< of all copies; most tensors have no buffer
    slot_id slot_;
    memory shared_;
    std::shared_ptr<const void> owner_; ///< of the bytes, where `shared_` only sees them
};

class tensor_buffers {
public:
    tensor_buffers(const graph &g, packing &packed);

    /// Scratch belongs to the node that is lowered now.
    void start_node(std::size_t place) { node_ = place; }

    /// The buffer of a tensor, in the tensor's own layout or seen through `d`.
    buffer get(tensor_id t);
    buffer get(tensor_id t, const memory::desc &d);

    /// A constant that `plain` describes, in layout `chosen`. Its bytes are there after `packing::finish`.
    buffer packed(tensor_id t, const memory::desc &plain, const memory::desc &chosen);

    /// Constants together, as `packing::get` makes them.
    std::shared_ptr<const joint_constants> packed(const std::vector<shared_bytes> &originals,
                                                  const std::string &form, std::size_t size,
                                                  const std::function<void(void *)> &fill) {
        return packing_.get(originals, form, size, fill);
    }

    /// Bytes of the node that is lowered now, for the time that it runs.
    buffer scratch(const memory::desc &d);

    /// Lets `t` share the bytes of `source`. Throws where it takes more.
    void alias(tensor_id t, tensor_id source);
    /// Lets `t` share the bytes of `source`, which the node writes to: throws for bytes that outlive the run.
    void overwrite(tensor_id t, tensor_id source);

    /// A buffer that outlives a run and holds copies of `element` at first. Comes before anyone uses the tensor.
    void fill(tensor_id t, std::vector<std::uint8_t> element);

    /// Lets an input or an output of the network have no bytes but those that a context is given.
    void lend(tensor_id t);

    /// The buffer of a tensor if it has one: those that vanished between fused operators have none.
    buffer find(tensor_id t) const { return own_.at(t.index()); }

    /// How often `packed` was asked for each tensor in another layout than its own.
    const std::vector<int> &packed_reads() const { return packed_reads_; }

    /// The last call: lets slots share the bytes of the arena.
    memory_plan place();

private:
    void need_elements(tensor_id t) const;
    void make_own(tensor_id t);
    static slot_id slot_of(tensor_id t) { return slot_id(t.number()); }
    std::vector<lifetime> lifetimes() const; ///< of all slots; no bytes for those outside the arena

    const graph &g_;
    packing &packing_;
    std::size_t node_ = 0;
    std::vector<buffer> own_;              ///< as the tensor describes itself; none until asked for
    std::vector<memory_plan::slot> slots_; ///< one per tensor, then scratch
    std::vector<int> packed_reads_;
    std::vector<std::size_t> scratch_nodes_; ///< of the slots behind the tensors'
};

} // namespace octet::model
