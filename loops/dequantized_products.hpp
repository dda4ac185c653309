#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of floats and a matrix of codes that are dequantized on the way, in ONNX Runtime's orders of sums: that of
// a matrix which it packs ahead, and that of one which it dequantizes in each run.

#include <string>
#include <vector>

#include "loops/block_weights.hpp"

namespace octet::loops {

struct dequantized_code;

/// How single numbers become floats.
enum class dequantization {
    of_differences, ///< (q - zero point) * scale
    of_codes        ///< q * scale + (-scale * zero point), each operation rounded
};

/// The order of sums. A single row has lanes: lane i gets elements i, i + lanes, … of the reduction.
enum class dequantized_order {
    packed,  ///< one row: 16 lanes, with fma; several: all of the reduction in order, with fma
    unpacked ///< one row: 8 lanes of rounded products; several: blocks of the reduction in order, with fma
};

/// y = x W + bias: x {rows, inner} floats, W codes with a scale and a zero point for each block, dequantized to floats.
class dequantized_products {
public:
    /// `has_single_rows`: a single row has ONNX Runtime's order for it, else that of several.
    /// `blocks_of` names the block of each element of the reduction; empty: neighbours.
    dequantized_products(const block_shape &s, dequantized_order order, dequantization formula,
                         bool has_single_rows, std::vector<std::int32_t> blocks_of = {});

    /// `float_zero_points` {columns, blocks} are taken instead of those of codes, unless they are null.
    std::size_t packed_bytes() const;
    std::string packed_form() const; ///< equal where `pack` writes the same
    void pack(const block_weights &w, const float *float_zero_points, void *packed) const;

    struct operands {
        const float *x;
        const float *bias; ///< one for each column, or null
        float *y;
        const void *packed; ///< weights, as `pack` left them
    };
    /// On the threads of primitives.
    void run(const operands &o, dim_t rows) const;

private:
    dim_t panels() const { return (shape_.columns + panel_ - 1) / panel_; }
    dim_t scales_of_panel() const { return shape_.blocks() * panel_; }
    dim_t panel_bytes() const;

    block_shape shape_;
    dequantized_order order_;
    dequantization formula_;
    bool has_single_rows_;
    std::vector<std::int32_t> blocks_of_; ///< of each element
    const dequantized_code *code_;
    dim_t panel_; ///< columns that are computed together
};

} // namespace octet::loops
