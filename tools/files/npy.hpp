#pragma once // SPDX-License-Identifier: Apache-2.0

// .npy, NumPy's file of one array: "\x93NUMPY", a version, a Python dictionary with type, order and shape, then
// the elements (numpy.lib.format, versions 1.0 to 3.0).

#include <string>
#include <vector>

#include "files/array.hpp"

namespace octet::tools {

/// Integers up to 64 bits, booleans, float32 and float64, in either order of bytes and of dimensions. Throws
/// octet::error, which begins with `name`, for anything else.
array parse_npy(const std::vector<std::uint8_t> &file, const std::string &name);

/// The header lies within this many bytes of a file.
constexpr std::size_t npy_beginning = std::size_t{1} << 16;
/// The array without its elements, of a file of `size` bytes of which `npy_beginning`, or all, are given.
/// Throws as parse_npy does.
array described_npy(const std::vector<std::uint8_t> &beginning, std::size_t size, const std::string &name);

/// A whole file of version 1.0.
std::string npy_text(const array &a);

} // namespace octet::tools
