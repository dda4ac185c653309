#pragma once

// Layout changes at the speed of memory: nchw to nhwc and the like, in tiles of cache lines.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::stream {

/// Empty, or why dst = src is no transpose: no dimension of src is contiguous, or elements of 16 bits.
std::string refuses_transpose(const memory_desc &src, const memory_desc &dst);
/// Argument of a transpose within a larger computation: what to prefetch instead of its source, which is in
/// a cache.
constexpr int prefetched_arg = -1;

/// `bytes` are read and written by the whole of which this may be a part.
std::shared_ptr<const kernel> create_transpose(instruction_set isa, const memory_desc &src,
                                               const memory_desc &dst, std::size_t bytes);

} // namespace octet::impl::stream
