#pragma once // SPDX-License-Identifier: Apache-2.0

// Messages: `text("src has ", n, " channels")`, and the two ways to fail.

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

#include "octet/error.hpp"

namespace octet::impl {

inline void append_text(std::string &out, std::string_view part) { out += part; }
inline void append_text(std::string &out, char part) { out += part; }

/// Numbers read the same whatever locale the process has set, and fractions are the shortest text that reads back
/// as the same value.
template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void append_text(std::string &out, Number number) {
    char digits[40];
    if constexpr (std::is_same_v<Number, bool>)
        out += number ? '1' : '0';
    else
        out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <typename... Parts> std::string text(const Parts &...parts) {
    std::string out;
    (append_text(out, parts), ...);
    return out;
}

template <typename... Parts> [[noreturn]] void throw_invalid(const Parts &...parts) {
    throw error(status::invalid_arguments, text(parts...));
}

template <typename... Parts> [[noreturn]] void throw_unimplemented(const Parts &...parts) {
    throw error(status::unimplemented, text(parts...));
}

} // namespace octet::impl
