#pragma once // SPDX-License-Identifier: Apache-2.0

#include <string>

#include "octet/memory.hpp"

namespace octet::impl {

/// The inverse of `tensor_text` (format_tag.hpp), for a layout in any spelling. Throws `invalid_arguments`
/// for a text that is none.
memory_desc tensor_from_text(const std::string &text);

} // namespace octet::impl
