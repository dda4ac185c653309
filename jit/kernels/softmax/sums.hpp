#pragma once // SPDX-License-Identifier: Apache-2.0

// Maxima and sums of rows of 8-bit codes for softmax, with AVX512_VBMI: what is added depends on the distance
// d = max - x alone, and its bytes are looked up 64 at a time, by byte permutes.
//
// In fixed point (TFLite) the order of additions doesn't matter: the bytes of each place are added by
// themselves. Sums of f32 (ONNX Runtime) have an order: 16 rows lie in the lanes of vectors, a column after
// the other.

#include <array>
#include <cstdint>
#include <vector>

#include "jit/kernels/softmax/codes.hpp"

namespace octet::impl::jit {

/// Byte b of the number of d.
struct softmax_terms {
    alignas(64) std::uint8_t bytes[4][256];
};

/// Numbers of 4 places; how many blocks of 64 d each of them has, 0, 1, 2 or 4, behind which it is 0.
struct softmax_sums_spec {
    instruction_set isa;
    bool is_signed = false;
    std::array<int, 4> blocks{4, 4, 4, 4};
};

/// Working memory of sums of f32: 64 columns of 16 rows, and pointers to these rows.
struct softmax_sums_work {
    alignas(64) std::uint8_t columns[64][16];
    const void *src[16], *dst[16];
};

struct softmax_sums_args {
    const void *src, *dst;      ///< dst is only prefetched: softmax_codes will write it
    softmax_code_rows *numbers; ///< gets all of them
    const softmax_terms *terms;
    std::int64_t rows, columns;
    std::int64_t src_step, dst_step; ///< bytes from row to row
    softmax_sums_work *work;         ///< for sums with an order
};

/// Sums, and their reciprocals as TFLite computes them: avx512_vnni, less than 2^13 columns. Counts zeros by
/// AVX512CD, which every CPU with AVX512_VBMI has.
shared_code<const softmax_sums_args> softmax_fixed_sums_code(const softmax_sums_spec &spec);
/// Sums of f32, each in the order of columns.
shared_code<const softmax_sums_args> softmax_real_sums_code(const softmax_sums_spec &spec);

} // namespace octet::impl::jit
