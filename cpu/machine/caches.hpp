#pragma once // SPDX-License-Identifier: Apache-2.0

// Tensors that leave the caches before anyone reads them again: what reads and writes so much stores past the
// caches, which saves reading what it overwrites, where it writes whole cache lines.

#include <cstddef>
#include <cstdint>

#include "common/layout/layout.hpp"
#include "cpu/machine/processor.hpp"

namespace octet::impl {

constexpr dim_t cache_line_bytes = 64;

/// True if what an operator reads and writes exceeds the caches. A constant: what systems report as the last
/// level is that of all cores, or made up.
constexpr bool leaves_caches(std::size_t bytes) { return bytes > std::size_t{32} << 20; }

constexpr bool has_whole_lines(dim_t bytes) { return bytes % cache_line_bytes == 0; }
inline bool begins_line(const void *p) { return has_whole_lines(reinterpret_cast<std::intptr_t>(p)); }

} // namespace octet::impl
