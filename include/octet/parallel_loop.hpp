#pragma once // SPDX-License-Identifier: Apache-2.0

// Loops on the threads that primitives run on, for operators of a caller's own between them.

#include <cstdint>

#include "octet/export.hpp"

namespace octet {
inline namespace v0 {

/// Calls `call(body, begin, end)` for disjoint ranges that cover 0 to `count` - 1, each at least `grain` long where possible, on the
/// threads that `set_num_threads`, `num_threads_scope` or `set_thread_pool` gives to executions of this thread. One range, and a
/// loop inside of another one, run in the calling thread. Returns when all ranges are done; throws the first exception of one of
/// them then. Ranges of few instructions cost less than the threads: choose `grain` so that each takes some 10 us.
OCTET_API void parallel_ranges(std::int64_t count, std::int64_t grain,
                               void (*call)(const void *body, std::int64_t begin, std::int64_t end),
                               const void *body);

/// `parallel_ranges` of something that is called as body(begin, end).
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
