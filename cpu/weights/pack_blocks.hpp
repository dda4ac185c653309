#pragma once // SPDX-License-Identifier: Apache-2.0

// Packing at the speed of memory, for 8-bit weights whose packed order is that of whole blocks: no merged groups and
// no patches, which only small tensors have.

#include <cstdint>
#include <vector>

#include "common/layout/packed.hpp"
#include "common/machine.hpp"

namespace octet::impl {

/// The places of weights in a plain tensor: a weight lies at outer(group, o) + reduction[tap][i], in bytes.
/// `i` counts as in a packed row; taps of the kernel's width are included where they are part of the
/// reduction.
struct block_source {
    const std::uint8_t *data;
    std::vector<dim_t> groups;    ///< offset of o = 0, by stored group
    dim_t o_stride;               ///< from output channel to output channel
    std::vector<dim_t> reduction; ///< [tap][i]
};

/// False also without AVX2.
bool packs_in_blocks(const packed_geometry &p, instruction_set isa);

/// Writes all bytes of the packed tensor, sums included. `flip` is xored with every weight: 128 for unsigned ones.
void pack_blocks(const packed_geometry &p, const block_source &src, std::uint8_t flip, std::int8_t *dst,
                 instruction_set isa);

} // namespace octet::impl
