#pragma once // SPDX-License-Identifier: Apache-2.0

// The numbers that go into a device and come out of it: dense arrays, row-major, little-endian. Row n of
// every input belongs to row n of the output.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "octet/memory.hpp"
#include "octet/types.hpp"

namespace octet::match {

struct values {
    std::string name; ///< of the input: "x"
    data_type type = data_type::undef;
    memory::dims dims; ///< the first one counts rows, unless the values are shared
    std::vector<std::uint8_t> bytes;
    bool is_shared = false; ///< the same for all rows: weights

    std::size_t element_size() const;
    std::size_t count() const { return bytes.size() / element_size(); }
    std::int32_t integer(std::size_t i) const;
    float real(std::size_t i) const;
    /// What results are compared by: an integer, or the bits of a float.
    std::int32_t code(std::size_t i) const;
    std::string text(std::size_t i) const; ///< text of one element
};

values values_of(const std::string &name, data_type type, const memory::dims &dims,
                 const std::vector<std::int32_t> &integers);
values values_of(const std::string &name, const memory::dims &dims, const std::vector<float> &reals);

/// The bits of a float as results have them, and what they stand for.
///@{
std::int32_t bits_of(float x);
float float_of(std::int32_t bits);
///@}
std::string code_text(data_type type, std::int32_t code);

/// All inputs of a device.
using inputs = std::vector<values>;

std::size_t row_count(const inputs &all);
/// Inputs of these rows, in this order; values that all rows share stay as they are.
inputs rows_of(const inputs &all, const std::vector<std::size_t> &rows);
/// "x = -128, y = 3": what a device was given in a row.
std::string row_text(const inputs &all, std::size_t row);

/// Numbers with nothing in common, the same on every machine.
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    std::int64_t between(std::int64_t low, std::int64_t high); ///< both included

private:
    std::uint64_t state_;
};

} // namespace octet::match
