#pragma once // SPDX-License-Identifier: Apache-2.0

// Figures of the primitive cache, for those who watch a process; settings.hpp has its bound.

#include <cstddef>
#include <cstdint>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Contents and use of the primitive cache.
struct primitive_cache_usage {
    std::size_t kernels = 0;  ///< kernels in the cache now
    std::size_t bytes = 0;    ///< bytes of these kernels
    std::uint64_t hits = 0;   ///< lookups that found a kernel, since the process began
    std::uint64_t misses = 0; ///< lookups that did not
};

/// Returns the figures of this moment; may be called from any thread.
OCTET_API primitive_cache_usage get_primitive_cache_usage();

} // namespace v0
} // namespace octet
