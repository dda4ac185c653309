#pragma once

// Unary operations on bytes: copies, and tables of 8-bit codes applied by permutes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/registry.hpp"

namespace octet::impl::stream {

/// Empty, or why the layouts of two tensors of one shape can't be streamed: their innermost dimension isn't
/// the same.
std::string refuses_layouts(const memory_desc &src, const memory_desc &dst);

/// dst = src, elements of one type.
std::shared_ptr<const kernel> create_copy(instruction_set isa, const memory_desc &src,
                                          const memory_desc &dst);

/// True if every byte is its own entry.
bool is_identity(const memory_desc &src, const std::vector<std::uint8_t> &entries);

/// dst = entries[src]; entry 0 belongs to the lowest code of src's type.
std::shared_ptr<const kernel> create_table(instruction_set isa, const memory_desc &src,
                                           const memory_desc &dst, const std::vector<std::uint8_t> &entries);

} // namespace octet::impl::stream
