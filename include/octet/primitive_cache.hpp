#pragma once // SPDX-License-Identifier: Apache-2.0

// What the primitive cache does, for those who watch a process; its bound is one of settings.hpp.

#include <cstddef>
#include <cstdint>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Contents and use of the primitive cache.
struct primitive_cache_usage {
    std::size_t kernels = 0;  ///< that it holds now
    std::size_t bytes = 0;    ///< of theirs
    std::uint64_t hits = 0;   ///< lookups that found a kernel, since the process began
    std::uint64_t misses = 0; ///< and those that did not
};

/// From any thread.
OCTET_API primitive_cache_usage get_primitive_cache_usage();

} // namespace v0
} // namespace octet
