#pragma once // SPDX-License-Identifier: Apache-2.0

// Unary operations on bytes: copies, and tables of 8-bit codes applied by permutes.

#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/implementation.hpp"

namespace octet::impl::stream {

/// dst = src, elements of one type. Refused where the innermost dimension isn't the same.
candidate plan_copy(instruction_set isa, const memory_desc &src, const memory_desc &dst);

/// True if every byte is its own entry.
bool is_identity(const memory_desc &src, const std::vector<std::uint8_t> &entries);

/// dst = entries()[src], as `plan_copy`; entry 0 belongs to the lowest code of src's type. They are asked for
/// when the kernel is made.
candidate plan_table(instruction_set isa, const memory_desc &src, const memory_desc &dst,
                     std::function<std::vector<std::uint8_t>()> entries);

} // namespace octet::impl::stream
