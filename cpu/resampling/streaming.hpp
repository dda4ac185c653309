#pragma once

// Destinations that no cache holds: non-temporal stores don't read what they overwrite. Smaller ones are left
// in the caches for whoever reads them.

#include "common/layout.hpp"

namespace octet::impl::resampling {

/// True if dst is larger than a core's own caches, so that what is read for it must be fetched ahead.
bool leaves_core(const memory_desc &dst);
/// True if dst is larger than all caches and every position begins and ends with a cache line, as dst itself
/// then does.
bool can_stream(const memory_desc &dst);
/// Whether a pointer to dst's first element lets it.
bool is_line_aligned(const void *dst);
/// Makes streamed results visible to other threads; a task ends with it.
void finish_streaming();

} // namespace octet::impl::resampling
