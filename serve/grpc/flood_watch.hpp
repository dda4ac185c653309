#pragma once // SPDX-License-Identifier: Apache-2.0

// Connections that fill the memory with calls that no function ever sees. gRPC's library remembers streams that a client begins and resets
// until a thread gets to them, and while a client sends without a pause, none does. Seen from outside, memory grows by far more than what
// was received, or by more than messages may take.

#include <chrono>

#include "core/receive_budget.hpp"
#include "core/usable_memory.hpp"

namespace octet::serve {

class flood_watch {
public:
    /// `messages`: bytes that those that are being received may take.
    flood_watch(const receive_budget &b, std::size_t messages) : budget_(b), messages_(messages) {}

    /// `growing`: the memory does, and few are let in; `flood`: those that send are cut. To be asked every `tick`, with the
    /// bytes that all connections together have received so far; `is_excused`: the memory grows for another reason.
    enum class state { calm, growing, flood };
    state look(std::uint64_t received, bool is_excused);
    static constexpr std::chrono::milliseconds tick{50};

private:
    const receive_budget &budget_;
    const std::size_t messages_, most_growth_ = usable_memory() / 16;
    std::chrono::steady_clock::time_point since_;
    std::size_t used_before_ = 0;
    std::uint64_t received_before_ = 0;
};

} // namespace octet::serve
