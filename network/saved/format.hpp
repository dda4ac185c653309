#pragma once // SPDX-License-Identifier: Apache-2.0

// The header of a saved plan, and checksums of its parts.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "octet/graph.hpp" // the namespace

namespace octet::model {

inline constexpr char saved_plan_magic[8] = {'O', 'C', 'T', 'P', 'L', 'A', 'N', '\n'};
inline constexpr std::uint32_t saved_plan_format = 4;
inline constexpr std::size_t saved_plan_alignment = 64; ///< of the structure and of each blob

struct saved_plan_header {
    char magic[8] = {};
    std::uint32_t format = 0;
    std::uint32_t checksum = 0;       ///< of the structure
    std::uint64_t structure_size = 0; ///< in bytes
    std::uint64_t file_size = 0;      ///< in bytes
    std::uint8_t zeros[32] = {};
};
static_assert(sizeof(saved_plan_header) == saved_plan_alignment, "the structure follows");

inline std::size_t rounded_up_to_alignment(std::size_t bytes) {
    return (bytes + saved_plan_alignment - 1) / saved_plan_alignment * saved_plan_alignment;
}

/// Whether bytes begin like a saved plan.
inline bool is_saved_plan(const std::uint8_t *bytes, std::size_t size) {
    return size >= sizeof saved_plan_magic &&
           std::memcmp(bytes, saved_plan_magic, sizeof saved_plan_magic) == 0;
}

/// CRC-32C (Castagnoli), which x86 computes faster than memory delivers.
std::uint32_t crc32c(const std::uint8_t *bytes, std::size_t size);

} // namespace octet::model
