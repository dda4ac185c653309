// Transposition and interleaving of 64-byte rows by AVX-512 byte permutes; sums by dot products with 1.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/weights/pack_rows.hpp"

#include <algorithm>

// GCC 12 takes its own _mm512_undefined for a mistake (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

namespace octet::impl {

namespace {

#define OCTET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vnni")))
#define OCTET_AVX512_INLINE OCTET_AVX512 __attribute__((always_inline))

OCTET_AVX512_INLINE inline __m128i load_lane(const std::uint8_t *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

/// 16 bytes of each of four channels.
OCTET_AVX512_INLINE inline __m512i load_lanes(const std::uint8_t *from, dim_t apart) {
    __m512i x = _mm512_castsi128_si512(load_lane(from));
    x = _mm512_inserti32x4(x, load_lane(from + apart), 1);
    x = _mm512_inserti32x4(x, load_lane(from + 2 * apart), 2);
    return _mm512_inserti32x4(x, load_lane(from + 3 * apart), 3);
}

/// Sums of four signed codes: the ones are the unsigned operand, so that codes keep their signs.
OCTET_AVX512_INLINE inline __m512i add_codes(__m512i sums, __m512i codes) {
    return _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), codes);
}

OCTET_AVX512_INLINE inline void add_to(std::int32_t *sums, __m512i words) {
    _mm512_storeu_si512(sums, _mm512_add_epi32(_mm512_loadu_si512(sums), words));
}

} // namespace

OCTET_AVX512 void transpose_to_rows(const std::uint8_t *src, dim_t stride, dim_t count, const dim_t *rows,
                                    std::uint8_t flip, std::uint8_t *dst, std::int32_t *sums) {
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
    __m512i sum = _mm512_setzero_si512();
    for (dim_t w = 0; w < count; w += 4, src += 16) {
        // Lane l of x[c] is channel 4 l + c.
        __m512i x[4];
        for (dim_t c = 0; c < 4; c++)
            x[c] = _mm512_xor_si512(load_lanes(src + c * stride, 4 * stride), flips);
        const __m512i low01 = _mm512_unpacklo_epi32(x[0], x[1]), high01 = _mm512_unpackhi_epi32(x[0], x[1]),
                      low23 = _mm512_unpacklo_epi32(x[2], x[3]), high23 = _mm512_unpackhi_epi32(x[2], x[3]);
        const __m512i words[] = {_mm512_unpacklo_epi64(low01, low23), _mm512_unpackhi_epi64(low01, low23),
                                 _mm512_unpacklo_epi64(high01, high23),
                                 _mm512_unpackhi_epi64(high01, high23)};
        const dim_t n = std::min<dim_t>(count - w, 4);
        for (dim_t r = 0; r < n; r++) {
            _mm512_storeu_si512(dst + rows[w + r], words[r]);
            sum = add_codes(sum, words[r]);
        }
    }
    if (sums)
        add_to(sums, sum);
}

tap_order::tap_order(dim_t taps) : taps(taps), bytes{} {
    for (dim_t tap = 0; tap < std::min(taps, most_taps_in_row); tap++)
        for (dim_t k = 0; k < packed_i_block; k++)
            bytes[tap * packed_i_block + k] = static_cast<std::uint8_t>(k * taps + tap);
}

OCTET_AVX512 void gather_taps(const std::uint8_t *src, dim_t count, const tap_order &order, std::uint8_t flip,
                              std::uint8_t *words, std::int32_t *sums) {
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip)), bytes = _mm512_loadu_si512(order.bytes);
    const dim_t step = packed_i_block * order.taps;
    const auto first = [](dim_t n) { return ~std::uint64_t{0} >> (64 - n); };
    const auto gather = [&](dim_t offset, __mmask64 there, __m512i sum) OCTET_AVX512_INLINE {
        // Bytes that are not there are never read; the flip in their place makes them 0.
        const __m512i x = _mm512_xor_si512(_mm512_mask_loadu_epi8(flips, there, src + offset), flips);
        const __m512i gathered = _mm512_permutexvar_epi8(bytes, x);
        _mm512_storeu_si512(words + offset, gathered);
        return add_codes(sum, gathered);
    };
    // Two sums, because each addition takes several cycles.
    __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    const dim_t end = count * order.taps;
    const __mmask64 all = first(step);
    dim_t offset = 0;
    for (; offset + 2 * step <= end; offset += 2 * step) {
        sum[0] = gather(offset, all, sum[0]);
        sum[1] = gather(offset + step, all, sum[1]);
    }
    for (; offset < end; offset += step)
        sum[0] = gather(offset, first(std::min(end - offset, step)), sum[0]);
    add_to(sums, _mm512_add_epi32(sum[0], sum[1]));
}

OCTET_AVX512 void interleave_to_rows(const std::uint8_t *src, const dim_t *rows, dim_t count,
                                     std::uint8_t flip, std::uint8_t *dst, dim_t block_bytes,
                                     std::int32_t *sums) {
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
    __m512i sum[4] = {};
    for (dim_t row = 0; row < count; row++, rows += packed_i_block, dst += packed_row_bytes) {
        __m512i x[4];
        for (dim_t k = 0; k < 4; k++)
            x[k] = _mm512_xor_si512(_mm512_loadu_si512(src + rows[k]), flips);
        const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]), high01 = _mm512_unpackhi_epi8(x[0], x[1]),
                      low23 = _mm512_unpacklo_epi8(x[2], x[3]), high23 = _mm512_unpackhi_epi8(x[2], x[3]);
        // Lane b of y[v]: words of channels 4 v to 4 v + 3 of block b.
        const __m512i y[] = {_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
                             _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
        const __m512i even01 = _mm512_shuffle_i32x4(y[0], y[1], 0x88),
                      odd01 = _mm512_shuffle_i32x4(y[0], y[1], 0xdd),
                      even23 = _mm512_shuffle_i32x4(y[2], y[3], 0x88),
                      odd23 = _mm512_shuffle_i32x4(y[2], y[3], 0xdd);
        const __m512i blocks[] = {
            _mm512_shuffle_i32x4(even01, even23, 0x88), _mm512_shuffle_i32x4(odd01, odd23, 0x88),
            _mm512_shuffle_i32x4(even01, even23, 0xdd), _mm512_shuffle_i32x4(odd01, odd23, 0xdd)};
        for (dim_t b = 0; b < 4; b++) {
            _mm512_storeu_si512(dst + b * block_bytes, blocks[b]);
            sum[b] = add_codes(sum[b], blocks[b]);
        }
    }
    for (dim_t b = 0; b < 4; b++)
        add_to(sums + b * packed_o_block, sum[b]);
}

} // namespace octet::impl
