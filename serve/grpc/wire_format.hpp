#pragma once // SPDX-License-Identifier: Apache-2.0

// Fields of Protobuf's messages, written by number: for messages that are few and small, or whose bytes lie elsewhere.

#include <string>

namespace octet::serve {

inline std::string varint(std::size_t n) {
    std::string bytes;
    for (; n > 127; n >>= 7)
        bytes += static_cast<char>(n | 128);
    return bytes += static_cast<char>(n);
}
/// Everything of a field of bytes but these.
inline std::string field_head(unsigned number, std::size_t size) {
    return varint(number << 3 | 2) + varint(size);
}
inline std::string field(unsigned number, const std::string &value) {
    return field_head(number, value.size()) + value;
}
inline std::string field(unsigned number, std::size_t value) { return varint(number << 3) + varint(value); }

} // namespace octet::serve
