#pragma once // SPDX-License-Identifier: Apache-2.0

// Cuts a line of rows into the tiles that take the fewest cycles by an estimate of a core's work. The estimate
// ranks tiles and divides work among threads; no result depends on it.

#include "common/machine.hpp"
#include "jit/kernels/dot.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// Tiles of one line of `length` rows and one stored group of columns.
struct tile_plan {
    int rows = 1, tail_rows = 0; ///< all tiles but the last of a line have `rows`
    int register_rows = 0;       ///< of a tile register, where products are in such; else 0
    int vectors = 1,
        last_vectors = 0;       ///< column vectors of a panel; of the last panel if it is narrower (else 0)
    int tail = 1;               ///< valid lanes of the last vector
    dim_t panels = 1;           ///< per stored group, the narrower one included
    dim_t blocks_per_panel = 1; ///< 16-column blocks
    bool overlap = false;       ///< see dot_spec
    double cycles = 0;          ///< estimate for all of a line, threads' unevenness included
};

/// Cycles of a tile over a reduction of `quads`, as `planned_quads` counts them.
double tile_cycles(jit::dot_products products, int rows, int vectors, dim_t quads, bool overlap);

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
};
tile_plan plan_tiles(instruction_set isa, dim_t length, dim_t columns, dim_t quads, int epilogue_temps,
                     const sharing &shares = {}, const tile_memory &memory = {},
                     jit::dot_products products = jit::dot_products::codes);
} // namespace octet::impl
