#pragma once // SPDX-License-Identifier: Apache-2.0

// Cuts a line of rows into the tiles that take the fewest cycles by an estimate of a core's work. The estimate
// ranks tiles and divides work among threads; no result depends on it.

#include "common/machine.hpp"
#include "jit/kernels/dot.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// Tiles of one line of `length` rows and one stored group of columns.
struct tile_plan {
    int rows = 1,
        tail_rows = 0;     ///< all tiles but the last of a line (several lines: of an image) have `rows`
    int register_rows = 0; ///< of a tile register, where products are in such; else 0
    int lines = 1;         ///< whole ones that a tile has, all but the last one of an image
    int line_distance = 0; ///< rows from a line to the next one, if registers have several; else 0
    int vectors = 1,
        last_vectors = 0;       ///< column vectors of a panel; of the last panel if it is narrower (else 0)
    int tail = 1;               ///< valid lanes of the last vector
    dim_t panels = 1;           ///< per stored group, the narrower one included
    dim_t blocks_per_panel = 1; ///< 16-column blocks
    bool overlap = false;       ///< see dot_spec
    double cycles = 0;          ///< estimate for all of a line, threads' unevenness included

    int vectors_of(bool is_last_panel) const {
        return is_last_panel && last_vectors ? last_vectors : vectors;
    }
    int lines_of(int tile_rows) const { return lines > 1 ? tile_rows * lines / rows : 1; }
    /// Rows of a tile register in tiles of so many rows: all tiles, or the last ones.
    int register_rows_of(int tile_rows) const;
};

/// Cycles of a tile over a reduction of `quads`, as `planned_quads` counts them.
double tile_cycles(jit::dot_products products, int rows, int vectors, dim_t quads, bool overlap);

/// What a tile in tile registers does: its rows are in `registers` of `register_rows`.
struct amx_tile {
    int rows = 1, registers = 1, register_rows = 1, vectors = 1;
    dim_t quads = 1;
    dim_t uses = 1;        ///< of a row by neighbouring taps, which find it in the first-level cache
    bool is_first = false; ///< that reads weights beyond the second-level cache
};
double amx_tile_cycles(const amx_tile &t);

/// Quads of a reduction that count for its time: in tile registers each tap begins a step.
dim_t planned_quads(jit::dot_products products, dim_t taps, dim_t quads);

/// Threads share the panels of one stored group, and besides them lines: whole lines, or the tiles of a line.
struct sharing {
    int threads = 1;
    dim_t lines = 1, groups = 1;
    bool splits_lines = false;
    bool may_overlap = false; ///< tiles, as far as taps, groups and zero points are concerned
};
/// The distances and sizes that decide which lines tiles find in the caches, if rows are at one distance.
struct tile_memory {
    dim_t row_stride = 0;          ///< bytes between source rows; 0: not known
    bool is_dst_beyond_l2 = false; ///< so that a cache line which two panels write is fetched twice
    bool are_weights_beyond_caches = false;
    bool are_rows_gathered = false; ///< in tile registers, one of them
};
tile_plan plan_tiles(instruction_set isa, dim_t length, dim_t columns, dim_t quads, int epilogue_temps,
                     const sharing &shares = {}, const tile_memory &memory = {},
                     jit::dot_products products = jit::dot_products::codes);

/// Lines of an image, of which a tile may have several: so that tiles of weights are multiplied with more rows than a
/// short line has.
struct short_lines {
    dim_t count = 1, length = 1;
    dim_t distance = 0; ///< rows from a line to the next one in memory; 0: not at the distance of rows
    dim_t uses = 1;     ///< see amx_tile
    dim_t most = 1;     ///< lines within reach of a displacement
    bool are_weights_beyond_l2 = false;
};
/// `line_tiles` in tile registers, or better ones of several lines.
tile_plan join_lines(const tile_plan &line_tiles, const short_lines &lines, dim_t columns, dim_t quads,
                     const sharing &shares);
} // namespace octet::impl
