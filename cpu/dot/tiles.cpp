// Tries each number of column vectors with the rows that the registers leave, and takes the tile with the
// fewest estimated cycles: multiplications, loads, stores of results, refetched weights and uneven shares.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/tiles.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/layout/packed.hpp"
#include "cpu/accumulating/work.hpp"
#include "cpu/machine/costs.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

namespace {

/// Stores of byte results per vector: four vectors are packed at a time, a store ends with its row.
double stores_per_vector(int vectors) {
    const double ends_at_fourth = std::gcd(vectors, 4) / 4.0; // of the rows
    return 0.25 + (1 - ends_at_fourth) / vectors;
}

/// Cycles of one tile: two dot products and two loads per cycle; a dot product depends on the one of the quad
/// before. Weights come from beyond the first-level cache if there are many.
///
/// The maximum is the machine's: a quad of the reduction takes rows * vectors products, a broadcast per row
/// and a load per vector of weights; with fewer than 8 to 10 accumulators the two pipes wait for results. The
/// small terms, stores and weights that come from farther away, decide between tiles that are equal so far.
/// Words take so many more instructions that nothing else counts.
double reduction_cycles(jit::dot_products by, int rows, int vectors, dim_t quads) {
    const double products = rows * vectors * costs::per_dot, loads = (rows + vectors) * costs::per_load;
    const double of_bytes = std::max({products, loads, costs::dot_latency});
    const double weights = jit::have_wide_weights(by) ? costs::per_wide_weights : costs::per_word_weights;
    const double per_vector = rows * costs::per_word_products + weights;
    const bool filters = by == jit::dot_products::winograd_f43;
    const double of_words =
        vectors * (filters ? std::max(per_vector, costs::per_filter_weights) : per_vector) +
        rows * costs::per_word_loads;
    return static_cast<double>(quads) *
           ((jit::are_in_words(by) ? std::max(of_words, costs::dot_latency) : of_bytes) +
            vectors * costs::per_far_weights);
}

double vector_tile_cycles(jit::dot_products products, int rows, int vectors, dim_t quads,
                          const costs::tile_end &end) {
    return reduction_cycles(products, rows, vectors, quads) +
           rows * vectors * (end.per_vector + end.per_store * stores_per_vector(vectors)) + end.per_tile;
}

/// Rows of each tile register, in one or two.
int amx_register_rows(int rows) { return static_cast<int>(div_up(rows, div_up(rows, jit::amx_rows))); }

} // namespace

/// Products are in steps of 16 quads. The tile before is finished among all steps but the first.
double amx_tile_cycles(const amx_tile &t) {
    const int tiles = t.registers * t.vectors;
    // Rows come from the second-level cache, weights as well unless the first one keeps them from tile to tile.
    const dim_t weights = t.quads * packed_i_block * packed_o_block * t.vectors;
    const bool are_near = weights <= costs::l1_ways * costs::l1_way_bytes;
    const int missing_rows = jit::amx_rows - t.register_rows;
    const double product = std::max(costs::least_tile_product,
                                    costs::per_tile_product - missing_rows * costs::per_missing_tile_row);
    const double loads = (t.registers + t.vectors) * costs::per_tile_load,
                 far_rows = t.registers * costs::per_far_tile / static_cast<double>(t.uses),
                 far_weights = t.vectors * (t.is_first ? costs::per_farthest_tile
                                            : are_near ? 0
                                                       : costs::per_far_tile);
    const double step = std::max({tiles * product, loads, far_rows + far_weights});
    const auto steps = static_cast<double>(div_up(t.quads, jit::most_amx_quads));
    const int results = t.rows * t.vectors;
    const double hidden =
        std::min<double>(results, (steps - 1) * step / costs::per_tile_result_beside_products);
    return steps * step + tiles * (costs::per_tile_load + costs::per_tile_store) +
           (results - hidden) * costs::per_tile_result;
}

double tile_cycles(jit::dot_products products, int rows, int vectors, dim_t quads, bool overlap) {
    return jit::are_in_tiles(products) ? amx_tile_cycles({rows, static_cast<int>(div_up(rows, jit::amx_rows)),
                                                          amx_register_rows(rows), vectors, quads})
                                       : vector_tile_cycles(products, rows, vectors, quads,
                                                            overlap ? costs::overlapped : costs::alone);
}

dim_t planned_quads(jit::dot_products products, dim_t taps, dim_t quads) {
    constexpr dim_t step = jit::most_amx_quads;
    return taps * (jit::are_in_tiles(products)                    ? div_up(quads, step) * step
                   : products == jit::dot_products::grouped_codes ? div_up(quads, dim_t{jit::grouped_quads})
                                                                  : quads);
}

