#pragma once // SPDX-License-Identifier: Apache-2.0

// A matrix of codes that are quantized in blocks, as ONNX Runtime's MatMulNBits stores it.

#include <algorithm>
#include <string>

#include "octet/types.hpp"

namespace octet::loops {

/// Blocks of `block` neighbours in the reduction have a scale and a zero point for each column.
struct block_shape {
    dim_t inner, columns;
    dim_t block; ///< a power of 2, at least 16
    int bits;    ///< of a code: 2, 4, 8

    dim_t blocks() const { return (inner + block - 1) / block; }
    dim_t codes_in_a_byte() const { return 8 / bits; }
    dim_t column_bytes() const { return blocks() * block / codes_in_a_byte(); }
    dim_t zero_point_bytes() const { return (blocks() * bits + 7) / 8; } ///< of a column
};

inline std::string to_text(const block_shape &s) {
    return std::to_string(s.inner) + " x " + std::to_string(s.columns) + " of " + std::to_string(s.bits) +
           " bits in blocks of " + std::to_string(s.block);
}

/// Codes and zero points lie in bytes, the first of them in the lowest bits.
struct block_weights {
    const std::uint8_t *codes; ///< {columns, blocks, block}
    const float *scales;       ///< {columns, blocks}
    const std::uint8_t *zero_points =
        nullptr; ///< {columns, blocks}, each column in bytes of its own; null: 2^(bits - 1)
};

inline std::uint8_t code_at(const std::uint8_t *bytes, dim_t i, int bits) {
    const dim_t bit = i * bits;
    return static_cast<std::uint8_t>(bytes[bit / 8] >> bit % 8 & ((1 << bits) - 1));
}

inline std::uint8_t zero_point_at(const block_weights &w, const block_shape &s, dim_t column, dim_t block) {
    return w.zero_points ? code_at(w.zero_points + column * s.zero_point_bytes(), block, s.bits)
                         : static_cast<std::uint8_t>(1 << (s.bits - 1));
}

/// Writes (code - zero point) * scale for the `inner` codes of a column.
inline void dequantize_column(const std::uint8_t *codes, const block_weights &w, const block_shape &s,
                              dim_t column, float *y) {
    for (dim_t b = 0; b < s.blocks(); b++) {
        const float scale = w.scales[column * s.blocks() + b];
        const int zero_point = zero_point_at(w, s, column, b);
        for (dim_t k = b * s.block, end = std::min(k + s.block, s.inner); k < end; k++)
            y[k] = static_cast<float>(code_at(codes, k, s.bits) - zero_point) * scale;
    }
}

} // namespace octet::loops
