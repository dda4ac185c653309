// Counts what C++ allocates: the functions that every form of `new` ends in.
// SPDX-License-Identifier: Apache-2.0
#include "support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
}

long octet::test::allocation_count() { return count; }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool octet::test::counts_allocations() { return false; }

#else

bool octet::test::counts_allocations() { return true; }

void *operator new(std::size_t size) {
    count++;
    if (void *p = std::malloc(size == 0 ? 1 : size))
        return p;
    throw std::bad_alloc();
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    count++;
    const auto a = static_cast<std::size_t>(alignment);
    if (void *p = std::aligned_alloc(a, (size + a - 1) / a * a))
        return p;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif
