// Addresses cost nothing, so more are reserved than are expected to be used. Large pages are asked for only
// as far as weights are expected to fill them. Where the system has none, or no addresses, the memory is in
// usual pages.
// SPDX-License-Identifier: Apache-2.0
#include "network/lower/weight_memory.hpp"

#include <sys/mman.h>

#include <utility>

namespace octet::model {
namespace {

constexpr std::size_t large_page = std::size_t{1} << 21, weight_alignment = 64;

} // namespace

std::shared_ptr<void> weight_memory::take(std::size_t bytes) {
    bytes = (bytes + weight_alignment - 1) / weight_alignment * weight_alignment;
    if (std::size_t to_come = std::exchange(expected_, 0); to_come >= large_page)
        reserve(to_come);
    if (bytes > static_cast<std::size_t>(end_ - next_))
        return aligned_memory(bytes);
    return {all_, std::exchange(next_, next_ + bytes)};
}

void weight_memory::reserve(std::size_t expected) {
    const std::size_t size = expected + expected / 8 + 2 * large_page; // primitives pad
    void *const first =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED)
        return;
    all_ = {first, [size](void *begin) { munmap(begin, size); }};
    end_ = static_cast<std::uint8_t *>(first) + size;
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    next_ = end_ - size + (large_page - address % large_page) % large_page;
    madvise(next_, expected / large_page * large_page, MADV_HUGEPAGE);
}

} // namespace octet::model
