#pragma once // SPDX-License-Identifier: Apache-2.0

// Values by their names: the inverse of the public `to_string` functions, and texts of values that may be wrong.

#include <string>

#include "common/text.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// Sets `value` to the enumerator of this name and returns true; false if there is none. For enumerations with
/// values from 0 to 127; they may have gaps.
template <typename Enum> bool from_name(const std::string &name, Enum &value) {
    for (int i = 0; i < 128 && name != "unknown"; i++) {
        if (name == to_string(static_cast<Enum>(i))) {
            value = static_cast<Enum>(i);
            return true;
        }
    }
    return false;
}

/// The name, or the number that a caller's cast made: "eltwise_relu", "999 (not an enumerator)".
template <typename Enum> std::string name_or_number(Enum value) {
    const std::string name = to_string(value);
    return name == "unknown" ? text(static_cast<int>(value), " (not an enumerator)") : name;
}

/// True for an algorithm of the family whose names begin so: "eltwise_", "binary_".
inline bool is_of_family(algorithm alg, const std::string &family) {
    return std::string(to_string(alg)).rfind(family, 0) == 0;
}

/// False for undef and for a number that names no type.
inline bool is_data_type(data_type type) {
    return type != data_type::undef && std::string("unknown") != to_string(type);
}

/// All types, for messages: "f16, bf16, …".
inline std::string data_type_names() {
    std::string names;
    for (int i = 0; i < 128; i++)
        if (const auto type = static_cast<data_type>(i); is_data_type(type))
            names += text(names.empty() ? "" : ", ", to_string(type));
    return names;
}

} // namespace octet::impl
