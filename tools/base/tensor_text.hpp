#pragma once // SPDX-License-Identifier: Apache-2.0

// Tensors in words.

#include <string>

#include "octet/graph.hpp"

namespace octet::tools {

/// "0 ('input') s8 1x96x96x3"
std::string tensor_text(const model::graph &g, int index);

/// "s8 1x96x96x3", names or '?' for sizes that are open: "s32 1xsequence"; empty where nothing is known.
std::string shape_text(const model::tensor &t);

/// The coordinates of the element at this place in row-major order: "(0,2,5)".
std::string coordinates_text(std::size_t index, const memory::dims &dims);

/// A vector's five largest values with their indices (a classifier's answer); of other tensors lowest,
/// highest, mean. One line each, with codes and real values.
std::string summary(const model::tensor &t, const memory &m);

} // namespace octet::tools
