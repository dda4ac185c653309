// Parts of the channels by the number of blocks that fit the registers, a line as runs of equal tiles, and
// shares of equal cost.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/depthwise/plan.hpp"

#include <algorithm>

#include "common/text.hpp"
#include "cpu/machine/costs.hpp"
#include "cpu/weights/weights.hpp"

namespace octet::impl {

namespace {

// Each kind of tile is code; more of them than this, and source rows are copied with their padding.
constexpr std::size_t max_tile_kinds = 4;
constexpr dim_t max_padding_row = dim_t{1} << 20;

/// Source columns under `outputs` neighbouring outputs.
dim_t covered_columns(const patch_axis &axis, const tap_axis &taps, dim_t outputs) {
    const dim_t last = (div_up(outputs, axis.phases) - 1) * axis.phases;
    const dim_t patches = (axis.patches() - 1) * axis.size + std::min(axis.size, axis.covered(axis.phases));
    return last * taps.stride + (patches - 1) * taps.dilation + 1;
}

} // namespace

std::string refuses_depthwise(const convolution_problem &p) {
    if (!p.weights_have_groups || p.groups == 1 || p.ic != 1 || p.is_inner_product)
        return "not a depthwise convolution";
    if (p.sums_f32())
        return "f32 src";
    if (p.spatial_ndims > 2)
        return "three spatial dimensions";
    if (patches_of(p).rows.size == 0)
        return "a kernel too large for patches of taps";
    return {};
}

std::vector<jit::tile_run> plan_line(const patch_axis &axis, const tap_axis &taps, dim_t width, dim_t tile,
                                     dim_t pad, dim_t columns, bool slides) {
    std::vector<jit::tile_run> line;
    for (dim_t first = 0; first < width; first += tile) {
        jit::tile_run run;
        run.columns = static_cast<int>(std::min(tile, width - first));
        const dim_t covered = covered_columns(axis, taps, run.columns), x = first * taps.stride - pad;
        run.begin = std::clamp<dim_t>(-x, 0, covered);
        run.end = std::clamp<dim_t>(columns - x, 0, covered);
        const bool repeats = !line.empty() && line.back().columns == run.columns &&
                             line.back().begin == run.begin && line.back().end == run.end;
        const bool ends_sliding = slides && first + tile >= width;
        if (repeats && !ends_sliding)
            line.back().count++;
        else
            line.push_back(run);
    }
    return line;
}

namespace {

/// Columns of tiles that are as equal as phases allow.
dim_t even_tile(const patch_axis &axis, dim_t width, dim_t largest) {
    const dim_t tiles = div_up(width, largest);
    return div_up(div_up(width, tiles), axis.phases) * axis.phases;
}

/// As many blocks per tile as it can have, then half as many for those that remain, and so on; at last one
/// for a block that is not whole.
std::vector<channel_part> plan_parts(dim_t channels, int largest) {
    const dim_t whole = channels / packed_o_block;
    std::vector<channel_part> parts;
    dim_t first = 0, last = 0;
    for (int blocks = largest; blocks >= 1; blocks /= 2, first = last) {
        last = first + (whole - first) / blocks * blocks;
        if (last > first)
            parts.push_back({first, last, blocks, packed_o_block, false, {}});
    }
    if (channels > whole * packed_o_block)
        parts.push_back(
            {whole, whole + 1, 1, static_cast<int>(channels - whole * packed_o_block), false, {}});
    return parts;
}

/// By results: the last line of an image may have fewer rows, the last group fewer blocks.
std::vector<share> plan_shares(const convolution_problem &p, const tap_patches &patches, const machine &m) {
    const auto side = [](dim_t count, dim_t of_one, dim_t repeats) {
        const dim_t rest = count % of_one;
        const double last = rest ? static_cast<double>(rest) / static_cast<double>(of_one) : 1;
        return side_costs::even(div_up(count, of_one), last, repeats);
    };
    const dim_t blocks = div_up(p.groups * p.oc, packed_o_block);
    const dim_t results = p.mb * p.out[1] * p.out[2] * blocks * packed_o_block;
    return divide(side(p.out[1], patches.rows.phases, p.mb), side(blocks, task_blocks, 1),
                  useful_threads(results * patches.rows.patches() * patches.columns.patches() /
                                     costs::depthwise_products_per_cycle,
                                 m),
                  false);
}

} // namespace

depthwise_plan plan_depthwise(const convolution_problem &p, const machine &m,
                              const jit::epilogue_plan &epilogue) {
    depthwise_plan plan;
    plan.patches = patches_of(p);
    const patch_axis &rows = plan.patches.rows, &columns = plan.patches.columns;
    const tap_axis taps{p.kernel[2], p.stride[2], p.dilation[2]};
    const bool sums = sums_source(p.weights, p.weights_zero_points);
    const dim_t channels = p.groups * p.oc, blocks = div_up(channels, packed_o_block);
    const int tile_blocks = jit::max_tile_blocks(m.isa, sums), epilogue_temps = epilogue.temps(m.isa);
    const dim_t last_row = (p.out[1] - 1) * p.stride[1] + (p.kernel[1] - 1) * p.dilation[1] - p.pad[1];
    plan.has_rows_outside = p.pad[1] > 0 || last_row >= p.in[1];
    plan.shares = plan_shares(p, plan.patches, m);
    plan.parts = plan_parts(channels, tile_blocks);
    const auto plan_lines = [&](dim_t pad, dim_t width) {
        std::size_t kinds = 0;
        for (channel_part &part : plan.parts) {
            part.slides = jit::can_slide(m.isa, plan.patches, taps, sums, epilogue_temps, part.blocks);
            const dim_t largest =
                jit::max_tile_columns(m.isa, plan.patches, sums, epilogue_temps, part.blocks);
            const dim_t tile = part.slides ? columns.kernel : even_tile(columns, p.out[2], largest);
            part.line = plan_line(columns, taps, p.out[2], tile, pad, width, part.slides);
            kinds = std::max(kinds, part.line.size());
        }
        return kinds;
    };
    plan.line_columns = covered_columns(columns, taps, p.out[2]);
    plan.pixel_stride = p.src.strides[p.spatial_ndims + 1];
    plan.padding_row_bytes = (p.in[2] - 1) * plan.pixel_stride + channels;
    plan.in_place = p.oc == 1 && p.src.strides[1] == 1 && plan_lines(p.pad[2], p.in[2]) <= max_tile_kinds &&
                    plan.padding_row_bytes <= max_padding_row;

    if (plan.in_place && tile_blocks == task_blocks) { // a group reads whole cache lines
        const dim_t line_bytes = rows.phases * p.stride[1] * plan.padding_row_bytes;
        plan.chunk_blocks = blocks;
        plan.band_lines =
            std::clamp<dim_t>(costs::l2_depthwise_band / line_bytes, 1, div_up(p.out[1], rows.phases));
        return plan;
    }
    const dim_t row_pixels = std::max<dim_t>(1, rows.covered(rows.phases) * plan.line_columns);
    plan.chunk_blocks = costs::l1_chunk / (row_pixels * packed_o_block);
    plan.chunk_blocks -= plan.chunk_blocks % task_blocks;
    plan.chunk_blocks = std::clamp(plan.chunk_blocks, std::min(task_blocks, blocks), blocks);
    if (plan.in_place)
        return plan;

    plan_lines(0, plan.line_columns);
    plan.pixel_stride = plan.chunk_channels();
    plan.copied_rows = rows.covered(rows.phases);
    return plan;
}

std::string text_of(const depthwise_plan &p) {
    const channel_part &first = p.parts.front();
    return text(first.slides ? "sliding tiles of " : "tiles of ", first.line.front().columns, " columns x ",
                first.blocks, " blocks of channels, patches of ", p.patches.rows.size, " x ",
                p.patches.columns.size, " taps, chunks of ", p.chunk_blocks, " blocks, ",
                p.in_place ? "rows in place" : "copied rows", ", ", p.shares.size(), " shares");
}

} // namespace octet::impl
