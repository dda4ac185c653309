#pragma once // SPDX-License-Identifier: Apache-2.0

// Layout changes at the speed of memory: nchw to nhwc and the like, in tiles of cache lines.

#include <memory>
#include <string>

#include "cpu/implementation.hpp"

namespace octet::impl::stream {

/// Argument of a transpose within a larger computation: what to prefetch instead of its source, which is in
/// a cache.
constexpr int prefetched_arg = -1;

/// dst = src, refused where no dimension of src is contiguous. `bytes` are read
/// and written by the whole of which this may be a part.
candidate plan_transpose(instruction_set isa, const memory_desc &src, const memory_desc &dst,
                         std::size_t bytes);

} // namespace octet::impl::stream
