// A plan is made in steps, each of which decides one thing and reads what the steps before it decided: tiles,
// taps, where rows are read, bands, shares. `plan_dot` at the end has their order.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/plan.hpp"

#include <algorithm>

#include "common/text.hpp"
#include "cpu/dot/products.hpp"
#include "cpu/machine/caches.hpp"
#include "cpu/machine/costs.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl {

namespace {

/// Joins the innermost taps into the reduction while their bytes are neighbours and whole quads.
void merge_taps(dot_plan &p, const dot_geometry &g, dim_t segment) {
    p.quads = div_up(segment, packed_i_block);
    if (p.source == row_source::gathered) {
        p.quads = gathered_patch_of(g).quads();
        return;
    }
    if (p.products == jit::dot_products::winograd_f43) {
        p.tap_counts = {g.kernel[0], g.kernel[1], winograd_tap_count(g)};
        p.taps = p.tap_counts[0] * p.tap_counts[1] * p.tap_counts[2];
        return;
    }
    p.tap_counts = {g.kernel[0], g.kernel[1], g.kernel[2] / g.packed().fused_width};
    for (int a = 2; a >= 0; a--) {
        if (p.tap_counts[a] == 1)
            continue;
        // Edges are read from a copy, whose strides are the source's along a line alone.
        const bool differs_at_edges = p.source == row_source::copied_edges && a < 2;
        if (!p.rows_of_tap.empty() || segment % packed_i_block != 0 ||
            p.tap_strides[a] != segment * p.widening || g.packed().groups != 1 || differs_at_edges ||
            p.products == jit::dot_products::grouped_codes)
            break;
        segment *= p.tap_counts[a];
        p.quads = segment / packed_i_block;
        p.tap_counts[a] = 1;
    }
    p.taps = p.tap_counts[0] * p.tap_counts[1] * p.tap_counts[2];
}

} // namespace

namespace {

/// Positions outside the image are zeros, as the kernel multiplies them.
bool pads_with_zeros(const dot_plan &p, const dot_geometry &g) {
    const masked_values<std::int32_t> &zps = g.src_zero_points.values;
    constexpr std::int32_t flip = 128;
    return !zps.runtime && (zps.is_set() ? zps.values[0] : 0) + (p.flips_source ? flip : 0) == 0;
}

} // namespace

std::vector<jit::row_range> plan_rows_of_tap(const dot_plan &p, const dot_geometry &g,
                                             const tile_plan &line_tiles) {
    const bool are_codes = p.products == jit::dot_products::codes ||
                           p.products == jit::dot_products::signed_codes ||
                           p.products == jit::dot_products::grouped_codes;
    const bool are_whole = g.packed().fused_width == 1 && g.tap_bytes() % packed_i_block == 0;
    if (!are_codes || !are_whole || line_tiles.rows != g.width || rows_are_disjoint(g) ||
        g.weights.sums_source() || !pads_with_zeros(p, g))
        return {};
    const auto first_inside =
        [&](dim_t column) { // rows whose tap lies at `column` of the padded image or behind it
            return static_cast<int>(
                std::clamp<dim_t>(div_up(std::max<dim_t>(g.pad[2] - column, 0), g.stride[2]), 0, g.width));
        };
    std::vector<jit::row_range> rows;
    bool all = true;
    for (dim_t tap = 0; tap < g.kernel[2]; tap++) {
        const dim_t column = tap * g.dilation[2];
        rows.push_back({first_inside(column), first_inside(column - g.in[2])});
        all = all && rows.back().first == 0 && rows.back().end == g.width;
    }
    return all ? std::vector<jit::row_range>{} : rows;
}

