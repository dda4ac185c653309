#pragma once // SPDX-License-Identifier: Apache-2.0

// Products of floats and a constant matrix of codes, in blocks of the reduction: a block of floats is rounded
// to s8 with a scale of its own, so its sums of products are exact integers. Which of them are scaled and
// added up together is AVX512-VNNI's order in ONNX Runtime, whatever the instruction set is.

#include <vector>

#include "octet/types.hpp"

namespace octet::loops {

struct block_code;

/// y = x W: x {rows, inner} floats, W {inner, columns} codes with a scale and an offset for each column, or for each
/// in every block of rows.
class block_products {
public:
    static constexpr dim_t block = 32; ///< elements of a row of x that have one scale
    static constexpr dim_t panel = 16; ///< columns that are computed together

    /// `scales` and `zeros` have a number for each column or, if there are so many, for each column in each
    /// block: y = Σ scale·(codes of x)·W + zero·(sum of x).
    block_products(dim_t inner, dim_t columns, const std::vector<float> &scales,
                   const std::vector<float> &zeros);

    /// Takes W, row-major; its bytes plus `flip`, which is 128 for s8 and 0 for u8, are the u8 codes.
    void pack(const std::uint8_t *codes, std::uint8_t flip);

    struct operands {
        const float *x;
        const float *bias; ///< one for each column, or null
        float *y;
        void *rounded; ///< `rounded_bytes` of scratch, aligned to 64 bytes
    };
    std::size_t rounded_bytes(dim_t rows) const;
    /// On the threads of primitives.
    void run(const operands &o, dim_t rows) const;

    const char *instructions() const; ///< that multiply codes

private:
    struct rounded_rows;

    rounded_rows layout(void *bytes, dim_t rows) const;
    dim_t blocks() const { return (inner_ + block - 1) / block; }
    dim_t panels() const { return (columns_ + panel - 1) / panel; }

    const block_code *code_;
    dim_t inner_, columns_;
    dim_t next_scales_;                 ///< from those of a block to the next one's; 0: all have the same
    std::vector<float> scales_, zeros_; ///< of whole panels
    std::vector<std::uint8_t>
        codes_; ///< [panel][k / 4][column][k % 4], with zeros to whole blocks and panels
};

} // namespace octet::loops
