// Rows are rounded first, then panels of the weights are multiplied by them. Each instruction set has its own
// code, with the same bytes: integers are exact, and of floats only columns are side by side in a vector.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "loops/block_products.hpp"
#include "loops/codes.hpp"
#include "loops/levels.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::loops {
namespace {

constexpr dim_t block_size = block_products::block, panel_columns = block_products::panel;

float larger_of(float a, float b) { return a > b ? a : b; }

} // namespace

/// A panel of the weights and what its columns have; all but `count` and the result are of whole panels.
struct block_panel {
    dim_t blocks, count;
    const std::uint8_t *codes;
    const float *scales, *zeros;
    dim_t next_scales; ///< from the scales and zeros of a block to the next one's
    const float *bias; ///< null: none
};

/// Rounded rows of x, one behind the other, and the first of their results.
struct block_rows {
    const void *codes;
    const float *scales, *sums; ///< of each block; the sum is of its elements as they are after rounding
    float *y;
    dim_t columns; ///< of y
};

struct block_code {
    std::size_t code_bytes; ///< of a rounded element
    const char *name;
    void (*round_row)(const float *x, dim_t inner, void *codes, float *scales, float *sums);
    void (*multiply)(const block_panel &p, block_rows x, dim_t rows);
};

namespace {
namespace blocks {

#define OCTET_FORM "loops/block_products.inl"
#include "loops/forms_of_codes.inl"
#undef OCTET_FORM

} // namespace blocks
} // namespace

struct block_products::rounded_rows {
    std::uint8_t *codes;
    float *scales, *sums;
};

block_products::block_products(dim_t inner, dim_t columns, const std::vector<float> &scales,
                               const std::vector<float> &zeros)
    : code_(blocks::code_in_use()), inner_(inner), columns_(columns),
      next_scales_(static_cast<dim_t>(scales.size()) > columns ? panels() * panel : 0) {
    const auto padded = [&](const std::vector<float> &values) {
        std::vector<float> result;
        for (auto row = values.begin(); row != values.end(); row += columns) {
            result.insert(result.end(), row, row + columns);
            result.resize(result.size() + static_cast<std::size_t>(panels() * panel - columns));
        }
        return result;
    };
    scales_ = padded(scales);
    zeros_ = padded(zeros);
}

void block_products::pack(const std::uint8_t *codes, std::uint8_t flip) {
    const dim_t panel_bytes = blocks() * block * panel;
    codes_.assign(static_cast<std::size_t>(panels() * panel_bytes), 0);
    for (dim_t n = 0; n < columns_; n += panel) {
        std::uint8_t *const packed = codes_.data() + n / panel * panel_bytes;
        const dim_t count = std::min(panel, columns_ - n);
        for (dim_t k = 0; k < inner_; k++)
            for (dim_t c = 0; c < count; c++)
                packed[k / 4 * panel * 4 + c * 4 + k % 4] =
                    static_cast<std::uint8_t>(codes[k * columns_ + n + c] ^ flip);
    }
}

block_products::rounded_rows block_products::layout(void *bytes, dim_t rows) const {
    auto *const codes = static_cast<std::uint8_t *>(bytes);
    auto *const scales =
        reinterpret_cast<float *>(codes + rows * blocks() * block * static_cast<dim_t>(code_->code_bytes));
    return {codes, scales, scales + rows * blocks()};
}

std::size_t block_products::rounded_bytes(dim_t rows) const {
    return static_cast<std::size_t>(rows * blocks()) *
           (static_cast<std::size_t>(block) * code_->code_bytes + 2 * sizeof(float));
}

void block_products::run(const operands &o, dim_t rows) const {
    constexpr dim_t worth_rounding = 1 << 15, worth = 1 << 18; // elements, and products: some 5 us
    constexpr dim_t rows_at_once = 32;                         // stay in the nearest cache with a panel
    const rounded_rows x = layout(o.rounded, rows);
    const dim_t row_codes = blocks() * block * static_cast<dim_t>(code_->code_bytes);
    parallel_loop(rows, worth_rounding / inner_ + 1, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            code_->round_row(o.x + r * inner_, inner_, x.codes + r * row_codes, x.scales + r * blocks(),
                             x.sums + r * blocks());
    });
    const dim_t parts = (rows + rows_at_once - 1) / rows_at_once;
    const dim_t products = std::min(rows, rows_at_once) * inner_ * panel;
    parallel_loop(panels() * parts, worth / products + 1, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t n = i / parts * panel, r = i % parts * rows_at_once;
            const dim_t count = std::min(panel, columns_ - n);
            float bias[panel] = {};
            if (o.bias)
                std::copy_n(o.bias + n, count, bias);
            const block_panel p{blocks(),
                                count,
                                codes_.data() + n * blocks() * block,
                                scales_.data() + n,
                                zeros_.data() + n,
                                next_scales_,
                                o.bias ? bias : nullptr};
            code_->multiply(p,
                            {x.codes + r * row_codes, x.scales + r * blocks(), x.sums + r * blocks(),
                             o.y + r * columns_ + n, columns_},
                            std::min(rows_at_once, rows - r));
        }
    });
}

const char *block_products::instructions() const { return code_->name; }

} // namespace octet::loops