edge_rows plan_edges(const dot_geometry &g, dim_t tile_rows) {
    const dim_t segment = g.tap_bytes();
    const dim_t overread = div_up(segment, packed_i_block) * packed_i_block - segment; // of a row's last quad
    const dim_t reach =
        (g.kernel[2] - 1) * g.dilation[2] + 1 + div_up(overread, g.position_bytes); // positions of a row
    const dim_t inside = g.in[2] - reach + g.pad[2]; // last position where a row may start
    const dim_t right_row = inside < 0 ? 0 : std::min(g.width, inside / g.stride[2] + 1);
    edge_rows edges;
    edges.left = div_up(div_up(g.pad[2], g.stride[2]), tile_rows) * tile_rows;
    edges.right = g.width - right_row / tile_rows * tile_rows;
    if (right_row == g.width)
        edges.right = 0;
    return edges;
}

namespace {

/// Lines of the kernel that lie inside the image for this output line.
line_range lines_inside(const dot_geometry &g, dim_t oh) {
    const dim_t lines = g.packed().lines, top = oh * g.stride[1] - g.pad[1];
    const dim_t first = std::clamp<dim_t>(div_up(std::max<dim_t>(-top, 0), g.dilation[1]), 0, lines);
    const dim_t end = std::clamp<dim_t>(div_up(std::max<dim_t>(g.in[1] - top, 0), g.dilation[1]), 0, lines);
    return {first, std::max<dim_t>(end - first, 0)};
}

/// True if rows may be read where they are as long as they stay inside a line of the image. Lines outside are
/// skipped, which row sums could not.
bool can_copy_edges(const dot_geometry &g, bool changes_codes) {
    const bool is_dense = g.has_dense_positions() && g.src_strides[2] == g.position_bytes;
    const bool is_flat_image = g.kernel[0] == 1 && g.depth == 1 && g.in[0] == 1 && g.pad[0] == 0;
    if (changes_codes || g.sums_f32() || !is_dense || !is_flat_image || g.weights.sums_source() ||
        g.rows_are_images)
        return false;
    for (dim_t oh = 0; oh < g.height; oh++)
        if (lines_inside(g, oh).count == 0)
            return false;
    return true;
}

/// True if tile registers read rows again and again that push each other out of the first-level cache.
bool have_rows_conflict(const dot_geometry &g, const dot_plan &p) {
    return jit::are_in_tiles(p.products) && rows_are_disjoint(g) && !g.rows_are_images &&
           g.src_row_strides[2] % costs::l1_way_bytes == 0 && g.width * g.height > jit::most_amx_rows &&
           g.packed().o >= costs::least_columns_of_copies;
}

/// Rows are copied where their codes change: sign bits are flipped, or bytes become words.
row_source choose_source(const dot_geometry &g, const tile_plan &line_tiles, const dot_plan &p) {
    const bool changes_codes = p.flips_source || jit::are_in_words(p.products);
    if (jit::are_in_tiles(p.products) && gathered_patch_of(g).lines > 0)
        return row_source::gathered;
    const bool whole_quads = g.tap_bytes() % packed_i_block == 0;
    const bool fused_is_contiguous = g.packed().fused_width == 1 || g.src_tap_strides[2] == g.position_bytes;
    if (!changes_codes && g.has_dense_positions() && whole_quads && fused_is_contiguous &&
        !g.reads_outside() && !have_rows_conflict(g, p))
        return row_source::in_place;
    if (rows_are_disjoint(g))
        return row_source::copied_rows;
    const edge_rows edges = p.rows_of_tap.empty() ? plan_edges(g, line_tiles.rows) : edge_rows{};
    return can_copy_edges(g, changes_codes) && edges.left + edges.right < g.width ? row_source::copied_edges
                                                                                  : row_source::copied_image;
}

/// Strides between neighbouring taps in a scratch image of these columns.
extent3 scratch_tap_strides(const dot_plan &p, const dot_geometry &g) {
    // The scratch image holds one slice per tap of the depth.
    const bool filters = p.products == jit::dot_products::winograd_f43;
    return {p.copy[1] * p.copied_line_bytes, p.copied_line_bytes * g.dilation[1],
            filters ? jit::winograd_parts * p.part_stride : p.position_bytes * g.dilation[2]};
}

void plan_rows(dot_plan &p, const dot_geometry &g) {
    const bool dst_is_flat = lines_are_joined(g, g.dst_strides);
    const dim_t reach = (g.kernel[2] - 1) * g.dilation[2] + 1;
    p.copy = {g.kernel[0], 1, (g.width - 1) * g.stride[2] + reach};
    switch (p.source) {
    case row_source::in_place:
        p.is_flat = dst_is_flat && lines_are_joined(g, g.src_row_strides);
        p.tap_strides = g.src_tap_strides;
        p.row_stride = g.src_row_strides[2];
        p.line_stride = g.src_row_strides[1];
        break;
    case row_source::copied_rows:
        p.is_flat = dst_is_flat;
        p.tap_strides = {g.kernel[1] * g.kernel[2] * p.position_bytes, g.kernel[2] * p.position_bytes,
                         p.position_bytes};
        p.row_stride =
            div_up(g.kernel[0] * p.tap_strides[0], packed_i_block * p.widening) * packed_i_block * p.widening;
        if (p.row_stride % 4096 == 0)
            p.row_stride += 64; // else all rows fall into the same cache sets
        break;
    case row_source::copied_edges:
        p.copy[2] = (std::max<dim_t>({p.left_rows, p.right_rows, 1}) - 1) * g.stride[2] + reach;
        p.row_stride = g.stride[2] * p.position_bytes;
        break;
    case row_source::copied_image:
        p.row_stride = g.stride[2] * p.position_bytes;
        break;
    case row_source::gathered:
        p.is_flat = true;
        p.row_stride = g.stride[2] * p.position_bytes;
        break;
    }
    p.copied_line_bytes = p.copy[2] * p.position_bytes;
    if (p.products == jit::dot_products::winograd_f43) {
        const dim_t together = jit::rows_together(p.products), rows = div_up(g.width, together);
        p.part_stride = rows * p.row_stride;
        p.copied_line_bytes = winograd_tap_count(g) * jit::winograd_parts * p.part_stride;
        p.copy[2] = rows * together + winograd_tap_count(g) * jit::winograd_taps - 1;
    }
    if (p.source != row_source::in_place && p.source != row_source::copied_rows)
        p.line_stride = p.copied_line_bytes * g.stride[1];
    p.line_length = p.is_flat ? g.depth * g.height * g.width : g.width;
    p.lines = p.is_flat ? 1 : g.depth * g.height;
}

bool has_few_weights(const dot_geometry &g) {
    return g.packed().groups == 1 && g.packed().group_bytes() <= costs::few_weights;
}

/// A band is what stays in L2 while all columns pass over it; copied rows stay in L1 if the columns are few.
dim_t band_budget(const dot_plan &p, const dot_geometry &g, dim_t l2_bytes) {
    const bool is_cheap_to_repeat = p.source == row_source::copied_rows && has_few_weights(g);
    return is_cheap_to_repeat ? costs::l1_copied_rows
                              : std::max<dim_t>(l2_bytes / costs::l2_parts, costs::l2_least_band);
}

void plan_band(dot_plan &p, const dot_geometry &g, dim_t l2_bytes) {
    const dim_t budget = band_budget(p, g, l2_bytes);
    const bool is_image = p.source == row_source::copied_image || p.source == row_source::copied_edges;
    const bool filters = p.products == jit::dot_products::winograd_f43;
    const dim_t image_line = filters ? p.copied_line_bytes : g.in[2] * p.position_bytes;
    const dim_t line_bytes = std::max<dim_t>(1, is_image    ? g.kernel[0] * image_line * g.stride[1]
                                                : p.is_flat ? p.row_stride
                                                            : p.line_length * p.row_stride);
    p.band_lines = std::max<dim_t>(1, budget / line_bytes);
    if (!p.is_flat) // a band stays in one output slice, whose lines of the image are all that is copied
        p.band_lines = std::min(std::max<dim_t>(1, p.band_lines / p.tiles.lines) * p.tiles.lines, g.height);
    if (!is_image)
        return;
    p.copy[1] = (p.band_lines - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    p.tap_strides = scratch_tap_strides(p, g);
}

std::vector<std::int64_t> offsets_of_taps(const extent3 &counts, const extent3 &strides) {
    std::vector<std::int64_t> offsets;
    for (dim_t kd = 0; kd < counts[0]; kd++)
        for (dim_t kh = 0; kh < counts[1]; kh++)
            for (dim_t kw = 0; kw < counts[2]; kw++)
                offsets.push_back(kd * strides[0] + kh * strides[1] + kw * strides[2]);
    return offsets;
}

} // namespace

work_costs costs_of_work(const dot_plan &p, const dot_geometry &g, const dot_work &w) {
    const tile_plan &t = p.tiles;
    const auto cycles = [&](int rows, int vectors) {
        return tile_cycles(p.products, rows, vectors, planned_quads(p.products, p.taps, p.quads), t.overlap);
    };
    const double whole = cycles(t.rows, t.vectors);
    const double narrow = t.last_vectors ? cycles(t.rows, t.last_vectors) / whole : 1;
    std::vector<double> units(static_cast<std::size_t>(w.units_per_slice), 1);
    if ((p.is_flat || t.lines > 1) && t.tail_rows)
        units.back() = cycles(t.tail_rows, t.vectors) / whole;
    if (!p.range_of_line.empty())
        for (std::size_t unit = 0; unit < units.size(); unit++)
            units[unit] *= static_cast<double>(
                               p.ranges[p.range_of_line[unit * static_cast<std::size_t>(w.unit)]].count) /
                           static_cast<double>(g.packed().lines);
    return {{units, w.slices}, side_costs::even(t.panels, narrow, g.groups)};
}

dot_work plan_work(const dot_plan &p, const dot_geometry &g, const machine &m) {
    dot_work work;
    work.threads = useful_threads(g, m);
    work.unit = p.is_flat ? p.tiles.rows : p.tiles.lines;
    work.units_per_slice = div_up(p.is_flat ? p.line_length : g.height, work.unit);
    work.slices = g.outer() * (p.is_flat ? 1 : g.depth);
    work.panels = g.groups * p.tiles.panels;
    work.band = div_up(p.band_lines, work.unit);
    const work_costs costs = costs_of_work(p, g, work);
    work.shares = divide(costs.units, costs.panels, work.threads, prefers_panels(g));
    return work;
}

namespace {

/// Lines whose results lie one behind the other, and which are read in one piece.
short_lines short_lines_of(const dot_plan &p, const dot_geometry &g, const machine &m) {
    short_lines l{g.height, g.width, 0, std::max<dim_t>(1, g.kernel[2] / g.stride[2]), 1, false};
    const bool are_joined = g.dst_strides[1] == g.width * g.dst_strides[2];
    if (g.height == 1 || !are_joined || p.source == row_source::copied_edges || p.line_stride <= 0)
        return l;
    constexpr dim_t reach = int32_max - (1 << 16);
    l.most = std::max<dim_t>(1, reach / p.line_stride);
    if (p.row_stride > 0 && p.line_stride % p.row_stride == 0 && p.line_stride / p.row_stride >= g.width)
        l.distance = p.line_stride / p.row_stride;
    l.are_weights_beyond_l2 = g.weights.size_bytes() > static_cast<std::size_t>(m.l2_bytes / 2);
    return l;
}

} // namespace

dim_t tiles_of_panel(const dot_plan &p) {
    const dot_work &w = p.work;
    const cell_range &first = w.shares.front().front();
    const dim_t units = std::min({w.units_per_slice, w.band, first.end_row - first.first_row});
    return std::max<dim_t>(1, p.is_flat ? units : units * div_up(p.line_length, p.tiles.rows));
}

int plan_lines_ahead(const dot_plan &p) {
    const dim_t panel_bytes = p.taps * p.quads * packed_i_block * packed_o_block * p.tiles.blocks_per_panel;
    if (jit::are_in_tiles(p.products) || jit::have_wide_weights(p.products) || p.tiles.overlap ||
        p.lines_first || p.quads < jit::quads_per_step ||
        panel_bytes * p.work.panels < costs::least_weights_ahead)
        return 0;
    const dim_t tiles = tiles_of_panel(p);
    if (tiles > costs::most_tiles_ahead || tiles * p.tiles.rows < costs::least_rows_ahead)
        return 0;
    return static_cast<int>(div_up(jit::quads_per_step * p.tiles.blocks_per_panel, tiles));
}

dot_plan plan_dot(const dot_geometry &g, const machine &m, int epilogue_temps) {
    dot_plan p;
    const dim_t segment = g.tap_bytes();
    sharing shares{useful_threads(g, m), g.outer() * g.depth * g.height, g.groups, false};
    p.products = choose_products(g, m.isa, epilogue_temps);
    p.flips_source = g.flips_source() && (p.products == jit::dot_products::codes ||
                                          p.products == jit::dot_products::grouped_codes);
    p.widening = jit::are_in_words(p.products) ? 2 : 1;
    p.keeps_wide_weights = jit::have_wide_weights(p.products) && has_few_weights(g);
    p.position_bytes = g.position_bytes * p.widening;
    const dim_t quads = quads_of_row(p.products, g);
    const tile_plan line_tiles =
        plan_tiles(m.isa, g.width, g.packed().o, quads, epilogue_temps, shares, {}, p.products);
    p.rows_of_tap = plan_rows_of_tap(p, g, line_tiles);
    p.source = choose_source(g, line_tiles, p);
    if (p.source == row_source::copied_edges && p.rows_of_tap.empty()) {
        const edge_rows edges = plan_edges(g, line_tiles.rows);
        p.left_rows = edges.left;
        p.right_rows = edges.right;
    }
    plan_rows(p, g);
    p.tiles =
        p.is_flat ? line_tiles : join_lines(line_tiles, short_lines_of(p, g, m), g.packed().o, quads, shares);
    plan_band(p, g, m.l2_bytes);
    merge_taps(p, g, segment);
    plan_lines(p, g);
    p.lines_first = g.groups > 1; // groups that are neighbours share cache lines
    p.tap_offsets = offsets_of_taps(p.tap_counts, p.tap_strides);
    if (p.source == row_source::copied_edges) {
        p.edge_tap_offsets = p.tap_offsets;
        p.tap_offsets = offsets_of_taps(p.tap_counts, g.src_tap_strides);
    }
    if (p.is_flat) {
        shares.lines = g.outer();
        shares.splits_lines = true;
        shares.may_overlap = p.taps == 1 && g.groups == 1 && !g.weights.sums_source() &&
                             p.products != jit::dot_products::own_floats;
        const bool has_codes =
            memory::data_type_size(g.dst.data_type) == 1; // else panels are whole cache lines
        const tile_memory memory{p.row_stride, has_codes && p.line_length * g.packed().o > m.l2_bytes / 2,
                                 leaves_caches(g.weights.size_bytes()), p.source == row_source::gathered};
        p.tiles =
            plan_tiles(m.isa, p.line_length, g.packed().o, quads, epilogue_temps, shares, memory, p.products);
        p.band_lines = std::min(p.line_length, div_up(p.band_lines, p.tiles.rows) * p.tiles.rows);
    }

    constexpr dim_t slack = 64; // the last quad of a row may reach past its bytes
    const dim_t image_bytes = p.copy[0] * p.copy[1] * p.copied_line_bytes;
    if (p.source == row_source::copied_rows) {
        p.line_stride = p.line_length * p.row_stride;
        p.scratch_bytes = p.band_lines * (p.is_flat ? p.row_stride : p.line_stride) + slack;
    } else if (p.source == row_source::copied_image) {
        const bool filters = p.products == jit::dot_products::winograd_f43; // line by line
        p.scratch_bytes = image_bytes + (filters ? p.copy[2] * p.position_bytes : 0) + slack;
    } else if (p.source == row_source::copied_edges) {
        p.scratch_bytes = 2 * image_bytes + slack;
    } else if (p.source == row_source::gathered) {
        plan_gathered_rows(p, g, band_budget(p, g, m.l2_bytes));
    }
    p.work = plan_work(p, g, m);
    p.lines_ahead = plan_lines_ahead(p);
    plan_order(p, g, m);
    plan_next_lines(p, g, m);
    return p;
}

std::string text_of(const dot_plan &p) {
    constexpr const char *sources[] = {"rows in place", "copied rows", "copied image", "copied edges",
                                       "rows gathered from a copied image"};
    const tile_plan &t = p.tiles;
    return text(
        "tiles of ", t.rows, " rows x ", t.vectors, " vectors",
        jit::are_in_tiles(p.products)                   ? " in tile registers"
        : p.products == jit::dot_products::winograd_f43 ? " of 16-bit words by Winograd's F(4, 3)"
        : jit::are_in_words(p.products)                 ? " of 16-bit words"
                                                        : "",
        t.overlap ? " that overlap" : "", t.lines > 1 ? text(" of ", t.lines, " lines") : "", ", ", t.panels,
        " panels", p.chunk > 1 ? text(" in chunks of ", std::min(p.chunk, t.panels)) : "", ", ", p.lines,
        " lines of ", p.line_length, " rows, ", p.taps, p.order.keeps_sums ? " parts of " : " taps of ",
        p.quads, " quads", p.rows_of_tap.empty() ? ", " : " without padding, ",
        sources[static_cast<int>(p.source)], ", ", p.scratch_bytes, " bytes of scratch, bands of ",
        std::min(p.work.band * p.work.unit, p.band_lines), ", ", p.work.shares.size(), " shares for ",
        p.work.threads, " threads",
        p.next_lines > 0 ? text(", fetches ", p.next_lines, " cache lines of what is read next") : "");
}

void plan_lines(dot_plan &p, const dot_geometry &g) {
    const dim_t lines = g.packed().lines;
    // Lines of a tile have one range.
    const auto range_of = [&](dim_t oh) {
        const dim_t first = oh / p.tiles.lines * p.tiles.lines;
        line_range all = lines_inside(g, first);
        for (dim_t line = first; line < std::min(first + p.tiles.lines, g.height); line++) {
            const line_range range = lines_inside(g, line);
            if (range.count == 0)
                return p.ranges[0];
            const dim_t end = std::max(all.first + all.count, range.first + range.count);
            all.first = std::min(all.first, range.first);
            all.count = end - all.first;
        }
        return all;
    };
    p.ranges = {{0, lines}};
    p.range_of_line.clear();
    const bool is_image = p.source == row_source::copied_image || p.source == row_source::copied_edges;
    if (!is_image || g.sums_f32() || g.weights.sums_source() || g.kernel[0] != 1 || p.tap_counts[1] != lines)
        return;
    for (dim_t oh = 0; oh < g.height; oh++) {
        const line_range range = range_of(oh);
        const auto found = std::find(p.ranges.begin(), p.ranges.end(), range);
        p.range_of_line.push_back(static_cast<std::size_t>(found - p.ranges.begin()));
        if (found == p.ranges.end())
            p.ranges.push_back(range);
    }
}

namespace {

dim_t rows_of(const dot_geometry &g) { return g.outer() * g.depth * g.height * g.width; }

} // namespace

int useful_threads(const dot_geometry &g, const machine &m) {
    const dim_t results = rows_of(g) * g.groups * g.packed().line_sums();
    const dim_t weights = g.packed().groups * g.packed().group_bytes();
    const dim_t cycles = std::max(results * g.tap_bytes() * g.packed().taps / costs::products_per_cycle,
                                  weights / costs::weight_bytes_per_cycle) +
                         results / costs::results_per_cycle;
    return useful_threads(cycles, m);
}

bool prefers_panels(const dot_geometry &g) {
    const dim_t source = g.outer() * g.in[0] * g.in[1] * g.in[2] * g.position_bytes;
    const dim_t results = rows_of(g) * g.groups * g.packed().o;
    return g.packed().groups * g.packed().group_bytes() > std::max(results, costs::per_foreign_byte * source);
}

} // namespace octet::impl
