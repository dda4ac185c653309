#include "bench/limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <immintrin.h>

namespace octet::tools {

namespace {

using clock = std::chrono::steady_clock;

/// Runs body(thread) on all threads, started together; returns the seconds until the last one ends.
double seconds_of(int threads, const std::function<void(int)> &body) {
    std::atomic<int> ready{0};
    std::vector<clock::time_point> ends(static_cast<std::size_t>(threads));
    clock::time_point start;
    std::atomic<bool> go{threads == 1};
    const auto work = [&](int t) {
        ready++;
        while (!go)
            _mm_pause();
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

constexpr int rounds = 20000;

// Independent multiply-adds on `chains` accumulators, spelled out because compilers add moves to the
// intrinsics. %0 accumulator, %1 scratch, %2 and %3 operands.

#define OCTET_CHAINS(name, isa, type, constraint, chains, code)                                              \
    __attribute__((target(isa))) void name() {                                                               \
        type a[chains] = {}, product = {}, x = {}, y = {};                                                   \
        for (int r = 0; r < rounds; r++) {                                                                   \
            _Pragma("GCC unroll 24") for (type & chain : a) asm volatile(                                    \
                code : "+" constraint(chain), "+" constraint(product) : constraint(x), constraint(y));       \
        }                                                                                                    \
    }

OCTET_CHAINS(avx512_vnni_chains, "avx512f", __m512i, "v", 24, "vpdpbusd %2, %3, %0")
OCTET_CHAINS(avx512_core_chains, "avx512f", __m512i, "v", 24, "vpmaddwd %2, %3, %1\n vpaddd %1, %0, %0")
OCTET_CHAINS(avx_vnni_chains, "avx2", __m256i, "x", 12, "%{vex%} vpdpbusd %2, %3, %0")
OCTET_CHAINS(avx2_chains, "avx2", __m256i, "x", 12, "vpmaddwd %2, %3, %1\n vpaddd %1, %0, %0")
OCTET_CHAINS(zmm_f32_chains, "avx512f", __m512, "v", 24, "vfmadd231ps %2, %3, %0")
OCTET_CHAINS(ymm_f32_chains, "avx2,fma", __m256, "x", 12, "vfmadd231ps %2, %3, %0")
#undef OCTET_CHAINS

/// Six accumulators in tile registers, which no compiler allocates; all tiles have 16 rows of 64 bytes.
void amx_chains() {
    struct alignas(64) {
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const shapes;
    asm volatile("ldtilecfg %0" : : "m"(shapes));
    for (int r = 0; r < rounds; r++)
        asm volatile(
            "tdpbusd %tmm7, %tmm6, %tmm0\n tdpbusd %tmm7, %tmm6, %tmm1\n tdpbusd %tmm7, %tmm6, %tmm2\n"
            "tdpbusd %tmm7, %tmm6, %tmm3\n tdpbusd %tmm7, %tmm6, %tmm4\n tdpbusd %tmm7, %tmm6, %tmm5");
    asm volatile("tilerelease");
}

struct chain_loop {
    void (*run)();
    int products; ///< of one instruction
    int chains;
};

chain_loop loop_of(cpu_isa level, bool is_f32) {
    const bool has_zmm = level >= cpu_isa::avx512_core;
    if (is_f32 && level != cpu_isa::ref)
        return has_zmm ? chain_loop{zmm_f32_chains, 16, 24} : chain_loop{ymm_f32_chains, 8, 12};
    switch (level) {
    case cpu_isa::avx512_amx:
        return {amx_chains, 16 * 16 * 64, 6};
    case cpu_isa::avx512_vnni:
        return {avx512_vnni_chains, 64, 24};
    case cpu_isa::avx512_core:
        return {avx512_core_chains, 32, 24};
    case cpu_isa::avx_vnni:
        return {avx_vnni_chains, 32, 12};
    case cpu_isa::avx2:
        return {avx2_chains, 16, 12};
    default:
        return {nullptr, 0, 0};
    }
}

__attribute__((target("avx2"))) void read_lines(const std::uint8_t *from, std::size_t size) {
    __m256i sums[8] = {};
    for (std::size_t i = 0; i + 256 <= size; i += 256)
        for (std::size_t j = 0; j < 8; j++)
            sums[j] = _mm256_xor_si256(
                sums[j], _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i + 32 * j)));
    for (int j = 1; j < 8; j++)
        sums[0] = _mm256_xor_si256(sums[0], sums[j]);
    [[maybe_unused]] volatile int sink = _mm_cvtsi128_si32(_mm256_castsi256_si128(sums[0]));
}

} // namespace

double measure_peak(cpu_isa level, bool is_f32, int threads) {
    const chain_loop loop = loop_of(level, is_f32);
    if (!loop.run)
        return 0;
    // The best of several: the clock takes a while to rise after a rest.
    double seconds = INFINITY;
    for (int i = 0; i < 6; i++)
        seconds = std::min(seconds, seconds_of(threads, [&](int) { loop.run(); }));
    return 2.0 * loop.products * loop.chains * rounds * threads / seconds;
}

double measure_read(const void *bytes, std::size_t size, int threads) {
    const std::size_t share = size / static_cast<std::size_t>(threads);
    return seconds_of(threads, [&](int t) {
        read_lines(static_cast<const std::uint8_t *>(bytes) + static_cast<std::size_t>(t) * share, share);
    });
}

} // namespace octet::tools
