#pragma once // SPDX-License-Identifier: Apache-2.0

// One result of a product whose source was quantized while it runs: how exact sums of codes, scales and a bias become
// a float. The integers need no order; the operations in f32 do, and each library has another one. These are the
// definitions; doc/dynamic.md has them as formulas.

#include "common/source_quantizer.hpp"

namespace octet::impl {

enum class combination {
    dynamic_row,           ///< Octet's own, one scale per row and column
    dynamic_group,         ///< Octet's own, scales of groups
    xnnpack,               ///< XNNPACK's qc8w and qc4w from AVX2 on
    xnnpack_unfused,       ///< and before
    xnnpack_groups,        ///< XNNPACK's qb4w with AVX512-VNNI
    xnnpack_groups_avx2,   ///< with AVX2
    xnnpack_groups_sse,    ///< with SSE and AVX
    xnnpack_groups_scalar, ///< in C
    kleidiai,              ///< KleidiAI's qsi8cx and qsi4cx
    kleidiai_groups,       ///< KleidiAI's qsi4c32, packed for kernels of 8 elements
    kleidiai_groups_of_4,  ///< packed for kernels of 4 elements
    litert,                ///< TFLite's hybrid operators
    onnxruntime,           ///< MatMulIntegerToFloat, DynamicQuantizeMatMul
    qnnpack,               ///< PyTorch's dynamic modules, engine qnnpack
    ggml_q8_0,             ///< ggml's C code, weights in q8_0
    ggml_q4_0,             ///< in q4_0
    ggml_q4_1,             ///< in q4_1
    ggml_avx2              ///< ggml's AVX2 code, all three
};

/// A row of the source.
struct product_row {
    const std::int32_t *codes;
    const source_parameters *parameters; ///< one, or one for each group
    bool has_groups;                     ///< as many parameters as groups
    const float *sums = nullptr;         ///< q8_1: one for each group, where the weights have offsets
};

/// A column of the weights.
struct product_column {
    const std::int32_t *codes; ///< minus their zero points
    const float *scales;       ///< one for each group
    const float *offsets = nullptr;
};

/// `k` products in groups of `group`, the last of which may be short; `group` is k where there are none. Without a bias
/// that is null.
float combine(combination order, dim_t k, dim_t group, const product_row &x, const product_column &w,
              const float *bias);

} // namespace octet::impl