namespace {

double line_cycles(jit::dot_products products, dim_t length, int rows, int vectors, dim_t quads,
                   bool overlap) {
    const int tail = static_cast<int>(length % rows);
    const bool differs = jit::are_in_tiles(products) && tail && tail < amx_register_rows(rows);
    return static_cast<double>(length / rows) * tile_cycles(products, rows, vectors, quads, overlap) +
           (tail ? tile_cycles(products, tail, vectors, quads, false) : 0) +
           (differs ? 2 * costs::per_tile_configuration : 0);
}

/// Rows at this distance that the first-level cache holds beside the weights: rows a multiple of 4 KiB apart
/// compete for the ways of the same sets.
dim_t rows_without_conflict(dim_t row_stride) {
    return row_stride == 0
               ? std::numeric_limits<dim_t>::max()
               : costs::l1_ways * (costs::l1_way_bytes / std::gcd(row_stride, costs::l1_way_bytes));
}

/// Fetching cache lines of dst that were written in part and have left the second-level cache.
double refetch_cycles(dim_t length, dim_t panel_bytes, dim_t columns) {
    constexpr dim_t line = 64;
    const bool splits_lines = panel_bytes < columns && panel_bytes % line != 0;
    return splits_lines ? static_cast<double>(length * (columns / panel_bytes)) * costs::per_refetched_line
                        : 0;
}

/// Time that threads lose because shares are uneven, as a factor.
double imbalance(const sharing &s, dim_t row_tiles, dim_t panels) {
    return s.threads *
           busiest_share(s.lines * (s.splits_lines ? row_tiles : 1), s.groups * panels, s.threads);
}

/// See costs::most_rows_of_a_stream.
bool takes_one_stream(jit::dot_products products, dim_t length, dim_t quads, const tile_memory &memory) {
    const bool by_dot = products == jit::dot_products::codes || products == jit::dot_products::signed_codes;
    return by_dot && memory.are_weights_beyond_caches && length > 1 &&
           length <= costs::most_rows_of_a_stream &&
           quads * packed_i_block * packed_o_block <= costs::longest_block_of_a_stream;
}

/// A panel's last block is reached by a displacement, which has 32 bits.
bool reaches_block(dim_t block, dim_t block_bytes) {
    constexpr dim_t most = int32_max - (1 << 16);
    return block <= most / std::max<dim_t>(1, block_bytes);
}

} // namespace

tile_plan plan_tiles(instruction_set isa, dim_t length, dim_t columns, dim_t quads, int epilogue_temps,
                     const sharing &shares, const tile_memory &memory, jit::dot_products products) {
    const int lanes = isa.lanes();
    const dim_t vectors = div_up(columns, lanes);
    const int vectors_per_block = static_cast<int>(packed_o_block) / lanes;
    tile_plan best;
    double best_cycles = std::numeric_limits<double>::max();
    const bool in_tiles = jit::are_in_tiles(products);
    const int together = jit::rows_together(products);
    const auto consider = [&](int width, int limit, bool overlap) {
        const dim_t tiles = div_up(length, std::min<dim_t>(limit, length));
        // Tiles share the rows evenly, since a last one of few rows waits for each of its sums.
        const int rows =
            overlap ? limit : static_cast<int>(div_up(div_up(length, tiles), together) * together);
        const int last = static_cast<int>(vectors % width);
        const double work = static_cast<double>(vectors / width) *
                                line_cycles(products, length, rows, width, quads, overlap) +
                            (last ? line_cycles(products, length, rows, last, quads, overlap) : 0) +
                            (memory.is_dst_beyond_l2 ? refetch_cycles(length, width * lanes, columns) : 0);
        const double cycles = work * imbalance(shares, tiles, div_up(vectors, width));
        if (cycles >= best_cycles)
            return;
        best.cycles = best_cycles = cycles;
        best.rows = rows;
        best.register_rows = in_tiles ? amx_register_rows(rows) : 0;
        best.tail_rows = static_cast<int>(length % rows);
        best.vectors = width;
        best.last_vectors = last;
        best.panels = div_up(vectors, width);
        best.blocks_per_panel = div_up(width, vectors_per_block);
        best.overlap = overlap;
    };
    const auto is_within_reach = [&](int width) {
        return reaches_block((width - 1) / vectors_per_block,
                             quads * jit::weights_quad_bytes(products, lanes));
    };
    const bool may_overlap = shares.may_overlap && quads <= jit::max_overlapping_quads;
    if (in_tiles && memory.are_rows_gathered) { // as few panels as there can be, since each gathers the rows
        const dim_t panels = div_up(vectors, dim_t{jit::amx_accumulators});
        consider(static_cast<int>(div_up(vectors, panels)), jit::amx_rows, false);
    } else if (in_tiles) // a step's products need less than four accumulators nowhere, and there are no more
        for (const int limit : {jit::most_amx_rows, jit::amx_rows})
            for (int v = 1; v <= jit::amx_accumulators * jit::amx_rows / limit && is_within_reach(v); v++)
                consider(static_cast<int>(std::min<dim_t>(v, vectors)), limit, false);
    // 12 vectors leave registers for one row; wider panels would only have fewer tasks to share. Of words,
    // wider ones gain nothing and their streams of weights are more than arrive in time.
    const int widest =
        products == jit::dot_products::winograd_f43 || takes_one_stream(products, length, quads, memory)
            ? vectors_per_block
        : jit::are_in_words(products) ? costs::most_word_vectors
                                      : 12;
    for (int v = vectors_per_block; v <= widest && !in_tiles;
         v += vectors_per_block) { // panels hold whole blocks
        const int width = static_cast<int>(std::min<dim_t>(v, vectors));
        const int limit = static_cast<int>(std::min<dim_t>(
            jit::max_rows(isa, width, epilogue_temps, products), rows_without_conflict(memory.row_stride)));
        if (limit < 1 || !is_within_reach(width))
            break;
        consider(width, limit, false);
        const int overlapping =
            std::min(limit, jit::max_overlapping_rows(isa, width, epilogue_temps, products));
        // The first tile's products and the last one's epilogue overlap with nothing: few tiles gain nothing.
        if (may_overlap && overlapping > 0 && length >= 4 * overlapping)
            consider(width, overlapping, true);
        if (width == vectors)
            break;
    }
    best.tail = static_cast<int>(columns - (vectors - 1) * lanes);
    return best;
}

