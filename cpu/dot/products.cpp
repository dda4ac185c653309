// Compares the estimated cycles of tile registers and of vectors, and of words that are made of bytes in several ways.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/products.hpp"

#include <algorithm>

#include "cpu/dot/tiles.hpp"
#include "cpu/machine/costs.hpp"
#include "cpu/machine/isa.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

bool rows_are_disjoint(const dot_geometry &g) {
    return g.rows_are_images || (g.kernel == extent3{1, 1, 1} && !g.reads_outside());
}

bool lines_are_joined(const dot_geometry &g, const extent3 &strides) {
    const extent3 out{g.depth, g.height, g.width};
    dim_t step = strides[2] * g.width;
    for (int a = 1; a >= 0; a--) {
        if (out[a] == 1)
            continue;
        if (strides[a] != step)
            return false;
        step *= out[a];
    }
    return true;
}

dim_t winograd_tap_count(const dot_geometry &g) { return div_up(g.kernel[2], jit::winograd_taps); }

namespace {

/// A line of the kernel is one piece of a line of the image, and tiles go on over the ends of lines.
bool can_gather(const dot_geometry &g) {
    const packed_geometry &w = g.packed();
    const bool is_one_piece =
        g.kernel[2] == 1 ||
        (g.dilation[2] == 1 && (w.fused_width == g.kernel[2] || g.tap_bytes() % packed_i_block == 0));
    const auto reach = [&](int axis) { return (g.kernel[axis] - 1) * g.dilation[axis] + 1; };
    const dim_t line_bytes = ((g.width - 1) * g.stride[2] + reach(2)) * g.position_bytes;
    constexpr dim_t most_offset = dim_t{1} << 30;
    return is_one_piece && g.kernel[0] == 1 && g.depth == 1 && g.groups == 1 && w.groups == 1 &&
           !g.rows_are_images && !rows_are_disjoint(g) && !g.sums_f32() && !g.weights.sums_source() &&
           lines_are_joined(g, g.dst_strides) && line_bytes <= most_offset / std::max(reach(1), g.stride[1]);
}

} // namespace

gathered_patch gathered_patch_of(const dot_geometry &g) {
    if (!can_gather(g))
        return {};
    const dim_t quads = div_up(g.tap_bytes(), packed_i_block) * (g.kernel[2] / g.packed().fused_width);
    const gathered_patch patch{g.kernel[1], quads};
    const auto steps = [](dim_t of) { return div_up(of, dim_t{jit::most_amx_quads}); };
    const dim_t vectors = std::min<dim_t>(g.packed().o_blocks(), jit::amx_accumulators);
    // A product takes as long as the copies of a piece for each of its rows.
    const dim_t products = std::max(steps(patch.quads()) * vectors, patch.lines);
    const bool pays = products < steps(quads) * patch.lines * vectors;
    return pays && quads <= jit::most_amx_quads ? patch : gathered_patch{};
}

dim_t quads_of_row(jit::dot_products products, const dot_geometry &g) {
    if (products == jit::dot_products::winograd_f43)
        return g.kernel[0] * g.kernel[1] * winograd_tap_count(g) *
               div_up(g.tap_bytes() * jit::winograd_parts, packed_i_block) / jit::rows_together(products);
    if (jit::are_in_tiles(products))
        if (const gathered_patch patch = gathered_patch_of(g); patch.lines > 0)
            return planned_quads(products, 1, patch.quads());
    return planned_quads(products, g.kernel[0] * g.kernel[1] * g.kernel[2] / g.packed().fused_width,
                         div_up(g.tap_bytes(), packed_i_block));
}

