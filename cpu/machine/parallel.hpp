#pragma once // SPDX-License-Identifier: Apache-2.0

// Threads. workers.hpp says which runtime they are of.

#include <cstdint>

#include "cpu/machine/loop_body.hpp"
#include "cpu/machine/sequential_scope.hpp"

namespace octet::impl {

/// Calls body(begin, end) for disjoint ranges that cover [0, count), each at least `grain` long where
/// possible, in the caller's arena or on `get_num_threads()` threads. Sequential in the calling thread for
/// one thread or one range.
void parallel_for(std::int64_t count, std::int64_t grain, range_body body);

/// The cost of a parallel_for of this thread beside its work, in cycles. It is measured once for each way to
/// run it: the runtime, its threads awake in a phase, the caller's pool.
std::int64_t fork_cycles();

} // namespace octet::impl