namespace {

/// Cycles of all columns of an image.
double image_cycles(const short_lines &l, const tile_plan &t, dim_t quads) {
    const auto cycles = [&](int rows, int vectors, bool is_first) {
        const int register_rows = t.register_rows_of(rows);
        const jit::row_tiles in = jit::amx_row_tiles(rows, register_rows, t.lines_of(rows), t.line_distance);
        return amx_tile_cycles({rows, in.count, register_rows, vectors, quads, l.uses, is_first});
    };
    const bool differs = t.tail_rows && t.register_rows_of(t.tail_rows) < t.register_rows;
    const dim_t later_tiles = l.count / t.lines - 1;
    const auto panel = [&](int vectors) {
        return cycles(t.rows, vectors, l.are_weights_beyond_l2) +
               static_cast<double>(later_tiles) * cycles(t.rows, vectors, false) +
               (t.tail_rows ? cycles(t.tail_rows, vectors, false) : 0) +
               (differs ? 2 * costs::per_tile_configuration : 0);
    };
    return static_cast<double>(t.panels - (t.last_vectors ? 1 : 0)) * panel(t.vectors) +
           (t.last_vectors ? panel(t.last_vectors) : 0);
}

} // namespace

int tile_plan::register_rows_of(int tile_rows) const {
    const int all = lines > 1 ? (lines_of(tile_rows) - 1) * line_distance + rows / lines : tile_rows;
    return std::min(all, register_rows);
}

tile_plan join_lines(const tile_plan &line_tiles, const short_lines &lines, dim_t columns, dim_t quads,
                     const sharing &shares) {
    const auto length = static_cast<int>(lines.length);
    if (line_tiles.register_rows == 0 || length > jit::amx_rows)
        return line_tiles;
    const dim_t vectors = div_up(columns, packed_o_block), images = shares.lines / lines.count;
    tile_plan best = line_tiles;
    double best_cycles = std::numeric_limits<double>::max();
    const auto consider = [&](int together, int registers, int width) {
        tile_plan t = line_tiles;
        t.lines = static_cast<int>(std::min({dim_t{together} * registers, lines.count, lines.most}));
        t.line_distance = together > 1 && t.lines > 1 ? static_cast<int>(lines.distance) : 0;
        t.rows = t.lines * length;
        t.tail_rows = static_cast<int>(lines.count % t.lines) * length;
        t.register_rows = (std::min(together, t.lines) - 1) * t.line_distance + length;
        t.vectors = width;
        t.last_vectors = static_cast<int>(vectors % width);
        t.panels = div_up(vectors, width);
        t.blocks_per_panel = width;
        const double cycles =
            image_cycles(lines, t, quads) *
            imbalance({shares.threads, images * div_up(lines.count, t.lines), shares.groups}, 1, t.panels);
        if (cycles < best_cycles) {
            best_cycles = cycles;
            best = t;
        }
    };
    for (int registers = 1; registers <= jit::amx_accumulators; registers++)
        for (int v = 1; v <= std::min<dim_t>(jit::amx_accumulators / registers, vectors); v++)
            if (reaches_block(v - 1, quads * packed_i_block * packed_o_block))
                consider(1, registers, v);
    // Lines with gaps between them are finished one at a time, in code for a few vectors.
    for (int together = 2; lines.distance > 0 && length + (together - 1) * lines.distance <= jit::amx_rows;
         together++)
        for (int registers = 1; registers <= jit::amx_accumulators; registers++)
            consider(together, registers, 1);
    return best.lines > 1 ? best : line_tiles;
}

} // namespace octet::impl
