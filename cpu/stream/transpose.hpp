#pragma once

// Layout changes at the speed of memory: nchw to nhwc and the like, in tiles of cache lines.

#include <memory>
#include <string>

#include "cpu/implementation.hpp"

namespace octet::impl::stream {

/// Empty, or why dst = src is no transpose: no dimension of src is contiguous, or elements of 16 bits.
std::string refuses_transpose(const memory_desc &src, const memory_desc &dst);
std::shared_ptr<const kernel> create_transpose(cpu_isa level, const memory_desc &src, const memory_desc &dst);

} // namespace octet::impl::stream
