#pragma once // SPDX-License-Identifier: Apache-2.0

// Loops on the threads that primitives run on, for a caller's own operators between primitives.

#include <cstdint>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Calls `call(body, begin, end)` for disjoint ranges that cover 0 to `count` - 1, each at least `grain` long
/// where possible, on the threads that `set_num_threads`, `num_threads_scope` or `set_thread_pool` gives to
/// executions of this thread. A single range runs in the calling thread, and so does a loop inside another
/// loop. Returns when all ranges are done, and then throws the first exception of one of them. Starting
/// threads costs more than a range of few instructions: choose `grain` so that each takes some 10 us.
OCTET_API void parallel_ranges(std::int64_t count, std::int64_t grain,
                               void (*call)(const void *body, std::int64_t begin, std::int64_t end),
                               const void *body);

/// Calls `parallel_ranges` with `body`, which is called as body(begin, end).
template <typename Body> void parallel_loop(std::int64_t count, std::int64_t grain, const Body &body) {
    parallel_ranges(
        count, grain,
        [](const void *b, std::int64_t begin, std::int64_t end) {
            (*static_cast<const Body *>(b))(begin, end);
        },
        &body);
}

} // namespace v0
} // namespace octet
