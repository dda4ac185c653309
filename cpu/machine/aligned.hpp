#pragma once // SPDX-License-Identifier: Apache-2.0

// Vectors that begin with a cache line, so that generated code loads from one line at a time.

#include <cstddef>
#include <new>
#include <vector>

namespace octet::impl {

template <typename T> struct line_allocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    line_allocator() = default;
    template <typename U> line_allocator(const line_allocator<U> &) {}

    T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), alignment)); }
    void deallocate(T *data, std::size_t) { ::operator delete(data, alignment); }

    friend bool operator==(const line_allocator &, const line_allocator &) { return true; }
    friend bool operator!=(const line_allocator &, const line_allocator &) { return false; }
};

template <typename T> using aligned_vector = std::vector<T, line_allocator<T>>;

} // namespace octet::impl
