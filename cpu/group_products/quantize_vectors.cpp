// Vectors of AVX2; the elements behind the last whole one are the caller's, or by themselves.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/group_products/quantize_vectors.hpp"

#include <algorithm>
#include <cmath>

#include <immintrin.h>

#include "cpu/machine/avx2.hpp"

namespace octet::impl {

namespace {

constexpr dim_t width = 8; ///< floats of a vector

/// clamp(rne(x * inverse) + zero point) of elements by eight.
struct code_maker {
    __m256 inverse, low, high;
    __m256i zero_point;
};

OCTET_AVX2 __m256i codes_of(const code_maker &c, const float *x) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x), c.inverse);
    return _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(scaled, c.low), c.high)),
                            c.zero_point);
}

} // namespace

OCTET_AVX2 extremes extremes_by_vectors(const float *x, dim_t count) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256 lo = _mm256_setzero_ps(), hi = lo;
    __m256i largest = _mm256_setzero_si256(); // of magnitudes, as integers
    dim_t i = 0;
    for (; i + width <= count; i += width) {
        const __m256 v = _mm256_loadu_ps(x + i);
        lo = _mm256_min_ps(v, lo);
        hi = _mm256_max_ps(v, hi);
        largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v), magnitude));
    }
    alignas(32) float lows[width], highs[width];
    alignas(32) std::int32_t magnitudes[width];
    _mm256_store_ps(lows, lo);
    _mm256_store_ps(highs, hi);
    _mm256_store_si256(reinterpret_cast<__m256i *>(magnitudes), largest);
    extremes e{*std::min_element(lows, lows + width), *std::max_element(highs, highs + width), 0.f};
    bool is_finite = *std::max_element(magnitudes, magnitudes + width) < 0x7f800000;
    for (; i < count; i++) {
        e[0] = std::min(e[0], x[i]);
        e[1] = std::max(e[1], x[i]);
        is_finite = is_finite && std::isfinite(x[i]);
    }
    e[2] = is_finite ? 0.f : std::nanf("");
    return e;
}

OCTET_AVX2 dim_t store_codes(const float *x, dim_t count, const source_parameters &p, int low, int high,
                             int flip, std::uint8_t *codes) {
    const int zero_point = p.zero_point - flip; // of s8 codes
    const code_maker c{_mm256_set1_ps(p.inverse), _mm256_set1_ps(static_cast<float>(low - zero_point)),
                       _mm256_set1_ps(static_cast<float>(high - zero_point)), _mm256_set1_epi32(zero_point)};
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7),
                  flips = _mm256_set1_epi8(static_cast<char>(flip));
    dim_t i = 0;
    for (; i + 4 * width <= count; i += 4 * width) {
        const __m256i a = _mm256_packs_epi32(codes_of(c, x + i), codes_of(c, x + i + width)),
                      b = _mm256_packs_epi32(codes_of(c, x + i + 2 * width), codes_of(c, x + i + 3 * width));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), order);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(codes + i), _mm256_xor_si256(bytes, flips));
    }
    return i;
}

} // namespace octet::impl
