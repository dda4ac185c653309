#pragma once // SPDX-License-Identifier: Apache-2.0

// The one way in which loops, and steps of networks that are loops, use threads.

#include <algorithm>
#include <atomic>

#include "octet/parallel_loop.hpp"
#include "octet/types.hpp"

namespace octet::loops {

/// Calls body(begin, end) for disjoint ranges that cover 0 to `count` - 1, on the threads of primitives. An item is as
/// much work as adding up `work` elements; a range is at least 2^15 of those, some 10 us, so that less stays in the
/// calling thread. Ranges depend on the number of threads: what an item writes, and what it reads for it, must not.
template <typename Body> void parallel_for(dim_t count, dim_t work, const Body &body) {
    constexpr dim_t worth = 1 << 15;
    parallel_loop(count, worth / std::max<dim_t>(work, 1) + 1, body);
}

/// Calls body(item, first, count) for parts of `part` elements of items that have `size` each; an element is
/// as much work as adding up `work` of them.
template <typename Body> void for_parts(dim_t items, dim_t size, dim_t part, dim_t work, const Body &body) {
    const dim_t parts = (size + part - 1) / part;
    parallel_for(items * parts, std::min(part, size) * work, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t first = i % parts * part;
            body(i / parts, first, std::min(part, size - first));
        }
    });
}

/// The first of 0 to `count` - 1 for which `is_found`, or `count`.
template <typename Predicate> dim_t first_of(dim_t count, dim_t work, const Predicate &is_found) {
    std::atomic<dim_t> first{count};
    parallel_for(count, work, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++)
            if (is_found(i)) {
                // Ranges end in any order, so a place takes the known one's place only if it is smaller.
                for (dim_t known = first; i < known && !first.compare_exchange_weak(known, i);)
                    continue;
                return;
            }
    });
    return first;
}

} // namespace octet::loops
