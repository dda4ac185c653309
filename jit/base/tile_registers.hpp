#pragma once // SPDX-License-Identifier: Apache-2.0

// The tile registers of AMX, as far as they outlive a kernel: their shapes. Configuring them takes as long as a small
// tile of products, so a thread does it when the shapes change, not in each call, and sets them free when its share of
// the work is done: nobody else's code meets a configuration it does not know, and the system has less to save.

#include <cstdint>

namespace octet::impl::jit {

/// Shapes of the eight tile registers in a kernel of products: accumulators 0 to 3 have `rows` of 16 sums. What is left
/// holds sources, `rows` of quads, and weights, quads of 16 columns; all in steps of `quads`, of which some have
/// `last_quads` where a reduction is no multiple.
struct tile_shapes {
    static constexpr int accumulators = 4, first_source = 4;
    int rows = 0, quads = 0, last_quads = 0;

    /// 0 stands for no configuration.
    std::uint64_t key() const { return static_cast<std::uint64_t>(rows | quads << 8 | last_quads << 16); }
};

/// While it exists, the thread may run kernels that configure tile registers; then they are free again.
class tile_registers_scope {
public:
    tile_registers_scope() = default;
    ~tile_registers_scope();
    tile_registers_scope(const tile_registers_scope &) = delete;
    tile_registers_scope &operator=(const tile_registers_scope &) = delete;

    /// The key of the shapes that the calling thread has: kernels compare and change it.
    static std::uint64_t *configured();
};

} // namespace octet::impl::jit
