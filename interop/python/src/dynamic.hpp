#pragma once // SPDX-License-Identifier: Apache-2.0

// Products whose source is quantized while they run: scales and zero points of weights, which are packed with them.

#include <unordered_map>
#include <vector>

#include "arrays.hpp"

namespace octet::python {

/// What belongs to the codes of weights.
struct weight_values {
    int scale_mask = 0, zero_point_mask = 0;
    memory::dims groups;                  ///< of values with several for a column
    bool has_columns_first = false;       ///< w is {N, K}
    py::array scales;                     ///< f32
    std::optional<py::array> zero_points; ///< s32
    data_type type = data_type::undef;    ///< s4 or u4 of codes that have a byte each in the array

    /// Throws ValueError unless there are values for weights of these dimensions.
    void check(const memory::dims &weights) const;
    void add_to(primitive_attr &attr, int arg) const;
    std::unordered_map<int, memory> as_arguments(int arg) const;
    /// True if both give the same packed weights.
    bool equals(const weight_values &other) const;
    /// The same with arrays of its own, which callers can't change.
    weight_values copied() const;
};

/// The type of weights in a primitive.
inline data_type type_of_codes(const memory::desc &given, const weight_values *values) {
    return values && values->type != data_type::undef ? values->type : given.data_type();
}
/// Codes of an array, in the layout that a primitive chose.
memory packed_codes(const py::array &w, const memory &plain, const memory::desc &chosen,
                    const weight_values *values);
/// True if the values lie beside the codes, and are no arguments of the execution.
bool has_values(const memory::desc &weights);

/// A quantizer by its names, with the mode and type that it has where none is given.
source_quantization quantization_of(const std::string &by, const std::string &span,
                                    const std::optional<bool> &is_symmetric,
                                    const std::optional<data_type> &code);
combination combination_of(const std::string &name);

} // namespace octet::python
