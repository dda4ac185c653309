#pragma once

// Where the tensors of a network lie. Lowering asks for buffers and binds them to primitives before anyone
// knows their addresses; when all nodes are lowered, `place` gives tensors that are never alive together the
// same bytes of one arena. Nothing is allocated afterwards.

#include <utility>
#include <vector>

#include "network/graph/graph.hpp"

namespace octet::model {

/// A buffer is needed from the node that writes it to the last node that reads it, both included.
struct lifetime {
    std::size_t bytes = 0;
    int first = 0, last = 0;
};

struct buffer_plan {
    std::vector<std::size_t> offsets; ///< one per lifetime, multiples of 64 bytes
    std::size_t total = 0;
};

/// Buffers whose lifetimes meet do not overlap. Freed bytes are used again at once, while caches still hold
/// them.
buffer_plan plan_buffers(const std::vector<lifetime> &lifetimes);

class tensor_buffers {
public:
    tensor_buffers(graph &g, const engine &e);

    /// The buffer of a tensor, in the tensor's own layout or seen through `d`. Constants, inputs and
    /// variables have an address at once, others after `place`.
    memory get(int tensor);
    memory get(int tensor, const memory::desc &d);

    /// Lets `tensor` share the buffer of `source`.
    void alias(int tensor, int source);

    /// A buffer of its own, now: its contents survive from run to run.
    memory keep(int tensor);

    void place();

    std::size_t arena_bytes() const { return plan_.total; }
    std::size_t unplanned_bytes() const { return unplanned_bytes_; } ///< what separate buffers would take

private:
    std::size_t at(int tensor) const { return static_cast<std::size_t>(tensor); }
    void *handle_of(int root) const;
    void make_own(int tensor);
    std::vector<lifetime> lifetimes() const; ///< of all tensors; no bytes for those outside the arena

    graph &g_;
    engine engine_;
    std::vector<memory> own_; ///< as the tensor describes itself; null until asked for
    std::vector<int> root_;   ///< the tensor whose bytes a tensor uses, itself unless it is a view
    std::vector<bool> is_separate_;
    std::vector<std::pair<int, memory>> unplaced_; ///< root and what waits for its address
    memory arena_;
    buffer_plan plan_;
    std::size_t unplanned_bytes_ = 0;
};

} // namespace octet::model
