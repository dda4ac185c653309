// Panels of the weights are dequantized piece by piece, so that a piece stays in the nearest cache, and multiplied by
// the rows. Each instruction set has its own code with the same bytes: only columns are side by side in a vector.
// SPDX-License-Identifier: Apache-2.0
#include "loops/dequantized_products.hpp"

#include <algorithm>
#include <cstring>

#include "loops/levels.hpp"
#include "loops/plane_products.hpp"
#include "loops/vector_products.hpp"
#include "loops/vectors.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::loops {
namespace {

constexpr dim_t piece = 128;       ///< elements of the reduction that are dequantized together
constexpr dim_t rows_at_once = 64; ///< for which a piece is dequantized once
constexpr int panel_vectors = 2;

} // namespace

/// Some columns of the weights.
struct dequantized_panel {
    dim_t inner, bits;
    const std::int32_t *blocks_of; ///< of each element of the reduction
    const std::uint8_t *codes;
    const float *scales, *zeros; ///< of each block; -zero point, or -scale * zero point
    bool has_differences;        ///< (q + zeros) * scales; else q * scales + zeros
    const float *bias;           ///< null: none
    dim_t sum_block;             ///< of the reduction, whose sum is added to those before
    dim_t lanes;                 ///< of a single row
    bool has_fma;                ///< for a single row
};

struct dequantized_code {
    dim_t width;
    /// `rows` rows of x times a panel, to `y`, which has whole panels.
    void (*multiply_rows)(const dequantized_panel &p, const float *x, dim_t rows, float *y);
    /// The lanes of one row, to `lanes` {lanes, panel}.
    void (*multiply_row)(const dequantized_panel &p, const float *x, float *lanes);
};

namespace {
namespace dequantized {

#define OCTET_FORM "loops/dequantized_products.inl"
#include "loops/forms_of_floats.inl"
#undef OCTET_FORM

} // namespace dequantized

/// The lanes of one column, which lie `step` apart, in order of a matrix that is packed ahead.
float sum_of_16(const float *lanes, dim_t step, bool is_in_fours) {
    float l[16];
    for (dim_t i = 0; i < 16; i++)
        l[i] = lanes[i * step];
    if (is_in_fours) {
        const auto in_order = [&](int i) { return ((l[i] + l[i + 1]) + l[i + 2]) + l[i + 3]; };
        return (in_order(0) + in_order(8)) + (in_order(4) + in_order(12));
    }
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            l[i] += l[i + half];
    return l[0];
}

} // namespace

dequantized_products::dequantized_products(const block_shape &s, dequantized_order order,
                                           dequantization formula, bool has_single_rows,
                                           std::vector<std::int32_t> blocks_of)
    : shape_(s), order_(order), formula_(formula), has_single_rows_(has_single_rows),
      blocks_of_(std::move(blocks_of)), code_(dequantized::code_in_use()),
      panel_(code_->width * panel_vectors) {
    if (blocks_of_.empty())
        for (dim_t k = 0; k < s.inner; k++)
            blocks_of_.push_back(static_cast<std::int32_t>(k / s.block));
}

dim_t dequantized_products::panel_bytes() const {
    return 2 * scales_of_panel() * static_cast<dim_t>(sizeof(float)) + shape_.column_bytes() * panel_;
}

std::size_t dequantized_products::packed_bytes() const {
    return static_cast<std::size_t>(panels() * panel_bytes());
}

std::string dequantized_products::packed_form() const {
    return to_text(shape_) + ", formula " + std::to_string(static_cast<int>(formula_)) + ", panels of " +
           std::to_string(panel_);
}

