#include "cpu/depthwise/plan.hpp"

#include <algorithm>

#include "jit/depthwise.hpp"
#include "jit/interleave.hpp"

namespace octet::impl {

namespace {

// Quads are written and read at once: they should take half of a first-level cache and leave room for source,
// weights and results. More blocks than a chunk's gain nothing.
constexpr dim_t quads_budget = 20 * 1024, max_chunk_blocks = 16;

/// Grid positions that `outputs` neighbouring outputs read.
dim_t grid_positions(const patch_axis &a, dim_t outputs) {
    const dim_t reach = a.patches() == 1 ? 0 : (a.patches() - 1) * a.patch_step;
    return (div_up(outputs, a.phases) - 1) * a.output_step + reach + 1;
}

} // namespace

std::string refuses_depthwise(const convolution_problem &p) {
    if (!p.weights_have_groups || p.groups == 1 || p.ic != 1 || p.is_inner_product)
        return "not a depthwise convolution";
    if (p.spatial_ndims > 2)
        return "three spatial dimensions";
    if (patches_of(p).rows.size == 0)
        return "a kernel, stride or dilation too large for patches of taps";
    return {};
}

depthwise_plan plan_depthwise(const convolution_problem &p, cpu_isa level, int epilogue_temps) {
    depthwise_plan plan;
    plan.patches = patches_of(p);
    plan.in_place = p.oc == 1 && p.src.strides[1] == 1;
    const bool sums_source = p.weights_zero_points.values.is_set() || p.weights.data_type == data_type::u8;
    const dim_t phases = plan.patches.columns.phases, width = p.out[2];

    const dim_t limit = jit::max_tile_columns(level, plan.patches, sums_source, epilogue_temps);
    const dim_t tiles = div_up(width, limit);
    plan.tile_columns = div_up(div_up(width, tiles), phases) * phases;

    const dim_t quad_bytes = jit::quad_bytes(level);
    plan.grid_rows = grid_positions(plan.patches.rows, 1);
    plan.band_columns = width;
    const auto block_bytes = [&](dim_t columns) {
        return plan.grid_rows * grid_positions(plan.patches.columns, columns) * quad_bytes;
    };
    while (block_bytes(plan.band_columns) > 2 * quads_budget && plan.band_columns > plan.tile_columns)
        plan.band_columns = div_up(div_up(plan.band_columns, plan.tile_columns), 2) * plan.tile_columns;
    plan.grid_columns = grid_positions(plan.patches.columns, plan.band_columns);

    const dim_t blocks = div_up(p.groups * p.oc, packed_o_block);
    const dim_t most = std::clamp<dim_t>(quads_budget / block_bytes(plan.band_columns), 1,
                                         std::min(blocks, max_chunk_blocks));
    plan.chunk_blocks = div_up(blocks, div_up(blocks, most));
    plan.block_stride = plan.grid_columns * quad_bytes;
    plan.row_stride = plan.chunk_blocks * plan.block_stride;
    if (!plan.in_place)
        plan.copied_columns = (plan.grid_columns - 1) * plan.patches.columns.grid_step +
                              (plan.patches.columns.used_size() - 1) * p.dilation[2] + 1;
    return plan;
}

position_range positions_inside(const patch_axis &axis, const tap_axis &taps, dim_t pad, dim_t in,
                                position_range all) {
    const dim_t reach = (axis.used_size() - 1) * taps.dilation;
    const dim_t first = div_up(pad, axis.grid_step), last = in - 1 + pad - reach;
    position_range inside{std::clamp(first, all.first, all.last), all.first};
    if (last >= 0)
        inside.last = std::clamp(last / axis.grid_step + 1, inside.first, all.last);
    else
        inside.last = inside.first;
    return inside;
}

} // namespace octet::impl
