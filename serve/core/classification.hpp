#pragma once // SPDX-License-Identifier: Apache-2.0

// Triton's classification extension: instead of an output its largest elements, as texts "value:index".

#include "core/model.hpp"

namespace octet::serve {

/// Replaces those outputs of a finished job of which classes were asked for (`job::classes`) by tensors of BYTES, [rows, classes].
void classify(const served_model &m, job &j);

/// The datatype of the i-th output that a request wanted.
const char *datatype_of_output(const served_model &m, const job &j, std::size_t i);

/// The texts of a tensor of BYTES: each lies behind its size, of four bytes.
std::vector<std::string> texts_of(const byte_range &bytes);

} // namespace octet::serve
