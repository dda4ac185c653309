#pragma once // SPDX-License-Identifier: Apache-2.0

// Names of element types in the Open Inference Protocol.

#include <string>

#include "octet/types.hpp"

namespace octet::serve {

/// "INT8", …; "" for a type that the protocol does not have.
const char *protocol_name(data_type type);
std::size_t size_of(data_type type);

} // namespace octet::serve
