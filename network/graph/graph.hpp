#pragma once // SPDX-License-Identifier: Apache-2.0

// Adds to octet/graph.hpp what only the library's own code needs of a graph: the checks of one tensor,
// constants as numbers, options with a fallback, and the two ways to refuse. This directory knows graphs as
// values only and includes nothing of the other directories.

#include <cstring>
#include <optional>

#include "network/graph/ids.hpp"
#include "octet/octet.hpp"

namespace octet::model {

/// Throws octet::error if one tensor contradicts itself: dimensions, size of its data, scales and zero
/// points. Afterwards `element_count` of its dimensions cannot overflow.
void check_tensor(const graph &g, tensor_id t);

/// Throws octet::error with all operators of a graph as it was read that Octet does not know.
void check_operators(const graph &g);

/// Refusals are sentences about a node, without its name; who walks over the nodes puts it in front.
[[noreturn]] void refuse(const std::string &reason);                  ///< status::invalid_arguments
[[noreturn]] void refuse_as_unimplemented(const std::string &reason); ///< status::unimplemented

/// Whether elements are 8-bit codes.
inline bool is_code(data_type type) { return type == data_type::u8 || type == data_type::s8; }

/// The only code of a constant; nothing for another tensor, or none.
std::optional<std::int32_t> constant_code(const graph &g, tensor_id t);

/// Whether elements of this type stand for those of a type of the framework's, which files declare of inputs
/// and outputs.
inline bool stands_for(data_type type, const std::string &foreign_type) {
    return (type == data_type::s32 && foreign_type == "INT64") ||
           (type == data_type::u8 && foreign_type == "BOOL");
}

/// Whether a node reads a tensor, or it is an output of the network.
bool is_read(const graph &g, tensor_id t);

/// Little-endian bytes of elements, as constants hold them.
template <typename T> std::vector<std::uint8_t> bytes_of(const std::vector<T> &elements) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    if (!bytes.empty())
        std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
}

/// Elements of a constant.
template <typename T> std::vector<T> values_of(const tensor &t) {
    std::vector<T> values(t.data.size() / sizeof(T));
    if (!values.empty())
        std::memcpy(values.data(), t.data.data(), values.size() * sizeof(T));
    return values;
}

/// Value of an attribute, `fallback` if there is none. Throws octet::error for one of another kind.
template <typename T> T attribute_or(const node &n, const std::string &name, const T &fallback) {
    const auto found = n.attributes.find(name);
    if (found == n.attributes.end())
        return fallback;
    if (const T *value = std::get_if<T>(&found->second))
        return *value;
    throw error(status::invalid_arguments,
                n.op + ": attribute '" + name + "' is of another kind than documented");
}

} // namespace octet::model
