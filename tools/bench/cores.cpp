// Times a loop of multiplications on one thread and on several at once, and the round trip of a cache line between two.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cores.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <x86intrin.h>

#include "base/statistics.hpp"
#include "bench/together.hpp"

namespace octet::tools {
namespace {

void spin() {
    constexpr int rounds = 300'000;
    std::uint64_t a = 1, b = 3, c = 5, d = 7;
    for (int i = 0; i < rounds; i++)
        asm volatile("imul %0, %0\n imul %1, %1\n imul %2, %2\n imul %3, %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
                     :
                     : "cc");
}

/// A line that two threads write in turn: the one odd numbers, the other even ones.
class shared_line {
public:
    /// Answers until it is told to stop.
    void answer() {
        is_there_.store(true, std::memory_order_release);
        for (std::uint64_t asked = __rdtsc(); !is_over_.load(std::memory_order_relaxed);) {
            const std::uint32_t seen = word_.load(std::memory_order_acquire);
            if (seen % 2 == 1) { // without a pause, which would be part of the trip
                word_.store(seen + 1, std::memory_order_release);
                asked = __rdtsc();
            } else if (__rdtsc() - asked > patience) {
                std::this_thread::yield();
            }
        }
    }
    void wait_for_other() const {
        while (!is_there_.load(std::memory_order_acquire))
            std::this_thread::yield();
    }
    /// Sends the line and waits for it; false if it is not back by then.
    bool send(std::uint64_t deadline) {
        const std::uint32_t sent = word_.load(std::memory_order_relaxed) + 1;
        const std::uint64_t start = __rdtsc();
        word_.store(sent, std::memory_order_release);
        while (word_.load(std::memory_order_acquire) != sent + 1) {
            const std::uint64_t now = __rdtsc();
            if (now > deadline)
                return false;
            if (now - start > patience)
                std::this_thread::yield();
        }
        return true;
    }
    void stop() { is_over_.store(true, std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t patience = 1 << 16; ///< cycles; then the other thread may need this core
    alignas(128) std::atomic<std::uint32_t> word_{0};
    alignas(128) std::atomic<bool> is_there_{false}, is_over_{false};
};

} // namespace

spin_times measure_spin(int threads) {
    return {threads, seconds_together(1, [](int) { spin(); }),
            seconds_together(threads, [](int) { spin(); })};
}

double measure_round_trip(int threads) {
    constexpr std::size_t batches = 21;
    constexpr int trips = 20;
    constexpr std::uint64_t most_cycles = 1 << 24, interrupted = 1 << 20;
    if (threads == 1)
        return 0;
    shared_line line;
    std::thread other([&] { line.answer(); });
    line.wait_for_other();
    std::vector<double> cycles; // cycles of batches in which both threads had a core
    const std::uint64_t deadline = __rdtsc() + most_cycles;
    for (bool is_answered = true; is_answered && cycles.size() < batches;) {
        const std::uint64_t start = __rdtsc();
        for (int i = 0; i < trips && is_answered; i++)
            is_answered = line.send(deadline);
        if (const std::uint64_t passed = __rdtsc() - start; is_answered && passed < interrupted)
            cycles.push_back(static_cast<double>(passed) / trips);
    }
    line.stop();
    other.join();
    return cycles.empty() ? 0 : summarize(std::move(cycles)).median;
}

} // namespace octet::tools
