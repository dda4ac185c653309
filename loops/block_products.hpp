#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of floats and a constant matrix of codes, in blocks of the reduction: a block of floats is rounded
// to s8 with a scale of its own, so its sums of products are exact integers. Which of them are scaled and
// added up together is an order of block_order.hpp, whatever the instruction set is.

#include <string>

#include "loops/block_order.hpp"
#include "loops/block_weights.hpp"

namespace octet::loops {

struct block_code;

/// Orders of sums.
enum class block_sums {
    onnxruntime,
    without_odd_rows, ///< ONNX Runtime's, but the last row of an odd number has the order of the others
    one_by_one        ///< one fma for each block, in ascending order: combine(dynamic_group) of src/common
};

/// y = x W: x {rows, inner} floats, W codes with a scale and a zero point for each block.
class block_products {
public:
    /// Whether ONNX Runtime has an order for blocks of this size: none for 2 bits in blocks of 16 and 256.
    static bool has_order(int bits, dim_t block);
    /// Whether the last row of an odd number has an order of its own.
    static bool depends_on_row(int bits, dim_t block) {
        return block_order(bits, block, 1).sum == lane_sum::in_order_if_odd_row;
    }

    /// Of the weights, only scales and zero points are read. They take less memory where all blocks of a column have
    /// the same, and zero points where there are none.
    block_products(const block_shape &s, block_sums sums, const block_weights &w);

    std::size_t packed_bytes() const;
    std::string packed_form() const; ///< equal where `pack` writes the same
    /// `packed` is aligned to 64 bytes.
    void pack(const block_weights &w, void *packed) const;

    struct operands {
        const float *x;
        const float *bias; ///< one for each column, or null
        float *y;
        const void *packed; ///< weights, as `pack` left them
        void *rounded;      ///< `rounded_bytes` of scratch, aligned to 64 bytes
    };
    std::size_t rounded_bytes(dim_t rows) const;
    /// On the threads of primitives.
    void run(const operands &o, dim_t rows) const;

    const char *instructions() const; ///< that multiply codes

private:
    struct rounded_rows;
    struct packed_panel;

    packed_panel panel_at(void *packed, dim_t i) const;
    rounded_rows layout(void *bytes, dim_t rows) const;
    void pack_codes(const std::uint8_t *codes, void *panels) const;
    dim_t code_bytes() const;  ///< of a panel
    dim_t panel_bytes() const; ///< of its scales, codes and zero points, one behind the other
    dim_t panels() const { return (shape_.columns + panel_ - 1) / panel_; }
    dim_t row_bytes() const; ///< of the codes of a rounded row

    block_shape shape_;
    block_sums sums_;
    block_order order_;
    const block_code *code_;
    dim_t panel_;                    ///< columns that are computed together, as many as a vector has lanes
    dim_t next_block_;               ///< from the scales of a block to the next one's; 0: all have the same
    dim_t panel_scales_;             ///< of a panel, [block][column]
    dim_t next_zeros_, panel_zeros_; ///< likewise of zero points
};

} // namespace octet::loops
