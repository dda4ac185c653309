// Widening by AVX2, for each quad of a block; filtered taps are combined as dot_words.cpp says.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/wide_weights.hpp"

#include <immintrin.h>

#include "cpu/machine/avx2.hpp"

namespace octet::impl {

namespace {

constexpr dim_t row_bytes = packed_o_block * packed_i_block; // a quad of 16 columns
constexpr dim_t half_bytes = 32;

/// Words of a pair of the quads of 8 columns.
struct pair_of_words {
    __m256i words[2];
};

OCTET_AVX2 inline pair_of_words widen(const std::int8_t *from) {
    // Both bytes of a pair into the upper halves of the words of their column.
    const __m256i quads = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    const __m256i low = _mm256_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1, 0, -1,
                                         1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13);
    const __m256i high = _mm256_setr_epi8(-1, 2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1, 2,
                                          -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15);
    return {{_mm256_srai_epi16(_mm256_shuffle_epi8(quads, low), 8),
             _mm256_srai_epi16(_mm256_shuffle_epi8(quads, high), 8)}};
}

OCTET_AVX2 inline void store(std::int8_t *to, __m256i words) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), words);
}

OCTET_AVX2 void widen_quads(const std::int8_t *from, dim_t quads, std::int8_t *to) {
    for (dim_t q = 0; q < quads; q++, from += row_bytes, to += 2 * row_bytes)
        for (dim_t half = 0; half < row_bytes; half += half_bytes) {
            const pair_of_words pairs = widen(from + half);
            store(to + half, pairs.words[0]);
            store(to + row_bytes + half, pairs.words[1]);
        }
}

/// 8 columns of a quad of up to three neighbouring taps, as its parts in both passes (jit/kernels/dot_words.cpp).
OCTET_AVX2 inline void filter_quad(const std::int8_t *from, dim_t taps, dim_t tap_bytes, dim_t vector_bytes,
                                   std::int8_t *first, std::int8_t *second) {
    constexpr dim_t pairs = 2;
    constexpr std::int8_t none[half_bytes] = {};
    const dim_t part = pairs * vector_bytes;
    const pair_of_words g[] = {widen(from), widen(taps > 1 ? from + tap_bytes : none),
                               widen(taps > 2 ? from + 2 * tap_bytes : none)};
    for (int pair = 0; pair < pairs; pair++, first += vector_bytes, second += vector_bytes) {
        const __m256i g0 = g[0].words[pair], g1 = g[1].words[pair], g2 = g[2].words[pair];
        const __m256i minus_outer = _mm256_sub_epi16(_mm256_setzero_si256(), _mm256_add_epi16(g0, g2));
        store(first, _mm256_slli_epi16(_mm256_sub_epi16(minus_outer, g1), 2));
        store(first + part, _mm256_slli_epi16(_mm256_add_epi16(minus_outer, g1), 2));
        const __m256i outer = _mm256_add_epi16(g0, _mm256_slli_epi16(g2, 2)),
                      inner = _mm256_add_epi16(g1, g1);
        store(first + 2 * part, _mm256_add_epi16(outer, inner));
        store(first + 3 * part, _mm256_sub_epi16(outer, inner));
        store(second, _mm256_mullo_epi16(g0, _mm256_set1_epi16(6)));
        store(second + part, _mm256_mullo_epi16(g2, _mm256_set1_epi16(24)));
    }
}

/// Vector by vector.
OCTET_AVX2 void filter_block(const dot_plan &p, dim_t kernel_width, int lanes, const std::int8_t *from,
                             std::int8_t *to) {
    const dim_t vector_bytes = lanes * packed_i_block, tap_bytes = p.quads * row_bytes;
    const dim_t quad_bytes = jit::weights_quad_bytes(p.products, lanes),
                first_quad = quad_bytes / jit::winograd_parts * jit::winograd_parts_of_pass[0],
                second_quad = quad_bytes - first_quad;
    for (dim_t vector = 0; vector < row_bytes; vector += vector_bytes)
        for (dim_t tap = 0; tap < p.taps; tap++, to += p.quads * quad_bytes) {
            const dim_t line = tap / p.tap_counts[2], column = tap % p.tap_counts[2] * jit::winograd_taps;
            const std::int8_t *quads = from + (line * kernel_width + column) * tap_bytes + vector;
            std::int8_t *second = to + p.quads * first_quad;
            for (dim_t q = 0; q < p.quads; q++)
                for (dim_t half = 0; half < vector_bytes; half += half_bytes)
                    filter_quad(quads + q * row_bytes + half, kernel_width - column, tap_bytes, vector_bytes,
                                to + q * first_quad + half, second + q * second_quad + half);
        }
}

} // namespace

void widen_weights(const dot_plan &p, dim_t kernel_width, int lanes, const std::int8_t *from,
                   std::int8_t *to) {
    if (p.products == jit::dot_products::winograd_f43)
        filter_block(p, kernel_width, lanes, from, to);
    else
        widen_quads(from, p.taps * p.quads, to);
}

} // namespace octet::impl
