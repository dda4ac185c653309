#pragma once // SPDX-License-Identifier: Apache-2.0

// What the loops of threads ask of the processor itself, with x86's instructions and with those of others.

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#include <x86intrin.h>
#else
#include <atomic>
#include <chrono>
#endif

namespace octet::impl {

/// Time in cycles of a constant rate; elsewhere in nanoseconds, which are cycles of 1 GHz.
inline std::uint64_t cycle_count() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// In a loop that waits: leaves the core to its other thread for a moment.
inline void pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Stores past the caches are seen by other threads as others are: what a task ends with.
inline void finish_stores() {
#if defined(__x86_64__)
    _mm_sfence();
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

} // namespace octet::impl
