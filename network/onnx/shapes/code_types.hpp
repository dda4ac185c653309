#pragma once // SPDX-License-Identifier: Apache-2.0

// Types of codes by their numbers in ONNX, as attributes name them.

#include "octet/types.hpp"

namespace octet::model::shape {

/// undef for the number of another type.
data_type code_type(std::int64_t type);
std::int64_t number_of_code_type(data_type type);

} // namespace octet::model::shape
