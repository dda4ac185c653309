#pragma once // SPDX-License-Identifier: Apache-2.0

// Products whose float source is quantized while they run. Sums of codes are exact, so two contracts differ in their
// quantizer and in the order of the f32 operations that combine sums and scales; both are attributes.
// doc/dynamic.md has the formulas.

#include "octet/export.hpp"
#include "octet/types.hpp"

namespace octet {
inline namespace v0 {

/// The library whose quantizer it is.
enum class source_quantizer {
    dynamic,     ///< Octet's own
    xnnpack,     ///< XNNPACK's qd8
    kleidiai,    ///< KleidiAI's qai8dx
    litert,      ///< TFLite's hybrid operators
    onnxruntime, ///< DynamicQuantizeLinear
    qnnpack,     ///< PyTorch's dynamic modules, engine qnnpack
    ggml,        ///< q8_0 and q8_1, ggml's C code
    ggml_avx2    ///< q8_0 and q8_1, ggml's AVX2 code
};

/// The zero point: fixed, or chosen for the range of the elements.
enum class source_mode { symmetric, asymmetric };

/// The elements that share a scale and a zero point.
enum class source_span {
    row,    ///< those that one row of dst is computed from
    group,  ///< a stretch of a row: as long as the groups of the weights' scales
    tensor, ///< all: a row's result depends on the other rows
};

/// A quantizer with its choices. Not every one has both modes and both types of codes.
struct source_quantization {
    source_quantizer by = source_quantizer::dynamic; ///< whose rounding and special values
    source_mode mode = source_mode::symmetric;       ///< with zero points, or without
    data_type code = data_type::s8;                  ///< s8 or u8
    source_span span = source_span::row;             ///< elements that share a scale
};

/// The order in which exact sums of codes, scales and a bias become a float.
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

/// The names of enumerators, as for those of octet/types.hpp.
///@{
OCTET_API const char *to_string(source_quantizer by);
OCTET_API const char *to_string(source_mode mode);
OCTET_API const char *to_string(source_span span);
OCTET_API const char *to_string(combination order);
///@}

} // namespace v0
} // namespace octet
