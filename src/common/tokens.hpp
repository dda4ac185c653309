#pragma once // SPDX-License-Identifier: Apache-2.0

// Numbers and lists in the texts of problems (octet/problem.hpp): independent of the locale, and exact.

#include <charconv>
#include <string>
#include <vector>

#include "common/text.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// The parts between separators; one empty part for an empty text.
inline std::vector<std::string> split(const std::string &whole, char separator) {
    std::vector<std::string> parts{""};
    for (const char c : whole)
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

/// The number that all of this text is.
template <typename Number> Number number_of(const std::string &digits) {
    Number number{};
    const char *end = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), end, number);
    if (problem != std::errc() || stopped != end)
        throw_invalid("'", digits, "' is no number that fits its place");
    return number;
}

/// "16x1x3x3" with separator x.
inline std::vector<dim_t> numbers_of(const std::string &list, char separator) {
    std::vector<dim_t> numbers;
    for (const std::string &part : split(list, separator))
        numbers.push_back(number_of<dim_t>(part));
    return numbers;
}

} // namespace octet::impl
