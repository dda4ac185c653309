#pragma once // SPDX-License-Identifier: Apache-2.0

// A result for each code of 8 bits, in the order that emitted lookups (byte_lookup.hpp) read it.

#include <cstdint>

namespace octet::impl::jit {

/// The table as kernels read it.
struct byte_table {
    byte_table() = default;
    explicit byte_table(const std::uint8_t *entries);
    alignas(64) std::uint8_t entries[256];
    /// Entries of every half table XORed with those 16 places before them: XORing what all permutes up to
    /// the right one give leaves its own.
    alignas(64) std::uint8_t differences[256];
};

} // namespace octet::impl::jit
