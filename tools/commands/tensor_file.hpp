#pragma once

// Raw tensors on disk: little-endian, row-major, nothing else in the file.

#include <string>

#include "octet/octet.hpp"

namespace octet::tools {

/// Throws octet::error if the file does not hold exactly the tensor's bytes. `who` names the tensor.
void read_tensor_file(const std::string &path, const memory &m, const std::string &who);

/// Codes over their whole range, f32 in [-1, 1): the same bytes in every process.
void fill_pseudo_random(const memory &m);

} // namespace octet::tools
