#pragma once // SPDX-License-Identifier: Apache-2.0

// Weights to and from the packed layout (common/layout/packed.hpp), with the sums per output channel that zero
// points need.

#include "common/layout/layout.hpp"
#include "common/machine.hpp"

namespace octet::impl {

/// `packed` gets all bytes, padding and sums included. The descriptors have equal dims; `plain` is any plain
/// layout. `isa`: what packing may use.
void pack_weights(const memory_desc &plain, const void *src, const memory_desc &packed, void *dst,
                  instruction_set isa);
void unpack_weights(const memory_desc &packed, const void *src, const memory_desc &plain, void *dst);

/// Sums of a packed tensor: [stored group][line][output channel of the stored group, padded to whole blocks].
inline const std::int32_t *packed_sums(const packed_geometry &p, const void *packed) {
    return reinterpret_cast<const std::int32_t *>(static_cast<const std::int8_t *>(packed) + p.sums_offset());
}

} // namespace octet::impl
