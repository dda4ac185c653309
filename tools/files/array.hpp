#pragma once // SPDX-License-Identifier: Apache-2.0

// Arrays as files hold them, in NumPy's terms, and their way into tensors. The formats are next to it: npy.hpp,
// npz.hpp, image.hpp.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "octet/graph.hpp"

namespace octet::tools {

/// Throws octet::error, which names the file, as every reader of a file does.
[[noreturn]] void refuse(const std::string &source, const std::string &complaint);

/// The most bytes of one array: of a file that is read, and of what an archive may unpack to.
constexpr std::uint64_t most_array_bytes = std::uint64_t{1} << 31;

/// The type of an array's elements, as a .npy file writes it: a kind and a number of bytes.
struct element_type {
    char kind = 'u'; ///< 'i' signed, 'u' unsigned, 'b' boolean, 'f' floating
    std::size_t size = 1;

    std::string text() const; ///< "int8", "float32", "bool"
    bool is_integer() const { return kind != 'f'; }
    bool operator==(const element_type &other) const { return kind == other.kind && size == other.size; }
};

/// The type of a tensor's elements. Throws octet::error for a type that no framework stores.
element_type element_type_of(data_type type);

/// A dense array: row-major, little-endian.
struct array {
    element_type type;
    memory::dims dims; ///< none: a scalar
    std::vector<std::uint8_t> bytes;

    std::string text() const; ///< "float32 1x3x224x224"
};

/// An input of a network before the network exists: the elements of the tensor, or real numbers that become
/// its codes.
struct tensor_values {
    std::vector<std::uint8_t> bytes;
    std::vector<float> reals; ///< count where there are no bytes
};

/// A tensor that gets values.
struct target {
    const model::tensor &tensor;
    std::string framework, text; ///< "onnx"; "0 ('input') f32 1x3x224x224"

    /// Whether real numbers can become its codes. In .onnx files operators have the scales, so it is only known
    /// once there is a network.
    bool may_have_scale() const { return framework == "onnx" || tensor.quant.scales.size() == 1; }
};

/// Throws octet::error, which begins with `source`, where dimensions or type of the array, whose elements are
/// not looked at, are none that `values_for` takes.
void check_fits(const array &a, const target &to, const std::string &source);

/// The array as elements of a tensor: integers of any width where all of them fit, float64 rounded to float32,
/// floats for a tensor of codes with a scale as real numbers. Throws octet::error, which begins with `source`,
/// for other dimensions and other types.
tensor_values values_for(const array &a, const target &to, const std::string &source);

} // namespace octet::tools
