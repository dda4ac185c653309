#pragma once

// Threads. parallel.cpp is the only file that knows oneTBB.

#include <cstdint>
#include <functional>

namespace octet::impl {

/// Calls body(begin, end) for disjoint ranges that cover [0, count), each at least `grain` long where
/// possible, in the caller's arena or on `get_num_threads()` threads. Sequential in the calling thread for
/// one thread or one range.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)> &body);

} // namespace octet::impl
