#pragma once // SPDX-License-Identifier: Apache-2.0

// Vectors of floats that loops have in common, of each instruction set: what a loop needs besides, its own `vec` adds to one of them.

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

#include <cmath>

#include "network/graph/graph.hpp"

namespace octet::model {

#define OCTET_INLINE __attribute__((target("avx512f"), always_inline)) static inline
struct avx512_floats {
    using reg = __m512;
    static constexpr dim_t width = 16;
    OCTET_INLINE reg load(const float *x) { return _mm512_loadu_ps(x); }
    OCTET_INLINE void store(float *y, reg v) { _mm512_storeu_ps(y, v); }
    OCTET_INLINE reg all(float x) { return _mm512_set1_ps(x); }
    OCTET_INLINE reg add(reg a, reg b) { return _mm512_add_ps(a, b); }
    OCTET_INLINE reg fma(reg a, reg b, reg c) { return _mm512_fmadd_ps(a, b, c); }
};
#undef OCTET_INLINE

#define OCTET_INLINE __attribute__((target("avx2,fma"), always_inline)) static inline
struct avx2_floats {
    using reg = __m256;
    static constexpr dim_t width = 8;
    OCTET_INLINE reg load(const float *x) { return _mm256_loadu_ps(x); }
    OCTET_INLINE void store(float *y, reg v) { _mm256_storeu_ps(y, v); }
    OCTET_INLINE reg all(float x) { return _mm256_set1_ps(x); }
    OCTET_INLINE reg add(reg a, reg b) { return _mm256_add_ps(a, b); }
    OCTET_INLINE reg fma(reg a, reg b, reg c) { return _mm256_fmadd_ps(a, b, c); }
};
#undef OCTET_INLINE

/// One lane, for every CPU.
struct single_floats {
    using reg = float;
    static constexpr dim_t width = 1;
    static reg load(const float *x) { return *x; }
    static void store(float *y, reg v) { *y = v; }
    static reg all(float x) { return x; }
    static reg add(reg a, reg b) { return a + b; }
    static reg fma(reg a, reg b, reg c) { return std::fma(a, b, c); }
};

} // namespace octet::model
