#pragma once // SPDX-License-Identifier: Apache-2.0

// The compiler's default target may lack AVX2 and FMA. All levels of generated code have both
// (`cpu_feature::avx2`), and what is compiled so runs at such levels alone.

#define OCTET_AVX2 __attribute__((target("avx2,fma")))
#define OCTET_AVX2_INLINE __attribute__((target("avx2,fma"), always_inline)) inline
