#pragma once // SPDX-License-Identifier: Apache-2.0

// Vectors of floats, the same operations for each instruction set. A file that uses them as `vec` is compiled once for
// each by forms_of_floats.inl.

// GCC 12 takes its own _mm512_undefined for a mistake (its bug 105593).
#if !defined(__x86_64__)
#elif defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "octet/types.hpp"

namespace octet::loops {

#if defined(__x86_64__)

#define OCTET_INLINE __attribute__((target("avx512f"), always_inline)) static inline
struct avx512_floats {
    using reg = __m512;
    using mask = __mmask16;
    static constexpr dim_t width = 16;
    static constexpr int registers = 32;
    static constexpr bool has_mask_registers = true; ///< a vector from two places costs no more than one
    OCTET_INLINE reg load(const float *x) { return _mm512_loadu_ps(x); }
    OCTET_INLINE void store(float *y, reg v) { _mm512_storeu_ps(y, v); }
    OCTET_INLINE reg all(float x) { return _mm512_set1_ps(x); }
    using bytes = __m512i; ///< u8, each in the lane of a float
    OCTET_INLINE bytes load_bytes(const std::uint8_t *x) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x)));
    }
    /// Bits i * `bits` on of each byte as floats.
    template <int bits, int i> OCTET_INLINE reg part_of(bytes v) {
        return _mm512_cvtepi32_ps(
            bits == 8 ? v
                      : _mm512_and_si512(_mm512_srli_epi32(v, i * bits), _mm512_set1_epi32((1 << bits) - 1)));
    }
    OCTET_INLINE reg add(reg a, reg b) { return _mm512_add_ps(a, b); }
    OCTET_INLINE reg sub(reg a, reg b) { return _mm512_sub_ps(a, b); }
    OCTET_INLINE reg mul(reg a, reg b) { return _mm512_mul_ps(a, b); }
    OCTET_INLINE reg fma(reg a, reg b, reg c) { return _mm512_fmadd_ps(a, b, c); }
    OCTET_INLINE reg larger(reg a, reg b) {
        return _mm512_max_ps(a, b);
    } ///< b where one is NaN, as `smaller`
    OCTET_INLINE reg smaller(reg a, reg b) { return _mm512_min_ps(a, b); }
    OCTET_INLINE reg magnitude(reg v) { return _mm512_abs_ps(v); }
    /// x 2^n for whole n from -252 to 254, rounded once.
    OCTET_INLINE reg scaled(reg x, reg n) { return _mm512_scalef_ps(x, n); }
    OCTET_INLINE bool any(mask m) { return m != 0; }
    OCTET_INLINE mask or_nan(mask m, reg a, reg b) {
        return static_cast<mask>(m | _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q));
    }
    OCTET_INLINE mask first(dim_t count) { return static_cast<mask>((1u << count) - 1); }
    /// Lanes of `firsts` from x, others of `lanes` from y.
    OCTET_INLINE reg load(const float *x, mask firsts, const float *y, mask lanes) {
        return _mm512_mask_loadu_ps(_mm512_maskz_loadu_ps(lanes, y), firsts, x);
    }
    OCTET_INLINE void store(float *y, reg v, mask m) { _mm512_mask_storeu_ps(y, m, v); }
};
#undef OCTET_INLINE

