#pragma once

// What leaves the caches before anyone reads it again.

#include <cstddef>

namespace octet::impl {

/// True if an operator that reads and writes so many bytes should store past the caches, which saves reading
/// what it overwrites. A constant: what systems report as the last level is that of all cores, or made up.
constexpr bool leaves_caches(std::size_t bytes) { return bytes > std::size_t{32} << 20; }

constexpr std::size_t cache_line_bytes = 64;

} // namespace octet::impl
