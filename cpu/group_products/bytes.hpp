#pragma once // SPDX-License-Identifier: Apache-2.0

// Numbers at any address, in bytes that hold numbers of several types.

#include <cstdint>
#include <cstring>

namespace octet::impl {

template <typename T> T load_bytes(const std::uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <typename T> void store_bytes(std::uint8_t *to, T value) { std::memcpy(to, &value, sizeof value); }

} // namespace octet::impl
