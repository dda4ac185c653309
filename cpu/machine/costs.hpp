#pragma once // SPDX-License-Identifier: Apache-2.0

// The numbers of a machine that plans count with, in one place: what a core does in a cycle, and how much of its
// caches work in progress may take. They rank the choices of a plan, so ratios between them matter and digits do
// not; no result depends on them. Found with `octet bench` over the tables of doc/performance.md on the machines
// named there, with AVX512-VNNI; all levels use them, for want of a case where other numbers choose better.
// Numbers that a machine tells about itself are in `machine` (common/machine.hpp) instead.

#include <cstdint>

#include "octet/types.hpp"

namespace octet::impl::costs {

// ---- of a tile of the dot kernel, in cycles

/// Two dot products and two loads go into a cycle; a dot product waits for the one of the quad before.
constexpr double per_dot = 0.5, per_load = 0.5, dot_latency = 5;
/// Without a dot-product instruction, of 16-bit words: per quad, row and vector two multiplications and two sums, which
/// compete for the pipes; per row two loads; per vector weights that are made of bytes by shifts, which two pipes take.
constexpr double per_word_products = 1, per_word_loads = 0.25, per_word_weights = 1.5;
constexpr int most_word_vectors = 4;
/// Weights that are words already are made so for each band of rows, which so many tiles are worth. Those of
/// filtered rows take as long as so many products of a row.
constexpr double per_wide_weights = 0.25;
/// Weights of filtered rows, four times as many, come from the second-level cache: what few rows wait for.
constexpr double per_filter_weights = 6;
constexpr dim_t least_wide_tiles = 8, products_per_winograd_tap = 50;
/// Weights that come from beyond the first-level cache, per vector and quad.
constexpr double per_far_weights = 0.05;

/// Behind the reduction: per vector of results, per store, per tile.
struct tile_end {
    double per_vector, per_store, per_tile;
};
constexpr tile_end alone{1, 1.4, 4};
/// The end of a tile that comes among the products of the next tile, which hide most of it.
constexpr tile_end overlapped{0.3, 0.8, 0};

/// In tile registers, as measured on Emerald Rapids (doc/notes/amx.md): a product of 16 rows, 16 columns and
/// 64 bytes, what a row less saves, and the least. Products of one accumulator do not wait for each other.
constexpr double per_tile_product = 16, per_missing_tile_row = 2. / 3, least_tile_product = 9.3;
/// A load of 16 rows from the first-level cache, from the second, past the first, or from farther away, a
/// store, another configuration between products.
constexpr double per_tile_load = 8.4, per_far_tile = 21, per_streamed_tile = 18, per_farthest_tile = 100,
                 per_tile_store = 16, per_tile_configuration = 240;
/// What the first products cost more after more than 1,200 cycles without any, as in front of each execution. After
/// 10 µs it is mostly 4,600, but a plan does not know what else runs.
constexpr double per_tile_gap = 800;
/// Rows a multiple of a way apart are copied to others if they meet so many columns: copying a tile takes 40 to 80
/// cycles, and reading it from the second-level cache 10 more than from the first, for each panel of 32.
constexpr dim_t least_columns_of_copies = 256;
/// Columns of weights beyond the second-level cache that are multiplied with all rows of a band before the next ones.
constexpr dim_t columns_of_chunk = 256;
/// Cache lines of what the program reads next that a step fetches at most: memory gives one in 6 cycles, and a step of
/// four products takes 64.
constexpr int most_next_lines_of_step = 4;
/// Cache lines of weights that are read once from beyond it, fetched ahead of the products.
constexpr int own_lines_ahead = 32;
/// The epilogue of a vector of results, alone and among products.
constexpr double per_tile_result = 2, per_tile_result_beside_products = 3;

/// Fetching a cache line of dst again that was written in part and has left the second-level cache.
constexpr double per_refetched_line = 10;

/// Weights are fetched ahead if there are at least so many bytes, which will not be in the second-level cache when a
/// network comes back to the layer; where at most so many tiles share a panel, since more hide the wait for it; and at
/// least so many rows, since fewer have no time for anything but reading this panel.
constexpr dim_t least_weights_ahead = 64 * 1024, most_tiles_ahead = 64, least_rows_ahead = 8;

/// Rows from 2 to so many whose weights come from memory take the blocks of weights one after the other, as
/// they lie, if a block is at most so long: several streams that end so soon are read at two thirds of the
/// speed of one. Longer blocks push the rows out of the first-level cache meanwhile.
constexpr dim_t most_rows_of_a_stream = 16, longest_block_of_a_stream = 16 * 1024;

// ---- of a whole layer, per cycle of a core

/// Two dot products of 64 bytes; what the second-level cache delivers; 2 cycles for the epilogue of 16 results.
constexpr dim_t products_per_cycle = 128, weight_bytes_per_cycle = 48, results_per_cycle = 8;
/// A depthwise layer takes a patch of taps for 16 channels in about a cycle.
constexpr dim_t depthwise_products_per_cycle = 16;

// ---- of threads, in cycles of the time stamp counter

/// A thread's share of a layer is worth starting a loop from so many times of what that takes, which is measured
/// (`fork_cycles`) within these bounds.
constexpr dim_t forks_per_share = 2, least_fork = 512, usual_fork = 4096, most_fork = 16384;
/// A thread that waits for the next loop spins for some 20 us, then yields; it goes after 1 ms within a phase, else
/// after 0.1 ms.
/// Whoever has not begun or ended his task after so long may have lost his core.
constexpr std::uint64_t absence_cycles = 1 << 12;
constexpr std::uint64_t spin_cycles = 1 << 16, patient_cycles = 3 << 20, impatient_cycles = 3 << 17;

/// If threads share columns, each reads the whole source, which others wrote in part; if they share rows,
/// each reads all weights, which its own caches have or the level that all have. A byte from another core's
/// caches costs as many of those.
constexpr dim_t per_foreign_byte = 8;

// ---- shares of caches, in bytes

/// A first-level cache: ways of its sets, and rows a multiple of a way apart compete for one set.
constexpr dim_t l1_way_bytes = 4096, l1_ways = 8;
/// Bytes that a line of depthwise tiles reads of a chunk of channels, to be there when the next line reads a part.
constexpr dim_t l1_chunk = 24 * 1024;
/// Copied rows that few columns pass over, and how many bytes of weights are few.
constexpr dim_t l1_copied_rows = 16 * 1024, few_weights = 128 * 1024;
/// Bytes that a band of depthwise lines reads, until the last group of blocks is through.
constexpr dim_t l2_depthwise_band = 128 * 1024;
/// A band of dot lines has a part of the second-level cache, whose other parts are weights and results.
constexpr dim_t l2_parts = 4, l2_least_band = 64 * 1024;

} // namespace octet::impl::costs
