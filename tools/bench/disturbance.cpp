// The clock of a probe is a chain of multiplications that wait for each other, 3 cycles each on all CPUs with AVX2:
// whatever shares the core leaves it as it is.
// SPDX-License-Identifier: Apache-2.0
#include "bench/disturbance.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "bench/limits.hpp"
#include "bench/together.hpp"

namespace octet::tools {
namespace {

/// Loads that take so much longer than the least are disturbed. A quiet machine's differ by 7 %, those beside another
/// guest on the core take 1.4 to 4.8 times as long (doc/notes/amx.md).
constexpr double most_of_least = 1.2;

constexpr std::size_t kib = 1024;

template <typename Work> double seconds_of_work(const Work &work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double seconds_of_cycle() {
    constexpr int products = 3000, cycles = 3;
    std::uint64_t value = 1;
    const double seconds = seconds_of_work([&] {
        for (int i = 0; i < products; i++)
            asm volatile("imul %0, %0" : "+r"(value));
    });
    return seconds / (products * cycles);
}

/// Seconds per KiB that lies in the first-level cache, without the first pass, which brings it there.
double seconds_of_reads() {
    constexpr std::size_t size = 24 * kib;
    constexpr int passes = 40;
    alignas(64) static thread_local std::uint8_t bytes[size];
    measure_read(bytes, size, 1);
    return measure_read(bytes, size, 1, passes) * kib / size;
}

/// The same into tile registers of 16 rows of 64 bytes, which leave a larger first-level cache.
double seconds_of_tile_loads() {
    constexpr int tiles = 36, passes = 24;
    alignas(64) static thread_local std::uint8_t bytes[tiles * kib];
    struct alignas(64) {
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const shapes;
    const auto pass = [&] {
        for (int t = 0; t < tiles; t += 2)
            asm volatile("tileloadd (%0, %2), %%tmm0\n tileloadd (%1, %2), %%tmm1"
                         :
                         : "r"(bytes + static_cast<std::size_t>(t) * kib),
                           "r"(bytes + static_cast<std::size_t>(t + 1) * kib), "r"(std::int64_t{64})
                         : "memory");
    };
    asm volatile("ldtilecfg %0" : : "m"(shapes));
    pass();
    const double seconds = seconds_of_work([&] {
        for (int i = 0; i < passes; i++)
            pass();
    });
    asm volatile("tilerelease");
    return seconds / (tiles * passes);
}

} // namespace

double measure_load_cycles(cpu_isa level, int threads) {
    constexpr int tries = 5;
    std::vector<double> cycles(static_cast<std::size_t>(threads), INFINITY);
    const auto load = level == cpu_isa::avx512_amx ? seconds_of_tile_loads : seconds_of_reads;
    seconds_together(threads, [&](int t) {
        double &least = cycles[static_cast<std::size_t>(t)];
        for (int i = 0; i < tries; i++)
            least = std::min(least, load() / seconds_of_cycle());
    });
    return *std::max_element(cycles.begin(), cycles.end());
}

double load_probe::operator()() {
    const double cycles = measure_();
    least_ = least_ == 0 ? cycles : std::min(least_, cycles);
    return cycles;
}

bool load_probe::is_quiet(double cycles) const { return cycles <= most_of_least * least_; }

load_probe &shared_load_probe(int threads) {
    static std::map<std::pair<cpu_isa, int>, load_probe> probes;
    const cpu_isa level = get_effective_cpu_isa();
    const auto measure_now = [=] { return measure_load_cycles(level, threads); };
    return probes.try_emplace({level, threads}, measure_now).first->second;
}

bool sample_probes::are_too_few_quiet() const {
    return std::count_if(cycles_.begin(), cycles_.end(), [&](double c) { return probe_->is_quiet(c); }) <
           wanted_;
}

std::vector<std::size_t> sample_probes::counted() const {
    std::vector<std::size_t> order(cycles_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto badness = [&](std::size_t i) { return probe_->is_quiet(cycles_[i]) ? 0 : cycles_[i]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return badness(a) < badness(b); });
    order.resize(std::min(order.size(), static_cast<std::size_t>(wanted_)));
    std::sort(order.begin(), order.end());
    return order;
}

int sample_probes::disturbed() const {
    int count = 0;
    for (const std::size_t i : counted())
        count += probe_->is_quiet(cycles_[i]) ? 0 : 1;
    return count;
}

} // namespace octet::tools