void dequantized_products::pack(const block_weights &w, const float *float_zero_points, void *packed) const {
    const dim_t blocks = shape_.blocks(), bytes = shape_.column_bytes();
    parallel_loop(panels(), (1 << 16) / (bytes * panel_) + 1, [&](dim_t begin, dim_t end) {
        for (dim_t panel = begin; panel < end; panel++) {
            auto *const scales =
                reinterpret_cast<float *>(static_cast<std::uint8_t *>(packed) + panel * panel_bytes());
            float *const zeros = scales + scales_of_panel();
            auto *const codes = reinterpret_cast<std::uint8_t *>(zeros + scales_of_panel());
            for (dim_t c = 0; c < panel_; c++) {
                const dim_t n = panel * panel_ + c;
                const bool is_there = n < shape_.columns;
                for (dim_t b = 0; b < blocks; b++) {
                    const float scale = is_there ? w.scales[n * blocks + b] : 0.f;
                    const float zero = !is_there           ? 0.f
                                       : float_zero_points ? float_zero_points[n * blocks + b]
                                                           : zero_point_at(w, shape_, n, b);
                    scales[b * panel_ + c] = scale;
                    zeros[b * panel_ + c] =
                        formula_ == dequantization::of_differences ? -zero : -scale * zero;
                }
                for (dim_t i = 0; i < bytes; i++)
                    codes[i * panel_ + c] = is_there ? w.codes[n * bytes + i] : std::uint8_t{0};
            }
        }
    });
}

void dequantized_products::run(const operands &o, dim_t rows) const {
    constexpr dim_t worth = 1 << 17; // products: some 5 us
    constexpr dim_t largest_panel = 16 * panel_vectors;
    const dim_t inner = shape_.inner, columns = shape_.columns;
    const bool is_packed = order_ == dequantized_order::packed;
    const dim_t parts = (rows + rows_at_once - 1) / rows_at_once;
    parallel_loop(panels() * parts, worth / (std::min(rows, rows_at_once) * inner * panel_) + 1,
                  [&](dim_t begin, dim_t end) {
                      for (dim_t i = begin; i < end; i++) {
                          const dim_t panel = i / parts, n = panel * panel_, r = i % parts * rows_at_once;
                          const dim_t count = std::min(panel_, columns - n),
                                      rows_here = std::min(rows_at_once, rows - r);
                          const auto *const scales = reinterpret_cast<const float *>(
                              static_cast<const std::uint8_t *>(o.packed) + panel * panel_bytes());
                          const float *const zeros = scales + scales_of_panel();
                          float bias[largest_panel] = {};
                          if (o.bias)
                              std::copy_n(o.bias + n, count, bias);
                          const dequantized_panel p{
                              inner,
                              shape_.bits,
                              blocks_of_.data(),
                              reinterpret_cast<const std::uint8_t *>(zeros + scales_of_panel()),
                              scales,
                              zeros,
                              formula_ == dequantization::of_differences,
                              o.bias ? bias : nullptr,
                              is_packed ? inner : products_in_block(inner, columns),
                              is_packed ? 16 : 8,
                              is_packed};
                          alignas(64) float results[rows_at_once * largest_panel];
                          if (rows > 1 || !has_single_rows_) {
                              code_->multiply_rows(p, o.x + r * inner, rows_here, results);
                              for (dim_t j = 0; j < rows_here; j++)
                                  std::copy_n(results + j * panel_, count, o.y + (r + j) * columns + n);
                              continue;
                          }
                          code_->multiply_row(p, o.x, results);
                          const dim_t in_fours = columns / 4 * 4, in_twos = columns / 2 * 2;
                          for (dim_t c = 0; c < count; c++) {
                              const bool is_in_fours = n + c < in_fours;
                              const float sum = is_packed ? sum_of_16(results + c, panel_, is_in_fours)
                                                          : add_eight(results + c, panel_,
                                                                      is_in_fours       ? 4
                                                                      : n + c < in_twos ? 2
                                                                                        : 1);
                              o.y[n + c] = is_packed && is_in_fours && !o.bias ? sum : sum + bias[c];
                          }
                      }
                  });
}

} // namespace octet::loops
