#pragma once // SPDX-License-Identifier: Apache-2.0

// The kernel of products whose reduction has groups with scales of their own: sums of codes are exact integers within
// a group; per group they are scaled and added to the result, in ascending order, mostly by one fused multiply-add.
// `group_order` says how; cpu/group_products/orders.cpp has the orders of common/combination.hpp as its values.
//
//   acc(r, c, g) = Σ x q  -  z Σ x  -  z_x Σ (q - z)       q: unsigned codes of weights, z: their zero point
//
// The first term is the products. The second one is, where all columns have the same z, a number of the row and the
// group, which accumulators begin with. Both others are columns' numbers times rows', where there are zero points.
// Codes of the source are signed bytes, or words without their zero point (`group_codes`).
//
// Weights are blocks of 16 columns. A block has a record for each group:
//
//   codes         [quad][16 columns][4 codes]; of 4 bits, byte [pair of quads][16 columns][4] has the code of the first
//                 quad in the lower half and that of the second one in the upper half
//   scales        [16] f32
//   sums          [16] s32, Σ (q - z), if sources have zero points
//   zero points   [16] s32, if there are any
//
// A row of the source is a record for each group, too: codes, then `group_row`. Groups are padded with zeros to whole
// pairs of quads, the last one to the length of the others. Some orders take zero points of the source as a product in
// f32: behind the records, a block has [16] f32, Σ s (q - z) over all groups, and a row a f32, its zero point.
//
// An order may have several results, lanes, which take turns with the groups; each lane of a group of weights is a
// group here.

#include <cstdint>

#include "common/machine.hpp"
#include "common/rounding.hpp"
#include "jit/base/finished_code.hpp"

namespace octet::impl::jit {

enum class group_codes {
    bytes, ///< signed bytes of the source, weights of 8 bits: vpdpbusd
    words, ///< words of the source, 0, 2, 1, 3 of each quad, weights of 8 bits: vpmaddwd
    nibbles, ///< signed bytes of the source, weights of 4 bits: vpdpbusd, or vpmaddubsw, whose sums can't saturate here
};
constexpr group_codes group_codes_of(instruction_set isa, int weight_bits) {
    if (weight_bits == 4)
        return group_codes::nibbles;
    return isa.has_dot4() || !isa.has_vectors() ? group_codes::bytes : group_codes::words;
}

/// What a row has for a group.
struct group_row {
    float scale;                   ///< of the row, if groups have none
    std::int32_t initial;          ///< -z Σ x, if all columns have the same z
    std::int32_t minus_zero_point; ///< of the source
    std::int32_t minus_sum;        ///< -Σ x
};

/// Where things lie in the record of a group.
struct group_layout {
    group_codes codes;
    std::int64_t elements; ///< a multiple of 8
    bool has_sums = false, has_zero_points = false;
    bool has_scaled_sums = false; ///< behind all records

    static constexpr int columns = 16, vector_bytes = 4 * columns; ///< of a block
    static constexpr std::int64_t padded(std::int64_t group) { return (group + 7) / 8 * 8; }

    constexpr std::int64_t quads() const { return elements / 4; }
    constexpr std::int64_t quad_bytes() const { return codes == group_codes::nibbles ? 32 : 64; }
    constexpr std::int64_t scales() const { return quads() * quad_bytes(); } ///< offsets
    constexpr std::int64_t sums() const { return scales() + vector_bytes; }
    constexpr std::int64_t zero_points() const { return sums() + (has_sums ? vector_bytes : 0); }
    constexpr std::int64_t record_bytes() const {
        return zero_points() + (has_zero_points ? vector_bytes : 0);
    }
    constexpr std::int64_t source_quad_bytes() const { return codes == group_codes::words ? 8 : 4; }
    constexpr std::int64_t source_row() const {
        return quads() * source_quad_bytes();
    } ///< offset of `group_row`
    constexpr std::int64_t source_bytes() const {
        return source_row() + static_cast<std::int64_t>(sizeof(group_row));
    }
    constexpr std::int64_t block_bytes(std::int64_t groups) const {
        return groups * record_bytes() + (has_scaled_sums ? vector_bytes : 0);
    }
    constexpr std::int64_t row_bytes(std::int64_t groups) const {
        return groups * source_bytes() + (has_scaled_sums ? static_cast<std::int64_t>(sizeof(float)) : 0);
    }
};

/// What multiplies the sum of a group.
enum class group_scale {
    of_weights, ///< the scale of the column
    product,    ///< the product of it and the row's
    in_turn     ///< first that of the column, then that of the row
};
/// Where the row's zero point times the column's `Σ s (q - z)` is added.
enum class zero_point_term { none, first, last };
/// How the row's scale multiplies the result.
enum class row_scale {
    none,
    product, ///< before the bias is added
    fused    ///< and adds the bias
};

/// How sums of groups and their scales become a result.
struct group_order {
    group_scale scale = group_scale::of_weights;
    bool is_fused = true; ///< a multiply-add into the result; else two operations
    row_scale row = row_scale::fused;
    zero_point_term zero_point = zero_point_term::none;
    bool begins_with_bias = false;
    bool adds_absent_bias = false; ///< as +0
    int lanes = 1;                 ///< 1, or 4, added in pairs
};

/// Everything that decides the code.
struct group_dot_spec {
    instruction_set isa;
    group_layout layout;
    group_order order;
    bool has_initial = false; ///< `group_row::initial` is not always 0
    bool has_bias = false;
    int rows = 1;
    int vectors = 1;         ///< of columns; all but the last are full
    int tail = 1;            ///< valid lanes of the last vector
    std::int64_t groups = 1; ///< a multiple of the order's lanes
};

/// A tile of rows and columns, over all groups.
struct group_dot_args {
    const void *src;     ///< first record of the first row
    const void *weights; ///< first record of the first block
    const float *bias;   ///< of the first column
    float *dst;
    std::int64_t dst_stride; ///< bytes from row to row
};

/// The kernel of a spec; isa has vectors.
shared_code<const group_dot_args> group_dot_code(const group_dot_spec &spec);

/// The largest tile of a level, for so many rows.
struct group_tile {
    int rows, vectors;
};
group_tile largest_group_tile(instruction_set isa, std::int64_t rows);

} // namespace octet::impl::jit
