// Rows outside and the weights of many panels inside, while rows stay in the first-level cache and weights in
// the second one; else a panel outside and all rows inside. Whatever passes meanwhile is loaded past the
// first-level cache. Weights beyond the second-level cache are taken in chunks, and the next chunk is fetched
// while this one is multiplied.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cpu/dot/plan.hpp"
#include "cpu/machine/costs.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

namespace {

constexpr dim_t l1_bytes = costs::l1_ways * costs::l1_way_bytes;

dim_t reduction_bytes(const dot_plan &p) { return p.taps * p.quads * packed_i_block; }

/// Of the source, that a tile reads.
dim_t tile_row_bytes(const dot_plan &p, const dot_geometry &g) {
    if (p.is_flat || p.taps == 1)
        return p.tiles.rows * reduction_bytes(p);
    const dim_t lines = (p.tiles.lines - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    const dim_t rows = p.tiles.rows / p.tiles.lines;
    const dim_t positions = (rows - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
    return g.kernel[0] * lines * positions * g.tap_bytes();
}

/// Parts of a reduction whose rows stay in the first-level cache, equal ones in whole steps; 1 if there are none.
dim_t parts_of_reduction(const dot_plan &p, const dot_geometry &g) {
    if (p.taps != 1 || g.tap_bytes() % packed_i_block != 0)
        return 1;
    const dim_t fewest = div_up(p.tiles.rows * reduction_bytes(p), l1_bytes);
    for (dim_t parts = fewest; parts < 2 * fewest; parts++)
        if (p.quads % (parts * jit::most_amx_quads) == 0)
            return parts;
    return 1;
}

/// True if adding to sums that are kept takes less than reading rows and weights from the second-level cache.
bool parts_pay(const dot_plan &p, dim_t parts) {
    const tile_plan &t = p.tiles;
    const double registers = t.rows > t.register_rows ? 2 : 1, products = registers * t.vectors;
    const auto step = [&](double far) { return std::max(products * costs::per_tile_product, far); };
    const double weights = t.vectors * costs::per_far_tile;
    const double steps = static_cast<double>(div_up(p.quads, dim_t{jit::most_amx_quads}));
    const double more =
        static_cast<double>(parts - 1) * products * (costs::per_tile_load + costs::per_tile_store);
    return steps * step(t.vectors * costs::per_streamed_tile) + more <
           steps * step(registers * costs::per_streamed_tile + weights);
}

/// Each tile fetches its part of the weights that are multiplied next.
void plan_fetches(dot_plan &p, dim_t row_tiles) {
    const dim_t taps = p.order.keeps_sums ? 1 : p.taps;
    const dim_t steps = jit::amx_fetching_steps(taps, p.quads);
    if (row_tiles > 1 && row_tiles <= costs::most_tiles_ahead && steps > 0)
        p.lines_ahead = static_cast<int>(div_up(taps * p.quads, row_tiles * steps));
}

} // namespace

void plan_order(dot_plan &p, const dot_geometry &g, const machine &m) {
    if (!jit::are_in_tiles(p.products) || g.groups > 1 || p.source == row_source::gathered)
        return;
    tile_plan &t = p.tiles;
    const dim_t row_tiles = tiles_of_panel(p),
                weights = t.panels * t.blocks_per_panel * g.packed().block_bytes();
    const bool are_beyond_l2 = weights > m.l2_bytes / 2;
    if (row_tiles == 1) {
        if (are_beyond_l2 && t.vectors == 1)
            p.order.own_lines_ahead = costs::own_lines_ahead;
        else
            p.order.streams = jit::streamed::weights;
        return;
    }
    dim_t row_bytes = tile_row_bytes(p, g);
    const dim_t parts = row_bytes > l1_bytes && p.is_flat ? parts_of_reduction(p, g) : 1;
    if (parts > 1 && parts_pay(p, parts)) {
        p.order.keeps_sums = true;
        row_bytes /= parts;
        p.taps = parts;
        p.quads /= parts;
        for (dim_t part = 1; part < parts; part++)
            p.tap_offsets.push_back(part * p.quads * packed_i_block);
    }
    const dim_t panel = t.blocks_per_panel * g.packed().block_bytes();
    const bool both_stay = row_bytes + (p.is_flat ? weights : panel) <= l1_bytes;
    if (row_bytes > l1_bytes || (both_stay && !p.is_flat)) {
        if (p.is_flat && p.taps == 1)
            p.order.streams = jit::streamed::rows;
        return;
    }
    p.chunk = t.panels;
    if (!both_stay)
        p.order.streams = jit::streamed::weights;
    if (are_beyond_l2) {
        p.chunk = std::max<dim_t>(1, costs::columns_of_chunk / packed_o_block / t.blocks_per_panel);
        plan_fetches(p, row_tiles);
    }
}

namespace {

/// Places for fetches in all steps of all tiles.
dim_t places_of_fetches(const dot_plan &p, dim_t steps) {
    const dim_t calls = p.order.keeps_sums ? p.taps : 1; // for each tile
    const dim_t tiles_of_unit = p.is_flat ? 1 : div_up(p.line_length, p.tiles.rows);
    return p.work.units_per_slice * p.work.slices * tiles_of_unit * p.work.panels * calls * steps *
           p.tiles.vectors;
}

} // namespace

void plan_next_lines(dot_plan &p, const dot_geometry &g, const machine &m) {
    if (!jit::are_in_tiles(p.products) || g.groups > 1 || p.source == row_source::gathered ||
        g.prefetched_bytes < costs::least_weights_ahead || tiles_of_panel(p) == 1)
        return;
    if (p.lines_ahead > 0) { // the last chunk fetches as much as it would of another one
        const dim_t of_chunk =
            std::min(p.chunk, p.tiles.panels) * p.tiles.blocks_per_panel * g.packed().block_bytes();
        if (of_chunk <= g.prefetched_bytes)
            p.next_lines = g.prefetched_bytes / jit::cache_line;
        return;
    }
    const dim_t lines = std::min(g.prefetched_bytes, m.l2_bytes / 2) / jit::cache_line;
    const dim_t steps = jit::amx_fetching_steps(p.order.keeps_sums ? 1 : p.taps, p.quads);
    if (steps < 1)
        return;
    const int most = std::max(1, costs::most_next_lines_of_step / p.tiles.vectors);
    const dim_t wanted = std::min<dim_t>(most, div_up(lines, places_of_fetches(p, steps)));
    if (wanted * steps * p.tiles.vectors * static_cast<dim_t>(p.work.shares.size()) > lines)
        return; // a tile alone would fetch more than its thread's part
    p.lines_ahead = static_cast<int>(wanted);
    p.order.fetches_on = true;
    p.next_lines = lines;
}

} // namespace octet::impl
