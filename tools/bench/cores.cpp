#include "bench/cores.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include <immintrin.h>
#include <x86intrin.h>

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
        while (!is_over_.load(std::memory_order_relaxed)) {
            const std::uint32_t seen = word_.load(std::memory_order_acquire);
            if (seen % 2 == 1)
                word_.store(seen + 1, std::memory_order_release);
            else
                _mm_pause();
        }
    }
    /// Sends the line and waits for it; false if it does not come back.
    bool send() {
        constexpr std::uint64_t most_cycles = 1 << 24;
        const std::uint32_t sent = word_.load(std::memory_order_relaxed) + 1;
        const std::uint64_t start = __rdtsc();
        word_.store(sent, std::memory_order_release);
        while (word_.load(std::memory_order_acquire) != sent + 1)
            if (__rdtsc() - start > most_cycles)
                return false;
        return true;
    }
    void stop() { is_over_.store(true, std::memory_order_relaxed); }

private:
    alignas(128) std::atomic<std::uint32_t> word_{0};
    alignas(128) std::atomic<bool> is_over_{false};
};

} // namespace

spin_times measure_spin(int threads) {
    return {threads, seconds_together(1, [](int) { spin(); }),
            seconds_together(threads, [](int) { spin(); })};
}

double measure_round_trip(int threads) {
    constexpr int batches = 21, trips = 20;
    if (threads == 1)
        return 0;
    shared_line line;
    std::thread other([&] { line.answer(); });
    std::array<double, batches> cycles;
    bool is_answered = true;
    for (int b = -1; b < batches && is_answered; b++) { // the first one lets the other thread start
        const std::uint64_t start = __rdtsc();
        for (int i = 0; i < trips && is_answered; i++)
            is_answered = line.send();
        if (b >= 0)
            cycles[static_cast<std::size_t>(b)] = static_cast<double>(__rdtsc() - start) / trips;
    }
    line.stop();
    other.join();
    if (!is_answered)
        return 0;
    std::nth_element(cycles.begin(), cycles.begin() + batches / 2, cycles.end());
    return cycles[batches / 2];
}

} // namespace octet::tools
