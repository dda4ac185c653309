#include "cpu/dot/plan.hpp"

#include <algorithm>
#include <limits>

namespace octet::impl {

namespace {

int lanes_of(cpu_isa level) {
    return level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core ? 16 : 8;
}

/// Cycles of one tile: two dot products and two loads per cycle; a dot product depends on the one of the quad
/// before.
double tile_cycles(int rows, int vectors, dim_t quads) {
    constexpr double latency = 5, epilogue_per_vector = 3, per_tile = 12;
    const double products = rows * vectors * 0.5, loads = (rows + vectors) * 0.5;
    return static_cast<double>(quads) * std::max({products, loads, latency}) +
           rows * vectors * epilogue_per_vector + per_tile;
}

double line_cycles(dim_t length, int rows, int vectors, dim_t quads) {
    const int tail = static_cast<int>(length % rows);
    return static_cast<double>(length / rows) * tile_cycles(rows, vectors, quads) +
           (tail ? tile_cycles(tail, vectors, quads) : 0);
}

/// True if no source byte belongs to two rows, so that rows can be copied one by one.
bool rows_are_disjoint(const dot_geometry &g) {
    return g.rows_are_images || (g.kernel == extent3{1, 1, 1} && !g.reads_outside());
}

/// True if the rows of all lines have one distance in this tensor.
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

/// Joins the innermost taps into the reduction while their bytes are neighbours and whole quads.
void merge_taps(dot_plan &p, const dot_geometry &g, dim_t segment) {
    p.quads = div_up(segment, packed_i_block);
    p.tap_counts = {g.kernel[0], g.kernel[1], g.kernel[2] / g.packed.fused_width};
    for (int a = 2; a >= 0; a--) {
        if (p.tap_counts[a] == 1)
            continue;
        if (segment % packed_i_block != 0 || p.tap_strides[a] != segment || g.packed.groups != 1)
            break;
        segment *= p.tap_counts[a];
        p.quads = segment / packed_i_block;
        p.tap_counts[a] = 1;
    }
    p.taps = p.tap_counts[0] * p.tap_counts[1] * p.tap_counts[2];
}

} // namespace

tile_plan plan_tiles(cpu_isa level, dim_t length, dim_t columns, dim_t quads, int epilogue_temps) {
    const int lanes = lanes_of(level);
    const dim_t vectors = div_up(columns, lanes);
    const int vectors_per_block = static_cast<int>(packed_o_block) / lanes;
    tile_plan best;
    double best_cycles = std::numeric_limits<double>::max();
    for (int v = vectors_per_block; v <= 12; v += vectors_per_block) { // panels hold whole blocks
        const int width = static_cast<int>(std::min<dim_t>(v, vectors));
        const int limit = jit::max_rows(level, width, epilogue_temps);
        if (limit < 1)
            break;
        const dim_t tiles = div_up(length, std::min<dim_t>(limit, length));
        const int rows = static_cast<int>(div_up(length, tiles));
        const int last = static_cast<int>(vectors % width);
        const double cycles = static_cast<double>(vectors / width) * line_cycles(length, rows, width, quads) +
                              (last ? line_cycles(length, rows, last, quads) : 0);
        if (cycles < best_cycles) {
            best_cycles = cycles;
            best.rows = rows;
            best.tail_rows = static_cast<int>(length % rows);
            best.vectors = width;
            best.last_vectors = last;
            best.panels = div_up(vectors, width);
            best.blocks_per_panel = div_up(width, vectors_per_block);
        }
        if (width == vectors)
            break;
    }
    best.tail = static_cast<int>(columns - (vectors - 1) * lanes);
    return best;
}

dot_plan plan_dot(const dot_geometry &g, const machine &m, int epilogue_temps) {
    dot_plan p;
    const dim_t segment =
        g.packed.fused_width * g.packed.merged * g.packed.i_per_member; // bytes of one tap, one stored group
    const bool whole_quads = segment % packed_i_block == 0;
    const bool channels_last = g.src_channel_stride == 1 || g.channels == 1;
    const bool fused_is_contiguous = g.packed.fused_width == 1 || g.src_tap_strides[2] == g.channels;
    const bool dst_is_flat = lines_are_joined(g, g.dst_strides);
    if (!g.flips_source() && channels_last && whole_quads && fused_is_contiguous && !g.reads_outside())
        p.source = row_source::in_place;
    else
        p.source = rows_are_disjoint(g) ? row_source::copied_rows : row_source::copied_image;

    switch (p.source) {
    case row_source::in_place:
        p.is_flat = dst_is_flat && lines_are_joined(g, g.src_row_strides);
        p.tap_strides = g.src_tap_strides;
        p.row_stride = g.src_row_strides[2];
        break;
    case row_source::copied_rows:
        p.is_flat = dst_is_flat;
        p.tap_strides = {g.kernel[1] * g.kernel[2] * g.channels, g.kernel[2] * g.channels, g.channels};
        p.row_stride = div_up(g.kernel[0] * p.tap_strides[0], packed_i_block) * packed_i_block;
        if (p.row_stride % 4096 == 0)
            p.row_stride += 64; // else all rows fall into the same cache sets
        break;
    case row_source::copied_image:
        p.copy[0] = g.kernel[0];
        p.copy[2] = (g.width - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
        p.row_stride = g.stride[2] * g.channels;
        break;
    }
    p.line_length = p.is_flat ? g.depth * g.height * g.width : g.width;
    p.lines = p.is_flat ? 1 : g.depth * g.height;

    // A band is what stays in L2 while all columns pass over it.
    const dim_t budget = std::max<dim_t>(m.l2_bytes / 4, 64 * 1024);
    const dim_t line_bytes = std::max<dim_t>(1, p.source == row_source::copied_image
                                                    ? p.copy[0] * p.copy[2] * g.stride[1] * g.channels
                                                : p.is_flat ? p.row_stride
                                                            : p.line_length * p.row_stride);
    p.band_lines = std::max<dim_t>(1, budget / line_bytes);
    if (!p.is_flat)
        p.band_lines = std::min(p.band_lines, g.height); // a band stays in one plane of the output
    if (p.source == row_source::copied_image) {
        p.copy[1] = (p.band_lines - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
        const extent3 strides{p.copy[1] * p.copy[2] * g.channels, p.copy[2] * g.channels, g.channels};
        // The scratch image holds one plane per tap of the depth.
        p.tap_strides = {strides[0], strides[1] * g.dilation[1], strides[2] * g.dilation[2]};
        p.line_stride = strides[1] * g.stride[1];
    }
    merge_taps(p, g, segment);
    plan_lines(p, g);
    p.tiles = plan_tiles(m.level, p.line_length, g.packed.o, p.taps * p.quads, epilogue_temps);
    if (p.is_flat)
        p.band_lines = std::min(p.line_length, div_up(p.band_lines, p.tiles.rows) * p.tiles.rows);

    constexpr dim_t slack = 64; // the last quad of a row may reach past its bytes
    if (p.source == row_source::copied_rows) {
        p.line_stride = p.line_length * p.row_stride;
        p.scratch_bytes = p.band_lines * (p.is_flat ? p.row_stride : p.line_stride) + slack;
    }
    if (p.source == row_source::copied_image)
        p.scratch_bytes = p.copy[0] * p.copy[1] * p.copy[2] * g.channels + slack;
    return p;
}

void plan_lines(dot_plan &p, const dot_geometry &g) {
    const dim_t lines = g.packed.lines;
    p.ranges = {{0, lines}};
    p.range_of_line.clear();
    const bool has_row_sums = g.weights_zero_points.values.is_set() || g.weights.data_type == data_type::u8;
    if (p.source != row_source::copied_image || has_row_sums || g.kernel[0] != 1 || lines == 1 ||
        p.tap_counts[1] != lines)
        return;
    for (dim_t oh = 0; oh < g.height; oh++) {
        const dim_t top = oh * g.stride[1] - g.pad[1];
        const dim_t first = std::clamp<dim_t>(div_up(std::max<dim_t>(-top, 0), g.dilation[1]), 0, lines);
        const dim_t last =
            std::clamp<dim_t>(div_up(std::max<dim_t>(g.in[1] - top, 0), g.dilation[1]), 0, lines);
        const line_range range = first < last ? line_range{first, last - first} : p.ranges[0];
        const auto found = std::find(p.ranges.begin(), p.ranges.end(), range);
        p.range_of_line.push_back(static_cast<std::size_t>(found - p.ranges.begin()));
        if (found == p.ranges.end())
            p.ranges.push_back(range);
    }
}

task_grid plan_tasks(dim_t bands, dim_t panels, int threads) {
    task_grid best{1, 1};
    double best_share = 1; // of the work, that the busiest task has
    for (dim_t b = 1; b <= std::min<dim_t>(threads, bands); b++) {
        const dim_t n = std::min<dim_t>(threads / b, panels);
        const double share = static_cast<double>(div_up(bands, b)) / static_cast<double>(bands) *
                             static_cast<double>(div_up(panels, n)) / static_cast<double>(panels);
        if (share < best_share - 0.01) {
            best_share = share;
            best = {b, n};
        }
    }
    return best;
}

} // namespace octet::impl
