// Threads spin until all are there, then start at once; the last one to end counts.
// SPDX-License-Identifier: Apache-2.0
#include "bench/together.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace octet::tools {

namespace {

/// Then whoever is waited for may need this core: with real-time priority he would never get it.
constexpr int awake_pauses = 10'000;

} // namespace

double seconds_together(int threads, const std::function<void(int)> &body) {
    using clock = std::chrono::steady_clock;
    std::atomic<int> ready{0};
    std::vector<clock::time_point> ends(static_cast<std::size_t>(threads));
    clock::time_point start;
    std::atomic<bool> go{threads == 1};
    const auto work = [&](int t) {
        ready++;
        for (int i = 0; !go; i++)
            i < awake_pauses ? _mm_pause() : std::this_thread::yield();
        body(t);
        ends[static_cast<std::size_t>(t)] = clock::now();
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; t++)
        others.emplace_back(work, t);
    while (ready < threads - 1)
        std::this_thread::yield();
    start = clock::now();
    go = true;
    work(0);
    for (std::thread &other : others)
        other.join();
    return std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - start).count();
}

} // namespace octet::tools
