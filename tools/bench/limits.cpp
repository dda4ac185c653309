// Loops of independent multiplications for the peak, loops over memory for bandwidths; the best of several
// tries counts.
// SPDX-License-Identifier: Apache-2.0
#include "bench/limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <immintrin.h>

#include "bench/together.hpp"

namespace octet::tools {

namespace {

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
    int products; ///< products of one instruction
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
    case cpu_isa::ref:
        break;
    }
    return {nullptr, 0, 0};
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

__attribute__((target("avx2"))) void write_lines(std::uint8_t *to, std::size_t size) {
    const __m256i ones = _mm256_set1_epi8(1);
    for (std::size_t i = 0; i + 32 <= size; i += 32)
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + i), ones);
    asm volatile("" : : "r"(to) : "memory"); // one pass does not replace another
}

/// `to` begins a cache line.
__attribute__((target("avx2"))) void write_past_caches(std::uint8_t *to, std::size_t size) {
    const __m256i ones = _mm256_set1_epi8(1);
    for (std::size_t i = 0; i + 32 <= size; i += 32)
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i), ones);
    _mm_sfence();
}

/// Seconds of a pass in which each thread does its share.
template <typename Share> double in_shares(int threads, int passes, const Share &share) {
    const auto all_passes = [&](int t) {
        for (int p = 0; p < passes; p++)
            share(static_cast<std::size_t>(t));
    };
    return seconds_together(threads, all_passes) / passes;
}

} // namespace

double measure_peak(cpu_isa level, bool is_f32, int threads) {
    const chain_loop loop = loop_of(level, is_f32);
    if (!loop.run)
        return 0;
    // The best of several: the clock takes a while to rise after a rest.
    double seconds = INFINITY;
    for (int i = 0; i < 6; i++)
        seconds = std::min(seconds, seconds_together(threads, [&](int) { loop.run(); }));
    return 2.0 * loop.products * loop.chains * rounds * threads / seconds;
}

double measure_read(const void *bytes, std::size_t size, int threads, int passes) {
    const std::size_t share = size / static_cast<std::size_t>(threads);
    return in_shares(threads, passes, [&](std::size_t t) {
        read_lines(static_cast<const std::uint8_t *>(bytes) + t * share, share);
    });
}

double measure_write(void *bytes, std::size_t size, int threads, int passes) {
    constexpr std::size_t beyond_caches = std::size_t{32} << 20; // as operators store past the caches
    const std::size_t share = size / static_cast<std::size_t>(threads) / 64 * 64;
    const auto write = size > beyond_caches ? write_past_caches : write_lines;
    return in_shares(threads, passes,
                     [&](std::size_t t) { write(static_cast<std::uint8_t *>(bytes) + t * share, share); });
}

int passes_over(std::size_t size) {
    constexpr std::size_t enough = std::size_t{1} << 20;
    return static_cast<int>(std::clamp<std::size_t>(enough / std::max<std::size_t>(size, 1), 1, 1000));
}

} // namespace octet::tools
