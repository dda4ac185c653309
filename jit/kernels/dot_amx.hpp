#pragma once // SPDX-License-Identifier: Apache-2.0

// The dot kernel (dot.hpp) with its products in tile registers: same packed weights, same arguments, same epilogue,
// same integers.
//
//   accumulators   up to four, 16 rows x 16 columns of sums each: rows x columns are 1 x 1 to 1 x 4, 2 x 1, 2 x 2,
//                  3 x 1 or 4 x 1
//   a step         16 quads of the reduction, 64 bytes of each row: a tile of source rows at their distance in memory,
//                  and 16 rows of packed weights, which lie one after the other
//   finish         sums of a tile are stored on the stack in front of the next tile's first products, 4 KiB that stay
//                  in the first-level cache, and come back as vectors for the epilogue. Its code is emitted for a few
//                  rows among the products of a step, and once by itself, in a loop over the rows that are left: those
//                  of short reductions, and the last tile's
//
// Rows that are no multiple of 16 are halved: the two tiles have the same shape and may share a row, whose sums
// are stored twice. A tile may have several lines of an image, one in each register or several with the positions
// between them, whose sums are no results: two lines of 7 positions are 16 rows of an image that is padded to 9.
// Reductions that are no multiple of a step end in tiles of their own shape, so that no byte is read
// that vectors would not read. Sources may be signed.
//
// Rows may be gathered from an image whose neighbouring rows overlap: while a tile is multiplied, vectors copy the
// pieces of the rows of the tile after the next one into a ring of three tiles, where a row begins a cache line.

#include "jit/base/tile_registers.hpp"
#include "jit/kernels/dot.hpp"

namespace octet::impl::jit {

/// Rows and column vectors of a tile whose accumulators are in tile registers.
constexpr int amx_rows = 16, most_amx_rows = 32, amx_accumulators = tile_shapes::accumulators;
constexpr int most_amx_quads = 16; ///< of a step

/// The rows of a tile in registers, which have equally many. The last one ends with the tile, so that it may share rows
/// or lines with the one before.
struct row_tiles {
    int count = 1;    ///< registers
    int lines = 1;    ///< of a register, of a tile of several lines
    int distance = 0; ///< rows from a line to the next one, as their sums are stored
};
/// `distance` counts the rows from a line to the next one in memory, if registers of `tile_rows` have several.
row_tiles amx_row_tiles(int rows, int tile_rows, int lines = 1, int distance = 0);

/// Steps of equal size where there are such, else steps of 16 quads and a last one.
tile_shapes amx_shapes(int tile_rows, std::int64_t quads);

/// Steps of rows that are gathered: of whole cache lines, but for a last one.
tile_shapes amx_shapes_of_gathered(int tile_rows, std::int64_t quads);
/// Bytes between gathered rows, and between tiles of the ring: behind a tile lies what its last piece writes too much.
constexpr int tiles_of_ring = 3;
constexpr std::int64_t gathered_row_bytes(std::int64_t quads) {
    return (quads * bytes_per_quad + cache_line - 1) / cache_line * cache_line;
}
constexpr std::int64_t gathered_tile_bytes(int rows, std::int64_t quads) {
    return rows * gathered_row_bytes(quads) + cache_line;
}
/// Rows behind those of a call that it gathers too, if the last tile has `rows`.
constexpr int rows_gathered_ahead(int rows) { return (tiles_of_ring - 1) * rows; }

/// Steps of a tile that fetch weights ahead (`dot_spec::lines_ahead`).
std::int64_t amx_fetching_steps(std::int64_t taps, std::int64_t quads);

/// The kernel of a spec whose products are in tiles.
shared_code<dot_args> amx_dot_code(const dot_spec &spec, const epilogue_plan &plan);

} // namespace octet::impl::jit
