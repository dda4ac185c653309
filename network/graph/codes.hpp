#pragma once // SPDX-License-Identifier: Apache-2.0

// Types of codes of 8, 4 and 2 bits, of which several may share a byte.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Bits of an element that is a code; 0 for other types.
constexpr int code_bits(data_type type) {
    const bool is_narrow = elements_per_byte(type) > 1;
    return is_narrow || type == data_type::u8 || type == data_type::s8 ? 8 / elements_per_byte(type) : 0;
}
/// Whether elements are codes in two's complement.
constexpr bool is_signed_code(data_type type) {
    return type == data_type::s8 || type == data_type::s4 || type == data_type::s2;
}
/// The type of such codes in bytes of their own.
constexpr data_type whole_byte_type(data_type type) {
    return is_signed_code(type) ? data_type::s8 : data_type::u8;
}

/// Codes of a constant of 8, 4 or 2 bits, in the order of elements.
std::vector<std::int32_t> codes_of(const tensor &t);

} // namespace octet::model
