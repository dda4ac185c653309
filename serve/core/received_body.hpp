#pragma once // SPDX-License-Identifier: Apache-2.0

// Bytes of a known number that a client sends. What is announced and never sent takes little: memory grows
// with what arrives, and counts then.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/receive_budget.hpp"

namespace octet::serve {

class received_body {
public:
    /// `first`: bytes that it has memory for at the beginning. The byte at `aligned_at` lies where a network
    /// reads a tensor without a copy.
    received_body(receive_budget &budget, std::shared_ptr<std::atomic<std::size_t>> client, std::size_t size,
                  std::size_t first, std::size_t aligned_at = 0)
        : held(budget, std::move(client)), size_(size), first_(first), aligned_at_(aligned_at) {}

    receive_budget::share held;
    std::size_t missing() const { return size_ - arrived_; }
    std::string_view bytes() const { return {begin_, arrived_}; }

    /// Returns the memory for the next bytes: `expected` or more of them if so many are missing. Throws
    /// std::bad_alloc.
    std::pair<char *, std::size_t> room(std::size_t expected = 1) {
        constexpr std::size_t factor = 4, alignment = 64;
        if (!begin_ || arrived_ + std::min(expected, missing()) > capacity_) {
            const std::size_t capacity =
                std::min(size_, std::max({first_, factor * capacity_, arrived_ + expected}));
            std::unique_ptr<char[]> memory(new char[capacity + alignment]); // not zeroed
            char *const begin =
                memory.get() + -(reinterpret_cast<std::uintptr_t>(memory.get()) + aligned_at_) % alignment;
            std::copy_n(begin_, arrived_, begin);
            memory_ = std::move(memory);
            begin_ = begin;
            capacity_ = capacity;
        }
        return {begin_ + arrived_, capacity_ - arrived_};
    }
    /// They are there. False where they do not fit the memory for requests.
    bool add(std::size_t bytes) {
        arrived_ += bytes;
        return held.grow(bytes);
    }

private:
    const std::size_t size_, first_, aligned_at_;
    std::unique_ptr<char[]> memory_;
    char *begin_ = nullptr;
    std::size_t arrived_ = 0, capacity_ = 0;
};

} // namespace octet::serve
