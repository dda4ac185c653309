#pragma once // SPDX-License-Identifier: Apache-2.0

// ggml's quantized blocks as they lie in a GGUF file: records of codes with their scales, little-endian, without
// padding, one after the other along a row. Reading one gives integers and floats; writing one is what ggml's C
// code does. doc/dynamic.md has the formulas.

#include <array>
#include <cstdint>

#include "common/source_quantizer.hpp"

namespace octet::impl {

enum class block_format { q8_0, q8_1, q4_0, q4_1, q4_k, q6_k };

struct block_facts {
    const char *name; ///< as ggml spells it
    int elements, bytes;
    int group;       ///< elements that share a scale
    bool has_offset; ///< and an offset too
};
const block_facts &facts_of(block_format format);

constexpr int max_block_elements = 256;

/// Element i is codes[i] * scales[i / group], plus offsets[i / group] where the format has any.
struct block_values {
    std::array<std::int8_t, max_block_elements> codes;
    std::array<float, 16> scales, offsets;
};
block_values read_block(block_format format, const std::uint8_t *block);

/// Bytes of a row of `elements`. Throws `invalid_arguments` for a count that is no multiple of a block.
dim_t bytes_of_row(block_format format, dim_t elements);

/// `elements` values in f32; each operation is rounded. Throws as `bytes_of_row` does.
void dequantize_blocks(block_format format, const std::uint8_t *blocks, dim_t elements, float *x);

/// As ggml's C code does; `by` may ask for the AVX2 code's rounding of q8_0 and q8_1. Throws as `bytes_of_row` does.
void quantize_blocks(block_format format, const float *x, dim_t elements, std::uint8_t *blocks,
                     source_quantizer by = source_quantizer::ggml);

} // namespace octet::impl
