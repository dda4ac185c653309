// Rows are rounded first, then panels of the weights are multiplied by them. Each instruction set has its own
// code, with the same bytes: integers are exact, and of floats only columns are side by side in a vector.
// SPDX-License-Identifier: Apache-2.0
#include "loops/block_products.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "loops/codes.hpp"
#include "loops/levels.hpp"
#include "octet/parallel_loop.hpp"

namespace octet::loops {
namespace {

constexpr dim_t largest_block = 256, largest_narrow_block = 128;
constexpr int one_by_one = 0; ///< in place of lanes of a block

float larger_of(float a, float b) { return a > b ? a : b; }

} // namespace

/// A panel of the weights and what its columns have; all but `count` and the result are of whole panels.
struct block_panel {
    const block_order *order;
    dim_t blocks, block_bits; ///< a block has 2^block_bits elements
    dim_t count, in_fours;    ///< columns that there are, and that ONNX Runtime takes in fours
    const std::uint8_t *codes;
    const float *scales;
    const std::uint8_t *zeros;
    dim_t next_block, next_zeros; ///< from the scales of a block to the next one's, and from its zeros
    const float *bias;            ///< null: none
};

/// Rounded rows of x, one behind the other, and the first of their results.
struct block_rows {
    const void *codes;
    dim_t row_codes;
    const float *scales,
        *negative_sums; ///< of each block: of its elements as they are after rounding, or of its codes
    dim_t blocks;       ///< from the scales of a row to the next one's
    float *y;
    dim_t columns; ///< of y
    dim_t odd_row; ///< the last one of an odd number, counted from here; another number: not here
};

struct block_code {
    using multiplication = void (*)(const block_panel &p, block_rows x, dim_t rows);
    /// Code for weights of so many bits; `multiply` for blocks with 2, 4, 8 and more lanes, or with 2 bits for
    /// steps of 4 and 8 quads; or for blocks one by one.
    struct of_bits {
        std::size_t code_bytes; ///< of a rounded element
        void (*round_row)(const block_order &o, const float *x, dim_t inner, dim_t block, void *codes,
                          float *scales, float *negative_sums);
        multiplication multiply_2, multiply_4, multiply_8, multiply_one_by_one;
    };
    dim_t width;
    const char *name;
    of_bits two, four, eight;

