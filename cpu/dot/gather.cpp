// Rows that the kernel gathers from a copied image. Their plan is a flat one, whose rows are the positions of
// the output one after the other. Scratch memory has a ring of tiles, then the image.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cpu/dot/plan.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

void plan_gathered_rows(dot_plan &p, const dot_geometry &g, dim_t band_bytes) {
    constexpr dim_t slack = 64; // the last piece may reach past its bytes
    const dim_t bytes_of_line = std::max<dim_t>(1, g.in[2] * g.position_bytes * g.stride[1]);
    const dim_t rows = std::max<dim_t>(1, band_bytes / bytes_of_line) * g.width, tile = p.tiles.rows;
    p.band_lines = std::min(p.line_length, div_up(rows, tile) * tile);
    const dim_t lines = std::min(g.height, div_up(p.band_lines - 1, g.width) + 1);
    p.copy[1] = (lines - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    const dim_t lines_ahead = div_up(dim_t{jit::rows_gathered_ahead(p.tiles.rows)}, g.width) * g.stride[1];
    p.scratch_bytes = ring_bytes(p) + (p.copy[1] + lines_ahead) * p.copied_line_bytes + slack;
}

jit::gathered_rows gathered_rows_of(const dot_plan &p, const dot_geometry &g) {
    if (p.source != row_source::gathered)
        return {};
    return {static_cast<int>(g.kernel[1]), p.copied_line_bytes * g.dilation[1], p.row_stride,
            p.line_stride - g.width * p.row_stride, g.width};
}

dim_t ring_bytes(const dot_plan &p) {
    return p.source == row_source::gathered
               ? jit::tiles_of_ring * jit::gathered_tile_bytes(p.tiles.rows, p.quads)
               : 0;
}

} // namespace octet::impl
