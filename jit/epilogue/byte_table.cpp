// Entries, and for shuffles the differences between them.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/byte_table.hpp"

#include <cstring>

namespace octet::impl::jit {

namespace {
constexpr int part = 16; // entries that one shuffle looks up
}

byte_table::byte_table(const std::uint8_t *from) {
    std::memcpy(entries, from, sizeof entries);
    for (int i = 0; i < 256; i++)
        differences[i] =
            i % 128 < part ? entries[i] : static_cast<std::uint8_t>(entries[i] ^ entries[i - part]);
}

} // namespace octet::impl::jit
