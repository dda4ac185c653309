#pragma once // SPDX-License-Identifier: Apache-2.0

// The dot kernel: a tile of `rows` source rows times `vectors` column vectors of packed weights, accumulators
// in registers over the whole reduction, finished by the epilogue in the same registers. Convolution, inner
// product and matmul are plans for this one kernel.
//
//   acc(r, c) = Σ over taps t and quads q of
//               dot4(src[r * row_stride + tap_offset(t) + 4q], weights[block(c)][t][q][c % 16])
//
// Weights are blocks of 16 columns; a block is [tap][quad][16 columns][4 bytes of the reduction], so one quad
// is 64 bytes. Four bytes are four codes, or one float (`dot_products`). Source codes are unsigned: a signed
// source arrives with its sign bit flipped and its zero point raised by 128, but where signed bytes can be
// multiplied. Without a dot-product instruction they arrive as 16-bit words of either sign, and a quad of the
// source is 8 bytes; so may weights, whose quads are then 128 bytes. Floats are added in the order of taps and
// quads, each by one fused multiply-add: the definition of their sums.

#include <cstdint>
#include <vector>

#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

constexpr int cache_line = 64; ///< bytes that a prefetch brings

constexpr int bytes_per_quad = 4; ///< of the reduction, per column and row

/// The meaning of a quad, 4 bytes of the reduction.
enum class dot_products {
    codes,        ///< 4 unsigned bytes, times 4 signed ones of each column
    signed_codes, ///< 4 signed bytes, times the same
    grouped_codes, ///< 4 unsigned bytes for each column, which is one of four quads side by side: groups of 4 channels
    floats,      ///< an f32, times one of each column
    own_floats,  ///< an f32 for each column, side by side in the source, times its own: depthwise
    words,       ///< codes of any sign in 16-bit words, two by two: exact without a dot-product instruction
    split_words, ///< the same, a quad's words in the order 0, 2, 1, 3: then weights take fewer instructions
    wide_words, ///< the same of weights that are words too, pair of a quad by pair (`[pair][16 columns][2 words]`)
    winograd_f43, ///< the same, four rows together: neighbouring taps by Winograd's F(4, 3) (dot_words.cpp)
    tiles,        ///< codes in tile registers (dot_amx.hpp)
    signed_tiles, ///< the same with signed ones in the source
};
constexpr bool are_in_tiles(dot_products p) {
    return p == dot_products::tiles || p == dot_products::signed_tiles;
}
constexpr bool have_wide_weights(dot_products p) {
    return p == dot_products::wide_words || p == dot_products::winograd_f43;
}
constexpr bool are_in_words(dot_products p) {
    return p == dot_products::words || p == dot_products::split_words || have_wide_weights(p);
}
/// Quads of a tap of grouped codes, side by side in 16 bytes.
constexpr int grouped_quads = 4;
/// Output rows that share the words of a source row.
constexpr int rows_together(dot_products p) { return p == dot_products::winograd_f43 ? 4 : 1; }
/// Taps that are filtered together, parts of such a source row, and of them those that each pass over it multiplies.
constexpr int winograd_taps = 3, winograd_parts = 6, winograd_parts_of_pass[] = {4, 2};
/// Bytes of the weights that a quad of a source row meets side by side: those of a block of 16 columns or,
/// for filtered rows, of one vector of columns.
constexpr int weights_quad_bytes(dot_products p, int lanes) {
    constexpr int word_quad = 8;
    return p == dot_products::winograd_f43 ? word_quad * winograd_parts * lanes
                                           : (p == dot_products::wide_words ? word_quad : word_quad / 2) * 16;
}

/// Rows [first, end) of a tile.
struct row_range {
    int first = 0, end = 0;
};

/// Rows that a kernel of tile registers gathers while it multiplies the tiles before (dot_amx.hpp): the reduction of a
/// row is some pieces of a padded image, such as the lines of a patch.
struct gathered_rows {
    int pieces = 0; ///< equal parts of a row's quads; 0: rows lie in memory as they are multiplied
    std::int64_t piece_stride = 0; ///< bytes of the image between pieces,
    std::int64_t row_step = 0;     ///< between neighbouring rows of a line
    std::int64_t line_step = 0;    ///< and from the row behind a line to the first one of the next line
    std::int64_t line_rows = 1;
};

/// The rows of a tile in tile registers (`amx_row_tiles`).
struct row_tiling {
    int rows = 0;                 ///< of a register
    int lines = 1;                ///< of an image, equal parts of the tile's rows
    std::int64_t line_stride = 0; ///< bytes between source lines, if there are several
    gathered_rows gathered;       ///< of one register and one tap: `dot_spec::row_stride` is that of the ring
};

/// What is loaded past the first-level cache, which keeps the other meanwhile.
enum class streamed { nothing, rows, weights };