namespace {

/// True if each tap of a row begins with a quad, wherever rows are copied to.
bool taps_are_in_quads(const dot_geometry &g) {
    const bool is_one_segment = g.kernel == extent3{1, 1, 1} && g.groups == 1 && rows_are_disjoint(g);
    return is_one_segment || (g.position_bytes % packed_i_block == 0 &&
                              (g.groups == 1 || g.group_bytes() % packed_i_block == 0));
}

/// True if 8 times the sum of a result has no more than 32 bits, and the kernel is one of neighbours: sums are 24
/// times a result modulo 2^32, and a third of that is a number that can be shifted only if it fits.
bool can_filter(const dot_geometry &g) {
    constexpr dim_t largest_product = 255 * 128, most_line_bytes = dim_t{1} << 27;
    const packed_geometry &w = g.packed();
    return w.fused_width == 1 && g.stride[2] == 1 && g.dilation[2] == 1 && !g.rows_are_images &&
           !g.weights.sums_source() && w.i % packed_i_block == 0 &&
           winograd_tap_count(g) * g.width * g.position_bytes <= most_line_bytes &&
           8 * g.weights.reduction() <= int32_max / largest_product;
}

/// True if filtering (jit/kernels/dot_words.cpp) takes fewer products, those of rows and taps that do not
/// exist and what making the weights costs included.
bool filtering_pays(const dot_geometry &g) {
    const dim_t lines = g.depth * g.height,
                rows_together = jit::rows_together(jit::dot_products::winograd_f43);
    const dim_t filtered =
        winograd_tap_count(g) *
        (lines * div_up(g.width, rows_together) * jit::winograd_parts + costs::products_per_winograd_tap);
    return filtered < lines * g.width * g.kernel[2];
}

/// Weights become words once for all rows if these are many, else as often as they are multiplied.
jit::dot_products choose_words(const dot_geometry &g, instruction_set isa, int epilogue_temps) {
    using jit::dot_products;
    constexpr int vectors = 2; // of most tiles
    const dim_t tile_rows = jit::max_rows(isa, vectors, epilogue_temps, dot_products::wide_words);
    const bool share_weights = g.groups == 1 && g.packed().merged == 1;
    const bool has_registers = jit::max_rows(isa, vectors, epilogue_temps, dot_products::winograd_f43) > 0;
    if (share_weights && has_registers && can_filter(g) && filtering_pays(g))
        return dot_products::winograd_f43;
    if (share_weights && g.depth * g.height * g.width >= costs::least_wide_tiles * tile_rows)
        return dot_products::wide_words;
    return taps_are_in_quads(g) ? dot_products::split_words : dot_products::words;
}

} // namespace

jit::dot_products choose_products(const dot_geometry &g, instruction_set isa, int epilogue_temps) {
    using jit::dot_products;
    if (g.products() == dot_products::codes && !isa.has_dot4())
        return choose_words(g, isa, epilogue_temps);
    if (g.products() == dot_products::codes && isa.signed_dot4 && g.flips_source())
        return dot_products::signed_codes;
    if (g.has_quads_of_groups())
        return dot_products::grouped_codes;
    if (!isa.has_amx() || g.products() != dot_products::codes)
        return g.products();
    const dot_products in_tiles = g.flips_source() ? dot_products::signed_tiles : dot_products::tiles;
    const bool is_flat = rows_are_disjoint(g) && lines_are_joined(g, g.dst_strides);
    const bool gathers = gathered_patch_of(g).lines > 0;
    const dim_t lines = g.depth * g.height, calls = is_flat || gathers ? 1 : lines;
    const auto cycles = [&](dot_products by) { // of a call: a line, or all rows
        const bool are_joined = is_flat || (gathers && by == in_tiles);
        const tile_plan t = plan_tiles(isa, are_joined ? lines * g.width : g.width, g.packed().o,
                                       quads_of_row(by, g), epilogue_temps, {}, {}, by);
        return t.cycles * static_cast<double>(!are_joined && gathers ? lines : 1);
    };
    const double saved = cycles(dot_products::codes) - cycles(in_tiles);
    const double gap = is_gap_of_tiles_ignored() ? 0 : costs::per_tile_gap;
    const bool pay =
        saved > costs::per_tile_configuration &&
        saved * static_cast<double>(calls * g.outer() * g.groups) > costs::per_tile_configuration + gap;
    return pay ? in_tiles : dot_products::codes;
}

} // namespace octet::impl
