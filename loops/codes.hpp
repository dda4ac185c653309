#pragma once // SPDX-License-Identifier: Apache-2.0

// Vectors of floats with what products of codes need besides: floats that are rounded to codes, and sums of four
// products of u8 weights and codes in each lane. A file that uses them as `vec`, and as `narrow` for weights of four
// bits or fewer, is compiled once for each instruction set by forms_of_codes.inl.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "loops/vectors.hpp"

namespace octet::loops {

#if defined(__x86_64__)

#define OCTET_INLINE __attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) static inline
struct avx512_codes : avx512_floats {
    using avx512_floats::add;
    using integers = __m512i;
    using weights = __m512i; ///< of each column, four neighbours in the reduction
    using code = std::int8_t;
    static constexpr const char *name = "AVX512-VNNI";
    OCTET_INLINE reg to_floats(integers v) { return _mm512_cvtepi32_ps(v); }
    OCTET_INLINE integers no_integers() { return _mm512_setzero_si512(); }
    OCTET_INLINE integers add(integers a, integers b) { return _mm512_add_epi32(a, b); }
    OCTET_INLINE std::int32_t total(integers v) { return _mm512_reduce_add_epi32(v); }
    /// Writes the low bytes of what v rounds to, 0 of what no integer is; returns the codes.
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m512i rounded = _mm512_cvtps_epi32(v);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes), _mm512_cvtepi32_epi8(rounded));
        return _mm512_srai_epi32(_mm512_slli_epi32(rounded, 24), 24);
    }
    /// Four neighbours of each column: bits i * `bits` on of the bytes at w.
    template <int bits, int i> OCTET_INLINE weights load_weights(const std::uint8_t *w) {
        const __m512i v = _mm512_loadu_si512(w);
        return bits == 8 ? v
                         : _mm512_and_si512(_mm512_srli_epi16(v, i * bits),
                                            _mm512_set1_epi8(static_cast<char>((1 << bits) - 1)));
    }
    OCTET_INLINE __m512i four(const code *x) {
        std::int32_t codes;
        std::memcpy(&codes, x, sizeof(codes));
        return _mm512_set1_epi32(codes);
    }
    OCTET_INLINE integers products(weights w, const code *x) {
        return _mm512_dpbusd_epi32(no_integers(), w, four(x));
    }
    OCTET_INLINE integers products(weights w0, const code *x0, weights w1, const code *x1) {
        return _mm512_dpbusd_epi32(products(w0, x0), w1, four(x1));
    }
};
#undef OCTET_INLINE

// Sums of two products of u8 and s8 can exceed 16 bits, so codes are widened to them: even ones of four, then odd ones.
#define OCTET_INLINE __attribute__((target("avx2,fma"), always_inline)) static inline
struct avx2_codes : avx2_floats {
    using avx2_floats::add;
    using integers = __m256i;
    struct weights {
        __m256i even, odd;
    };
    using code = std::int16_t;
    static constexpr const char *name = "AVX2";
    OCTET_INLINE reg to_floats(integers v) { return _mm256_cvtepi32_ps(v); }
    OCTET_INLINE integers no_integers() { return _mm256_setzero_si256(); }
    OCTET_INLINE integers add(integers a, integers b) { return _mm256_add_epi32(a, b); }
    OCTET_INLINE std::int32_t total(integers v) {
        const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)),
                      two = _mm_add_epi32(four, _mm_srli_si128(four, 8));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_srli_si128(two, 4)));
    }
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m256i signs = _mm256_srai_epi32(_mm256_slli_epi32(_mm256_cvtps_epi32(v), 24), 24);
        const __m256i evens_first =
            _mm256_setr_epi8(0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, //
                             0, 1, 8, 9, 4, 5, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
        const __m256i fours = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(signs, evens_first), 0x08);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes), _mm256_castsi256_si128(fours));
        return signs;
    }
    template <int bits, int> OCTET_INLINE weights load_weights(const std::uint8_t *w) {
        static_assert(bits == 8);
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
        return {_mm256_and_si256(v, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(v, 8)};
    }
    OCTET_INLINE integers products(const weights &w, const code *x) {
        std::int32_t even, odd;
        std::memcpy(&even, x, sizeof(even));
        std::memcpy(&odd, x + 2, sizeof(odd));
        return add(_mm256_madd_epi16(w.even, _mm256_set1_epi32(even)),
                   _mm256_madd_epi16(w.odd, _mm256_set1_epi32(odd)));
    }
    OCTET_INLINE integers products(const weights &w0, const code *x0, const weights &w1, const code *x1) {
        return add(products(w0, x0), products(w1, x1));
    }
};