#define OCTET_INLINE __attribute__((target("avx2,fma"), always_inline)) static inline
struct avx2_floats {
    using reg = __m256;
    using mask = __m256i;
    static constexpr dim_t width = 8;
    static constexpr int registers = 16;
    static constexpr bool has_mask_registers = false; ///< `load` of two places takes all lanes from the first
    OCTET_INLINE reg load(const float *x) { return _mm256_loadu_ps(x); }
    OCTET_INLINE void store(float *y, reg v) { _mm256_storeu_ps(y, v); }
    OCTET_INLINE reg all(float x) { return _mm256_set1_ps(x); }
    using bytes = __m256i;
    OCTET_INLINE bytes load_bytes(const std::uint8_t *x) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x)));
    }
    template <int bits, int i> OCTET_INLINE reg part_of(bytes v) {
        return _mm256_cvtepi32_ps(
            bits == 8 ? v
                      : _mm256_and_si256(_mm256_srli_epi32(v, i * bits), _mm256_set1_epi32((1 << bits) - 1)));
    }
    OCTET_INLINE reg add(reg a, reg b) { return _mm256_add_ps(a, b); }
    OCTET_INLINE reg sub(reg a, reg b) { return _mm256_sub_ps(a, b); }
    OCTET_INLINE reg mul(reg a, reg b) { return _mm256_mul_ps(a, b); }
    OCTET_INLINE reg fma(reg a, reg b, reg c) { return _mm256_fmadd_ps(a, b, c); }
    OCTET_INLINE reg larger(reg a, reg b) { return _mm256_max_ps(a, b); }
    OCTET_INLINE reg smaller(reg a, reg b) { return _mm256_min_ps(a, b); }
    OCTET_INLINE reg magnitude(reg v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), v); }
    OCTET_INLINE reg power_of_2(__m256i n) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
    }
    OCTET_INLINE reg scaled(reg x, reg n) { ///< only the second product may leave the normal numbers
        const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
        return mul(mul(x, power_of_2(half)), power_of_2(_mm256_sub_epi32(whole, half)));
    }
    OCTET_INLINE bool any(mask m) { return _mm256_movemask_epi8(m) != 0; }
    OCTET_INLINE mask or_nan(mask m, reg a, reg b) {
        return _mm256_or_si256(m, _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)));
    }
    OCTET_INLINE mask first(dim_t count) {
        const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
    }
    OCTET_INLINE reg load(const float *x, mask firsts, const float *, mask) {
        return _mm256_maskload_ps(x, firsts);
    }
    OCTET_INLINE void store(float *y, reg v, mask m) { _mm256_maskstore_ps(y, m, v); }
};
#undef OCTET_INLINE

#endif

/// Four lanes for every CPU, in vectors of the compiler.
struct plain_floats {
    using reg = float __attribute__((vector_size(16)));
    using mask = std::int32_t __attribute__((vector_size(16)));
    static constexpr dim_t width = 4;
    static constexpr int registers = 16;
    static constexpr bool has_mask_registers = false;
    static reg load(const float *x) {
        reg v;
        std::memcpy(&v, x, sizeof(v));
        return v;
    }
    static void store(float *y, reg v) { std::memcpy(y, &v, sizeof(v)); }
    static reg all(float x) { return reg{x, x, x, x}; }
    using bytes = mask;
    static bytes load_bytes(const std::uint8_t *x) { return bytes{x[0], x[1], x[2], x[3]}; }
    template <int bits, int i> static reg part_of(bytes v) {
        return __builtin_convertvector(v >> i * bits & ((1 << bits) - 1), reg);
    }
    static reg add(reg a, reg b) { return a + b; }
    static reg sub(reg a, reg b) { return a - b; }
    static reg mul(reg a, reg b) { return a * b; }
    static reg fma(reg a, reg b, reg c) {
        return reg{std::fma(a[0], b[0], c[0]), std::fma(a[1], b[1], c[1]), std::fma(a[2], b[2], c[2]),
                   std::fma(a[3], b[3], c[3])};
    }
    static reg larger(reg a, reg b) { return a > b ? a : b; }
    static reg smaller(reg a, reg b) { return a < b ? a : b; }
    static reg magnitude(reg v) { return reinterpret_cast<reg>(reinterpret_cast<mask>(v) & 0x7fffffff); }
    static reg power_of_2(mask n) { return reinterpret_cast<reg>((n + 127) << 23); }
    static reg scaled(reg x, reg n) { ///< only the second product may leave the normal numbers
        const mask whole = __builtin_convertvector(n, mask), half = whole >> 1;
        return x * power_of_2(half) * power_of_2(whole - half);
    }
    static bool any(mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
    static mask or_nan(mask m, reg a, reg b) { return m | (a != a) | (b != b); }
    static mask first(dim_t count) { return mask{0, 1, 2, 3} < static_cast<std::int32_t>(count); }
    static reg load(const float *x, mask firsts, const float *, mask) {
        reg v{};
        for (int i = 0; i < width; i++)
            if (firsts[i])
                v[i] = x[i];
        return v;
    }
    static void store(float *y, reg v, mask m) {
        for (int i = 0; i < width; i++)
            if (m[i])
                y[i] = v[i];
    }
};

} // namespace octet::loops
