#pragma once // SPDX-License-Identifier: Apache-2.0

// Datatypes of the Open Inference Protocol, and how elements of one become elements of another. A network has
// its own element types; clients have those that the file declares (INT64 for 32 bits, BOOL for a byte), or
// floats where the network has codes of a scale.

#include <string>
#include <utility>
#include <vector>

#include "core/job.hpp"
#include "octet/graph.hpp"
#include "octet/memory.hpp"

namespace octet::serve {

enum class element { boolean, u8, s8, s16, s32, s64, f16, bf16, f32 };

struct datatype {
    const char *name;
    std::size_t size; ///< bytes of an element
    element kind;
    data_type type; ///< Octet's, undef if it has none
};

bool is_real(const datatype &d); ///< true for real numbers

/// Null where the protocol has no such type, or no network can take or give it.
const datatype *find_datatype(const std::string &name);
const datatype *find_datatype(data_type type);

/// An input or output as clients see it.
struct tensor_info {
    std::string name;
    const datatype *own = nullptr; ///< type of the network's elements
    /// Type that clients are told, and get unless they ask for another one.
    const datatype *announced = nullptr;
    std::string framework;            ///< framework whose operators quantize real numbers
    model::quantization quantization; ///< scale and zero point of codes
    memory::dims dims;                ///< dimensions in the file
    std::vector<bool> is_open;        ///< by dimension: requests choose it
    std::size_t bytes = 0; ///< bytes of one row if the model batches, else of all if nothing is open

    memory::dims shown() const; ///< -1 where open
    bool stands_for_reals() const { return quantization.scales.size() == 1 && own->kind != element::f32; }
    /// Returns whether clients may send or ask for elements of this type.
    bool can_be(const datatype &d) const;
    /// Returns the names of the allowed types, for messages.
    std::string choices() const;
};

/// Converts numbers into elements of type `d`; `name` is for messages. Throws refusal for a number that the
/// type does not have.
std::vector<std::byte> to_elements(const std::string &name, const datatype &d,
                                   const std::vector<double> &numbers);
/// Converts elements that a client has sent into the network's. Throws refusal for a number that the
/// network's type cannot hold.
std::vector<std::byte> to_network(const tensor_info &t, const datatype &from, const byte_range &bytes);
/// Converts elements of the network into the type that a client asked for.
std::vector<std::byte> from_network(const tensor_info &t, const datatype &to, const byte_range &bytes);

/// Every element as a number, which all of these types fit.
std::vector<double> to_numbers(const datatype &d, const byte_range &bytes);
/// Numbers as JSON has them, with commas between. Throws refusal for one that is not finite.
void append_json(std::string &text, const std::string &name, const datatype &d, const byte_range &bytes);

} // namespace octet::serve