/// For weights of four bits and fewer, of which sums of four products fit 16 bits.
struct avx2_narrow_codes : avx2_codes {
    using weights = __m256i;
    using code = std::int8_t;
    /// Writes the low bytes of what v rounds to, 0 of what no integer is; returns the codes.
    OCTET_INLINE integers put_codes(reg v, code *codes) {
        const __m256i rounded = _mm256_cvtps_epi32(v);
        const __m256i low_bytes =
            _mm256_shuffle_epi8(rounded, _mm256_set1_epi32(0x0c080400)); // of four, as often as fits
        _mm_storel_epi64(
            reinterpret_cast<__m128i *>(codes),
            _mm_unpacklo_epi32(_mm256_castsi256_si128(low_bytes), _mm256_extracti128_si256(low_bytes, 1)));
        return _mm256_srai_epi32(_mm256_slli_epi32(rounded, 24), 24);
    }
    template <int bits, int i> OCTET_INLINE weights load_weights(const std::uint8_t *w) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
        return bits == 8 ? v
                         : _mm256_and_si256(_mm256_srli_epi16(v, i * bits),
                                            _mm256_set1_epi8(static_cast<char>((1 << bits) - 1)));
    }
    OCTET_INLINE __m256i four(const code *x) {
        std::int32_t codes;
        std::memcpy(&codes, x, sizeof(codes));
        return _mm256_set1_epi32(codes);
    }
    OCTET_INLINE integers sum_of_two(__m256i v) { return _mm256_madd_epi16(v, _mm256_set1_epi16(1)); }
    OCTET_INLINE integers products(weights w, const code *x) {
        return sum_of_two(_mm256_maddubs_epi16(w, four(x)));
    }
    OCTET_INLINE integers products(weights w0, const code *x0, weights w1, const code *x1) {
        return sum_of_two(
            _mm256_add_epi16(_mm256_maddubs_epi16(w0, four(x0)), _mm256_maddubs_epi16(w1, four(x1))));
    }
};
#undef OCTET_INLINE

#define OCTET_INLINE __attribute__((target("avx2,fma,avxvnni"), always_inline)) static inline
struct avx_vnni_codes : avx2_narrow_codes {
    static constexpr const char *name = "AVX-VNNI";
    OCTET_INLINE integers products(weights w, const code *x) {
        return _mm256_dpbusd_avx_epi32(no_integers(), w, four(x));
    }
    OCTET_INLINE integers products(weights w0, const code *x0, weights w1, const code *x1) {
        return _mm256_dpbusd_avx_epi32(products(w0, x0), w1, four(x1));
    }
};
#undef OCTET_INLINE

#endif

/// Four lanes for every CPU, in vectors of the compiler.
struct plain_codes : plain_floats {
    using plain_floats::add;
    using integers = mask;
    using weights =
        std::uint32_t __attribute__((vector_size(16))); ///< the lowest byte is the first neighbour
    using code = std::int8_t;
    static constexpr const char *name = "the compiler's vectors";
    static reg to_floats(integers v) { return __builtin_convertvector(v, reg); }
    static integers no_integers() { return integers{}; }
    static integers add(integers a, integers b) { return a + b; }
    static std::int32_t total(integers v) { return (v[0] + v[1]) + (v[2] + v[3]); }
    static integers put_codes(reg v, code *codes) {
        constexpr float beyond = 2147483648.f;
        for (int i = 0; i < width; i++)
            codes[i] = static_cast<code>(
                std::fabs(v[i]) < beyond ? static_cast<std::int32_t>(std::nearbyint(v[i])) : 0);
        return integers{codes[0], codes[1], codes[2], codes[3]};
    }
    template <int bits, int i> static weights load_weights(const std::uint8_t *w) {
        weights v;
        std::memcpy(&v, w, sizeof(v));
        return bits == 8 ? v : v >> i * bits & ((1u << bits) - 1) * 0x01010101u;
    }
    static integers products(weights w, const code *x) {
        integers sum{};
        for (int i = 0; i < 4; i++)
            sum += reinterpret_cast<integers>(w >> 8 * i & 0xffu) * std::int32_t{x[i]};
        return sum;
    }
    static integers products(weights w0, const code *x0, weights w1, const code *x1) {
        return products(w0, x0) + products(w1, x1);
    }
};

} // namespace octet::loops