/// How calls of products in tile registers go through memory.
struct tile_order {
    streamed streams = streamed::nothing;
    bool keeps_sums = false; ///< of taps that are parts of one, see `dot_args::sums`; in tiles of one line
    bool fetches_on =
        false; ///< `dot_spec::lines_ahead` of a tile lie one behind the other: no blocks of columns
    int own_lines_ahead = 0; ///< weights are fetched for the first-level cache so many cache lines ahead
};

/// Everything that decides the code.
struct dot_spec {
    instruction_set isa;
    dot_products products = dot_products::codes;
    int rows = 1;
    row_tiling tiling;               ///< in tiles
    tile_order order;                ///< the same
    int vectors = 1;                 ///< column vectors; all but the last are full
    int tail = 1;                    ///< valid lanes of the last vector
    std::int64_t row_stride = 0;     ///< bytes between source rows (`rows_together`)
    std::int64_t part_stride = 0;    ///< of winograd_f43: bytes between the parts of a source row
    std::int64_t dst_row_stride = 0; ///< elements between destination rows
    std::int64_t taps = 1;           ///< of a block of weights; a call may use a range of them
    std::int64_t quads = 1;          ///< per tap
    int columns_of_quad = 0;         ///< of grouped_codes: columns with the same quad are neighbours, so many
    /// Rows that each tap of a line of the kernel multiplies, if these are not all: the others see zeros of padding.
    /// If it is not empty, the taps of a call are whole lines.
    std::vector<row_range> rows_of_tap;
    /// The epilogue of a tile is emitted among the products of the next one, which has accumulators of its
    /// own: for short reductions, of one tap. Calls have steps of source and destination alone.
    bool overlaps_tiles = false;
    /// Cache lines of the weights of a later call that each step of 8 quads fetches ahead, from `dot_args::ahead` on.
    /// In tile registers, of each vector in each step of a tile but the first one and a shorter last one; those of
    /// vectors lie at the distance of their blocks, unless `tile_order::fetches_on`.
    int lines_ahead = 0;
};

/// Arguments of one call: `tiles` tiles of equal shape, one below the other or of one group after the other.
/// The kernel changes them.
struct dot_args {
    const void *src;                 ///< row 0 of the first tile
    const void *weights;             ///< first tap of the first column block
    const std::int32_t *initial;     ///< accumulators to start with, one per column; of floats all bits 0
    const std::uint32_t *params;     ///< parameter vectors of the first column block
    void *dst;                       ///< first row and column
    const void *const *full;         ///< per post-op: the element that `dst` points to (null where unused)
    const std::int32_t *row_sums;    ///< per row, if weights have zero points
    const std::int64_t *tap_offsets; ///< bytes, one per tap
    std::int64_t taps;
    std::int64_t tiles;
    std::uint64_t *configured_tiles; ///< of tile registers: tile_registers_scope
    /// From tile to tile; dst in elements, all others in bytes.
    std::int64_t src_step, weights_step, initial_step, params_step, dst_step, row_sums_step;
    const void *ahead; ///< where fetching ahead begins, for the first tile; need not be readable
    std::int64_t ahead_step;
    // Of tile registers:
    /// Each time that so many tiles are done, the next one is reached by turns in place of steps: tiles are those of
    /// some panels for some rows, before those of the rows below. 0: never.
    std::int64_t tiles_per_turn;
    std::int64_t src_turn, weights_turn, initial_turn, params_turn, dst_turn, row_sums_turn;
    /// Of `tile_order::keeps_sums`: where sums are kept, tile behind tile, for a call with the next taps; null: they
    /// are finished.
    void *sums;
    std::int64_t ahead_turn;
    std::int64_t initial_row_stride; ///< bytes between the rows of `initial` if those are such sums, else 0
    /// Of gathered rows, whose `src` is the first piece of the first row: room for a ring of tiles, at a cache line,
    /// and the rows that are left in the first row's line, itself included.
    void *ring;
    std::int64_t rows_of_line;
};

/// Quads of a step of the reduction, which hide the loop's overhead. A step moves on by 512 bytes in each stream of
/// weights: 2 KiB and more would halve what the second-level cache delivers.
constexpr int quads_per_step = 8;

/// Registers of a level against a tile: the largest number of rows that fits `vectors`, given the epilogue's
/// needs.
int max_rows(instruction_set isa, int vectors, int epilogue_temps,
             dot_products products = dot_products::codes);
/// The largest number of rows of tiles that overlap; 0 without enough registers.
int max_overlapping_rows(instruction_set isa, int vectors, int epilogue_temps,
                         dot_products products = dot_products::codes);
/// Longest reduction of tiles that overlap: longer ones gain little, and their code is not a loop.
constexpr std::int64_t max_overlapping_quads = 16;

/// The kernel of a spec whose products are in vectors.
shared_code<dot_args> dot_code(const dot_spec &spec, const epilogue_plan &plan);

} // namespace octet::impl::jit