    const of_bits &with(int bits) const { return bits == 2 ? two : bits == 4 ? four : eight; }
};

namespace {
namespace blocks {

#define OCTET_FORM "loops/block_products.inl"
#include "loops/forms_of_codes.inl"
#undef OCTET_FORM

} // namespace blocks

/// Four codes as the bytes of an integer.
std::uint32_t four_codes(const std::uint8_t *codes, dim_t place, int bits) {
    std::uint32_t v = 0;
    std::memcpy(&v, codes + place * bits / 2, static_cast<std::size_t>(bits) / 2);
    if (bits <= 4)
        v = bits == 4 ? (v | v << 8) & 0x00ff00ff : (v | v << 12) & 0x000f000f;
    if (bits <= 4)
        v = bits == 4 ? (v | v << 4) & 0x0f0f0f0f : (v | v << 6) & 0x03030303;
    return v;
}

/// Whether all blocks of a column have the same scale and zero point.
bool has_one_block_in_each_column(const block_weights &w, const block_shape &s) {
    for (dim_t n = 0; n < s.columns; n++)
        for (dim_t b = 1; b < s.blocks(); b++)
            if (std::memcmp(w.scales + n * s.blocks(), w.scales + n * s.blocks() + b, sizeof(float)) != 0 ||
                zero_point_at(w, s, n, 0) != zero_point_at(w, s, n, b))
                return false;
    return true;
}

} // namespace

bool block_products::has_order(int bits, dim_t block) { return bits != 2 || (block != 16 && block != 256); }

struct block_products::rounded_rows {
    std::uint8_t *codes;
    float *scales, *negative_sums;
};

block_products::block_products(const block_shape &s, block_sums sums, const block_weights &w)
    : shape_(s), sums_(sums),
      order_(sums == block_sums::one_by_one ? block_order::one_by_one(s.block, s.blocks())
                                            : block_order(s.bits, s.block, s.blocks())),
      code_(blocks::code_in_use()), panel_(code_->width) {
    const bool are_alike = order_.all_blocks == s.blocks() && has_one_block_in_each_column(w, s);
    next_block_ = are_alike ? 0 : panel_;
    panel_scales_ = are_alike ? panel_ : order_.all_blocks * panel_;
    next_zeros_ = w.zero_points ? next_block_ : 0;
    panel_zeros_ = w.zero_points ? panel_scales_ : panel_;
}

dim_t block_products::code_bytes() const { return order_.quads() / shape_.codes_in_a_byte() * panel_ * 4; }

dim_t block_products::panel_bytes() const {
    constexpr dim_t alignment = 64;
    const dim_t bytes = panel_scales_ * static_cast<dim_t>(sizeof(float)) + code_bytes() + panel_zeros_;
    return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t block_products::packed_bytes() const {
    return static_cast<std::size_t>(panels() * panel_bytes());
}

/// The parts of a packed panel.
struct block_products::packed_panel {
    float *scales;
    std::uint8_t *codes, *zeros;
};

block_products::packed_panel block_products::panel_at(void *packed, dim_t i) const {
    auto *const first = static_cast<std::uint8_t *>(packed) + i * panel_bytes();
    auto *const codes = first + panel_scales_ * static_cast<dim_t>(sizeof(float));
    return {reinterpret_cast<float *>(first), codes, codes + code_bytes()};
}

void block_products::pack(const block_weights &w, void *packed) const {
    std::memset(packed, 0, packed_bytes());
    const dim_t blocks = next_block_ == 0 ? 1 : shape_.blocks();
    for (dim_t n = 0; n < shape_.columns; n++) {
        const packed_panel p = panel_at(packed, n / panel_);
        for (dim_t b = 0; b < blocks; b++) {
            p.scales[b * panel_ + n % panel_] = w.scales[n * shape_.blocks() + b];
            p.zeros[b * next_zeros_ + n % panel_] = zero_point_at(w, shape_, n, b);
        }
    }
    pack_codes(w.codes, packed);
}

void block_products::pack_codes(const std::uint8_t *codes, void *panels) const {
    const dim_t in_a_vector = shape_.codes_in_a_byte(), vector_bytes = panel_ * 4;
    const auto group_quads = static_cast<dim_t>(order_.group_quads.size()),
               tail_quads = static_cast<dim_t>(order_.tail_quads.size());
    const dim_t step_quads = order_.steps() == 0 ? 0 : group_quads / order_.steps(), groups = order_.groups;
    const dim_t all_elements = shape_.blocks() * shape_.block;
    parallel_loop(shape_.columns, (1 << 16) / all_elements + 1, [&](dim_t begin, dim_t end) {
        for (dim_t n = begin; n < end; n++) {
            const std::uint8_t *const column = codes + n * shape_.column_bytes();
            std::uint8_t *const packed = panel_at(panels, n / panel_).codes + n % panel_ * 4;
            const auto put = [&](const quad &q, dim_t element, dim_t vector, dim_t part) {
                if (element + q.place * 4 >= all_elements)
                    return;
                std::uint32_t four = four_codes(column, element / 4 + q.place, shape_.bits), all = 0;
                for (int i = q.first; i < q.last; i++)
                    all |= 0xffu << 8 * i;
                std::uint8_t *const at = packed + vector * vector_bytes;
                four = (four & all) << part * shape_.bits;
                std::memcpy(&all, at, sizeof(all));
                all |= four;
                std::memcpy(at, &all, sizeof(all));
            };
            for (dim_t g = 0; g < groups; g++)
                for (dim_t i = 0; i < group_quads; i++) {
                    const dim_t step = i / step_quads, part = i % step_quads;
                    const dim_t place = (step / 8 * groups + g) * 8 + step % 8;
                    put(order_.group_quads[static_cast<std::size_t>(i)], g * order_.group_elements,
                        (place * step_quads + part) / in_a_vector, part % in_a_vector);
                }
            for (dim_t t = 0; t < order_.tails; t++)
                for (dim_t i = 0; i < tail_quads; i++) {
                    const dim_t place = groups * group_quads + t * tail_quads + i;
                    put(order_.tail_quads[static_cast<std::size_t>(i)],
                        (shape_.blocks() - order_.tails + t) * shape_.block, place / in_a_vector,
                        place % in_a_vector);
                }
        }
    });
}

dim_t block_products::row_bytes() const {
    return order_.quads() * 4 * static_cast<dim_t>(code_->with(shape_.bits).code_bytes);
}

block_products::rounded_rows block_products::layout(void *bytes, dim_t rows) const {
    auto *const codes = static_cast<std::uint8_t *>(bytes);
    auto *const scales = reinterpret_cast<float *>(codes + rows * row_bytes());
    return {codes, scales, scales + rows * order_.all_blocks};
}

std::size_t block_products::rounded_bytes(dim_t rows) const {
    const dim_t blocks = order_.all_blocks;
    return static_cast<std::size_t>(rows * (row_bytes() + 2 * blocks * static_cast<dim_t>(sizeof(float))));
}

void block_products::run(const operands &o, dim_t rows) const {
    constexpr dim_t worth_rounding = 1 << 15, worth = 1 << 18; // elements, and products: some 5 us
    constexpr dim_t rows_at_once = 32;                         // stay in the nearest cache with a panel
    const block_code::of_bits &code = code_->with(shape_.bits);
    const rounded_rows x = layout(o.rounded, rows);
    const dim_t inner = shape_.inner, columns = shape_.columns, blocks = order_.all_blocks;
    parallel_loop(rows, worth_rounding / inner + 1, [&](dim_t begin, dim_t end) {
        for (dim_t r = begin; r < end; r++)
            code.round_row(order_, o.x + r * inner, inner, shape_.block, x.codes + r * row_bytes(),
                           x.scales + r * blocks, x.negative_sums + r * blocks);
    });
    const auto multiply = order_.is_one_by_one ? code.multiply_one_by_one
                          : shape_.bits == 2   ? (shape_.block == 128 ? code.multiply_8 : code.multiply_4)
                          : shape_.block == 16 ? code.multiply_2
                          : shape_.block == 32 ? code.multiply_4
                                               : code.multiply_8;
    dim_t block_bits = 0;
    while (dim_t{1} << block_bits < shape_.block)
        block_bits++;
    const dim_t parts = (rows + rows_at_once - 1) / rows_at_once;
    const dim_t products = std::min(rows, rows_at_once) * inner * panel_;
    parallel_loop(panels() * parts, worth / products + 1, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t panel = i / parts, n = panel * panel_, r = i % parts * rows_at_once;
            const dim_t count = std::min(panel_, columns - n);
            float bias[16] = {};
            if (o.bias)
                std::copy_n(o.bias + n, count, bias);
            const packed_panel weights = panel_at(const_cast<void *>(o.packed), panel); // which is only read
            const block_panel p{&order_,
                                shape_.blocks(),
                                block_bits,
                                count,
                                std::clamp<dim_t>(columns / 4 * 4 - n, 0, count),
                                weights.codes,
                                weights.scales,
                                weights.zeros,
                                next_block_,
                                next_zeros_,
                                o.bias ? bias : nullptr};
            multiply(p,
                     {x.codes + r * row_bytes(), row_bytes() / static_cast<dim_t>(code.code_bytes),
                      x.scales + r * blocks, x.negative_sums + r * blocks, blocks, o.y + r * columns + n,
                      columns, sums_ == block_sums::onnxruntime && rows % 2 == 1 ? rows - 1 - r : -1},
                     std::min(rows_at_once, rows - r));
        }
    });
}

const char *block_products::instructions() const { return code_->name; }

std::string block_products::packed_form() const {
    return to_text(shape_) + ", order " + std::to_string(static_cast<int>(sums_)) + ", panels of " +
           std::to_string(panel_);
}

} // namespace octet::loops
