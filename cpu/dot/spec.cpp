// What a plan asks of the kernel.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/plan.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

jit::dot_spec spec_of(const dot_plan &p, const dot_geometry &g, instruction_set isa, int rows,
                      bool is_last_panel) {
    jit::dot_spec spec;
    spec.isa = isa;
    spec.products = p.products;
    spec.rows = rows;
    spec.tiling.rows = p.tiles.register_rows_of(rows);
    spec.tiling.lines = p.tiles.lines_of(rows);
    if (spec.tiling.lines > 1)
        spec.tiling.line_stride = p.line_stride;
    spec.tiling.gathered = gathered_rows_of(p, g);
    spec.order = p.order;
    spec.vectors = p.tiles.vectors_of(is_last_panel);
    spec.tail = is_last_panel ? p.tiles.tail : isa.lanes();
    spec.row_stride = p.source == row_source::gathered ? jit::gathered_row_bytes(p.quads) : p.row_stride;
    spec.part_stride = p.part_stride;
    spec.dst_row_stride = g.dst_strides[2];
    spec.overlaps_tiles = p.tiles.overlap && rows == p.tiles.rows;
    spec.taps = p.taps;
    spec.quads = p.quads;
    if (p.products == jit::dot_products::grouped_codes)
        spec.columns_of_quad = static_cast<int>(g.packed().o_per_member);
    spec.rows_of_tap = p.rows_of_tap;
    spec.lines_ahead = p.lines_ahead;
    return spec;
}

} // namespace octet::impl
