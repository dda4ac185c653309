#pragma once

// Destinations that caches don't hold: what is read for them is fetched ahead, and non-temporal stores don't
// read what they overwrite. Smaller ones are left in the caches for whoever reads them; what is read for
// these is close enough.

#include "common/layout.hpp"

namespace octet::impl::resampling {

constexpr dim_t line_bytes = 64; ///< of a cache

bool leaves_caches(const memory_desc &dst);
/// True if moreover every position of dst is made of whole cache lines, where dst itself begins with one.
bool can_stream(const memory_desc &dst);
/// Whether a pointer to dst's first element lets it.
bool is_line_aligned(const void *dst);
/// Makes streamed results visible to other threads; a task ends with it.
void finish_streaming();

} // namespace octet::impl::resampling
