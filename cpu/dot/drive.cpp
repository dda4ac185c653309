// The driver: `execute` binds arguments and gives each thread its share; below it, bands of lines, panels of
// columns and calls of the kernel are nested loops. Start at `execute`.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/dot/drive.hpp"

#include <algorithm>
#include <array>

#include "common/text.hpp"
#include "cpu/accumulating/columns.hpp"
#include "cpu/accumulating/full_tensors.hpp"
#include "cpu/accumulating/lazy_kernel.hpp"
#include "cpu/accumulating/padding.hpp"
#include "cpu/dot/next_bytes.hpp"
#include "cpu/dot/segments.hpp"
#include "cpu/dot/wide_weights.hpp"
#include "cpu/machine/parallel.hpp"
#include "cpu/machine/scratch.hpp"
#include "jit/kernels/dot_amx.hpp"

namespace octet::impl::dot {

namespace {

/// Values of one execution.
struct execution {
    const std::uint8_t *src;
    std::uint8_t *dst;
    column_arguments columns;
    std::int16_t padding;
    const full_tensors &full;
    const std::uint8_t *next_first;        ///< null: it is not known what the program reads next
    const std::uint32_t *params = nullptr; ///< each thread's own, as the next
    const std::int32_t *initial = nullptr;
    next_bytes *next = nullptr;
    bool has_more_bands = false; ///< behind the one that is computed
};

class dot_driver : public kernel {
public:
    dot_driver(const dot_geometry &geometry, const epilogue &out, const machine &m)
        : geometry_(geometry), epilogue_(out, geometry_.columns, sums_rows()),
          plan_(plan_dot(geometry_, m, epilogue_.temps(m.isa, stage()))),
          columns_(geometry_.weights, epilogue_, plan_.ranges, geometry_.groups > 1, m.isa), machine_(m) {
        for (const bool is_tail : {false, true})
            for (const bool last : {false, true})
                if (const int rows = is_tail ? plan_.tiles.tail_rows : plan_.tiles.rows)
                    kernel_of(is_tail, last) = make_kernel(rows, last);
    }

    void execute(const arguments &args) const override {
        const std::int32_t *zp = geometry_.src_zero_points.bind(args);
        const std::int32_t src_zp = (zp ? *zp : 0) + (plan_.flips_source ? 128 : 0);
        // Positions that no result reads, which then can be anything: filtered ones have to stay small.
        const auto padding = static_cast<std::int16_t>(geometry_.reads_outside() ? src_zp : 0);
        const column_arguments columns = columns_.bind(args, src_zp);
        if (!columns_.may_start_from_magic_bias(columns))
            return from_zero_.get([&] { return make_from_zero(); }).execute(args);
        const full_tensors full(epilogue_, args);
        run_tasks({args.get<const std::uint8_t>(OCTET_ARG_SRC) +
                       geometry_.src.offset0 * geometry_.src_element_bytes,
                   args.get<std::uint8_t>(OCTET_ARG_DST) + geometry_.dst.offset0 * dst_size(), columns,
                   padding, full, args.get<const std::uint8_t>(OCTET_ARG_ATTR_PREFETCH)});
    }

    std::size_t size_bytes() const override {
        std::size_t bytes = sizeof *this + columns_.size_bytes();
        for (const auto &kernel : kernels_)
            bytes += kernel ? kernel->code_bytes() : 0;
        return bytes;
    }

    std::string plan() const override {
        return text(text_of(plan_), ", ", geometry_.weights.size_bytes(), " bytes of packed weights");
    }

private:
    jit::epilogue_stage stage() const {
        return geometry_.sums_f32() ? jit::epilogue_stage::f32_accumulator : jit::epilogue_stage::accumulator;
    }
    std::shared_ptr<const kernel> make_from_zero() const {
        dot_geometry geometry = geometry_;
        geometry.columns.largest_products = HUGE_VAL;
        return std::make_shared<dot_driver>(geometry, epilogue_.source(), machine_);
    }
    bool sums_rows() const { return geometry_.weights.sums_source(); }
    bool has_signed_rows() const { return geometry_.flips_source() && !plan_.flips_source; }
    dim_t dst_size() const { return static_cast<dim_t>(memory::data_type_size(geometry_.dst.data_type)); }
    using tile_kernel = jit::finished_code<jit::dot_args>;
    std::shared_ptr<const tile_kernel> &kernel_of(bool is_tail, bool is_last_panel) {
        return kernels_[(is_tail ? 2 : 0) + (is_last_panel ? 1 : 0)];
    }
    const tile_kernel &kernel_of(bool is_tail, bool is_last_panel) const {
        return *kernels_[(is_tail ? 2 : 0) + (is_last_panel ? 1 : 0)];
    }

    std::shared_ptr<const tile_kernel> make_kernel(int rows, bool last_panel) const {
        const jit::dot_spec spec = spec_of(plan_, geometry_, machine_.isa, rows, last_panel);
        if (jit::are_in_tiles(spec.products))
            return jit::amx_dot_code(spec, epilogue_);
        return jit::dot_code(spec, epilogue_);
    }

    void run_tasks(const execution &shared) const {
        const std::vector<share> &shares = plan_.work.shares;
        parallel_for(static_cast<dim_t>(shares.size()), 1, [&](dim_t begin, dim_t end) {
            execution run = shared;
            run.params = columns_.params(run.columns);
            run.initial = columns_.initial(run.columns);
            const jit::tile_registers_scope until_all_are_done;
            for (dim_t task = begin; task < end; task++) {
                next_bytes next = next_of_task(run, task);
                run.next = &next;
                for (const cell_range &cells : shares[static_cast<std::size_t>(task)])
                    run_cells(run, cells);
            }
        });
    }

    /// Threads have equal parts: who divides the next layer by columns reads about what it has fetched.
    next_bytes next_of_task(const execution &run, dim_t task) const {
        if (plan_.next_lines == 0 || !run.next_first)
            return {};
        return part_of_next(run.next_first, plan_.next_lines, task,
                            static_cast<dim_t>(plan_.work.shares.size()));
    }

    /// Band after band, each in one output slice.
    void run_cells(execution &run, const cell_range &cells) const {
        const dot_work &w = plan_.work;
        const dim_t slice_rows = plan_.is_flat ? plan_.line_length : geometry_.height;
        const dim_t depth = plan_.is_flat ? 1 : geometry_.depth;
        if (plan_.keeps_wide_weights)
            widen_panels(run, cells.first_panel, cells.end_panel);
        for (dim_t unit = cells.first_row, end = 0; unit < cells.end_row; unit = end) {
            const dim_t slice = unit / w.units_per_slice;
            end = std::min(cells.end_row, (slice + 1) * w.units_per_slice);
            const dim_t bands = div_up(end - unit, w.band);
            for (dim_t b = 0; b < bands; b++) {
                const auto row = [&](dim_t band) {
                    const dim_t at = unit + (end - unit) * band / bands - slice * w.units_per_slice;
                    return std::min(at * w.unit, slice_rows);
                };
                run.has_more_bands = end < cells.end_row || b + 1 < bands;
                run_band(run, {slice / depth, slice % depth, row(b), row(b + 1) - row(b)}, cells.first_panel,
                         cells.end_panel);
            }
        }
    }

    /// A band against panels [first_panel, end_panel).
    void run_band(const execution &run, const row_band &band, dim_t first_panel, dim_t end_panel) const {
        const std::uint8_t *src = run.src + geometry_.src_outer[static_cast<std::size_t>(band.outer)];
        const row_segments segments = prepare_rows(geometry_, plan_, {src, run.padding}, band);
        const dim_t lines = plan_.is_flat ? 1 : band.count;
        if (plan_.lines_first)
            for (dim_t line = 0, end = 0; line < lines; line = end) {
                end = std::min(line + plan_.tiles.lines, lines);
                run_lines(run, band, segments, line, end, first_panel, end_panel);
            }
        else
            run_lines(run, band, segments, 0, lines, first_panel, end_panel);
    }

    /// Lines [first_line, end_line) of a band, all of one panel before the next.
    void run_lines(const execution &run, const row_band &band, const row_segments &segments, dim_t first_line,
                   dim_t end_line, dim_t first_panel, dim_t end_panel) const {
        const dim_t dst_line =
            geometry_.dst_outer[static_cast<std::size_t>(band.outer)] +
            (plan_.is_flat ? band.first * geometry_.dst_strides[2]
                           : band.od * geometry_.dst_strides[0] + band.first * geometry_.dst_strides[1]);
        dim_t summed_group = -1;
        const std::int32_t *row_sums = nullptr;
        // The kernel goes from group to group by itself where a group is one panel; sums of rows are those of a
        // single group, so that each needs a call of its own.
        const bool all_groups = plan_.lines_first && plan_.tiles.panels == 1 && !sums_rows();
        for (dim_t panel = first_panel, panels = 1; panel < end_panel; panel += panels) {
            panels = all_groups ? end_panel - first_panel : panels_of_chunk(panel, end_panel);
            const dim_t group = panel / plan_.tiles.panels;
            const dim_t group_offset = group * geometry_.group_bytes() * plan_.widening;
            if (sums_rows() && group != summed_group) { // such plans have one segment
                row_sums = sum_rows(segments[0], group_offset, first_line, end_line);
                summed_group = group;
            }
            const std::int8_t *weights = panel_weights(run, band.outer, group, panel % plan_.tiles.panels);
            dim_t tiles = 0; // of this panel so far
            for (dim_t line = first_line, count = 0; line < end_line; line += count) {
                const std::size_t range = range_of(band.first + line);
                count = lines_of_call(band.first + line, end_line - line);
                for (const row_segment &s : segments) {
                    if (s.rows == 0)
                        continue;
                    const line_part part{band.outer,
                                         group,
                                         all_groups ? panels : 1,
                                         panel % plan_.tiles.panels,
                                         all_groups ? 1 : panels,
                                         weights,
                                         next_panel(run, panel + panels, first_panel, end_panel) - panel,
                                         range,
                                         tiles,
                                         count,
                                         panel + panels == end_panel && !run.has_more_bands};
                    run_segment(run, part, s, s.src + line * s.line_stride + group_offset,
                                dst_line + line * geometry_.dst_strides[1],
                                row_sums ? row_sums + (line - first_line) * s.rows : nullptr);
                    tiles += div_up(count * s.rows, plan_.tiles.rows);
                }
            }
        }
    }

    /// Panels from this one on that the same kernel multiplies with some rows before the rows below.
    dim_t panels_of_chunk(dim_t panel, dim_t end_panel) const {
        if (plan_.chunk == 1)
            return 1;
        const bool differs = plan_.tiles.last_vectors > 0 || plan_.tiles.tail != machine_.isa.lanes();
        const dim_t last = plan_.tiles.panels - 1, end = differs && panel < last ? last : plan_.tiles.panels;
        return std::min({plan_.chunk, end - panel, end_panel - panel});
    }

    /// The panel behind others, whose weights are multiplied next.
    dim_t next_panel(const execution &run, dim_t panel, dim_t first_panel, dim_t end_panel) const {
        return panel == end_panel && run.has_more_bands ? first_panel : panel;
    }

    std::size_t range_of(dim_t line) const {
        return plan_.range_of_line.empty() ? 0 : plan_.range_of_line[static_cast<std::size_t>(line)];
    }
    bool are_tiles_whole_lines() const {
        return !plan_.is_flat && plan_.source != row_source::copied_edges &&
               plan_.tiles.rows == plan_.tiles.lines * geometry_.width;
    }
    /// Lines from `line` on, of `most`, that the kernel takes in one call: those of a tile, or of several of one range.
    dim_t lines_of_call(dim_t line, dim_t most) const {
        const dim_t of_tile = plan_.tiles.lines;
        dim_t count = std::min(of_tile, most);
        while (are_tiles_whole_lines() && count + of_tile <= most && range_of(line + count) == range_of(line))
            count += of_tile;
        return count;
    }

    /// Sums of the source codes that each row of these lines multiplies.
    const std::int32_t *sum_rows(const row_segment &rows, dim_t group_offset, dim_t first_line,
                                 dim_t end_line) const {
        auto *sums = static_cast<std::int32_t *>(thread_scratch(
            scratch_slot::row_sums,
            static_cast<std::size_t>((end_line - first_line) * rows.rows) * sizeof(std::int32_t)));
        // A merged tap's bytes beyond its channels would meet zero weights, but must not be summed. Split words beyond
        // them are zero.
        const bool are_whole_quads =
            geometry_.packed().i % packed_i_block == 0 || plan_.products == jit::dot_products::split_words;
        const dim_t segment = are_whole_quads ? plan_.quads * packed_i_block : geometry_.packed().i;
        const auto sum_of = [&](const std::uint8_t *codes) {
            return jit::are_in_words(plan_.products) ? sum_words(codes, segment)
                                                     : sum_bytes(codes, segment, has_signed_rows());
        };
        for (dim_t line = first_line; line < end_line; line++)
            for (dim_t r = 0; r < rows.rows; r++) {
                std::uint32_t sum = 0;
                for (const dim_t tap : plan_.tap_offsets)
                    sum += static_cast<std::uint32_t>(sum_of(rows.src + line * rows.line_stride +
                                                             group_offset + r * plan_.row_stride + tap));
                sums[(line - first_line) * rows.rows + r] = static_cast<std::int32_t>(sum);
            }
        return sums;
    }

    /// The results of one line that are computed, and the lines of the kernel that they come from.
    struct line_part {
        dim_t outer, group, groups, panel; ///< `groups` groups from `group` on
        dim_t panels;                      ///< from `panel` on, if there is one group
        const std::int8_t *weights;        ///< of the panel
        dim_t next;                        ///< panels to those that are multiplied next
        std::size_t range;
        dim_t tiles_before; ///< that the panel has been multiplied with
        dim_t lines;        ///< several if tiles are whole lines
        bool is_last;       ///< no weights are multiplied behind these
    };

    dim_t first_block(dim_t outer, dim_t group, dim_t panel) const {
        const dim_t stored_group = geometry_.first_group[static_cast<std::size_t>(outer)] + group;
        return stored_group * geometry_.packed().o_blocks() + panel * plan_.tiles.blocks_per_panel;
    }
    /// As they are packed, or as words that this thread makes of them.
    const std::int8_t *panel_weights(const execution &run, dim_t outer, dim_t group, dim_t panel) const {
        const packed_geometry &p = geometry_.packed();
        const std::int8_t *packed = run.columns.weights + first_block(outer, group, panel) * p.block_bytes();
        if (!jit::have_wide_weights(plan_.products))
            return packed;
        std::int8_t *words = wide_panel(plan_.keeps_wide_weights ? panel : 0);
        if (!plan_.keeps_wide_weights)
            widen_panel(packed, panel, words);
        return words;
    }
    void widen_panels(const execution &run, dim_t first, dim_t last) const {
        for (dim_t panel = first; panel < last; panel++)
            widen_panel(run.columns.weights + first_block(0, 0, panel) * geometry_.packed().block_bytes(),
                        panel, wide_panel(panel));
    }
    void widen_panel(const std::int8_t *packed, dim_t panel, std::int8_t *words) const {
        const packed_geometry &p = geometry_.packed();
        const dim_t first = panel * plan_.tiles.blocks_per_panel;
        const dim_t blocks = std::min(plan_.tiles.blocks_per_panel, p.o_blocks() - first);
        for (dim_t b = 0; b < blocks; b++)
            widen_weights(plan_, geometry_.kernel[2], machine_.isa.lanes(), packed + b * p.block_bytes(),
                          words + b * block_bytes());
    }
    std::int8_t *wide_panel(dim_t index) const {
        const dim_t bytes = plan_.tiles.blocks_per_panel * block_bytes();
        const dim_t panels = plan_.keeps_wide_weights ? plan_.tiles.panels : 1;
        return static_cast<std::int8_t *>(
                   thread_scratch(scratch_slot::wide_weights, static_cast<std::size_t>(panels * bytes))) +
               index * bytes;
    }
    /// Bytes of a block of weights as the kernel takes them, and of a tap in what lies side by side.
    dim_t block_bytes() const {
        const bool by_vector = plan_.products == jit::dot_products::winograd_f43;
        return plan_.taps * tap_bytes() * (by_vector ? packed_o_block / machine_.isa.lanes() : 1);
    }
    dim_t tap_bytes() const {
        return plan_.quads * jit::weights_quad_bytes(plan_.products, machine_.isa.lanes());
    }

    /// One segment of a line, or of several; `src` is its first row, `dst_line` the element of the line's first row.
    void run_segment(const execution &run, const line_part &part, const row_segment &segment,
                     const std::uint8_t *src, dim_t dst_line, const std::int32_t *row_sums) const {
        const packed_geometry &p = geometry_.packed();
        const bool last = part.panel == plan_.tiles.panels - 1;
        const dim_t panel_block = part.panel * plan_.tiles.blocks_per_panel;
        const dim_t block = first_block(part.outer, part.group, part.panel);
        const dim_t element = dst_line + segment.first_row * geometry_.dst_strides[2] + part.group * p.o +
                              panel_block * packed_o_block;
        const line_range &lines = plan_.ranges[part.range];
        const dim_t taps_per_line = plan_.taps / p.lines; // 0 if they are merged, but then no line is skipped
        const dim_t first_tap = lines.first * taps_per_line;
        const void *full[max_post_ops];
        jit::dot_args args{};
        args.configured_tiles = jit::tile_registers_scope::configured();
        const std::int8_t *weights = part.weights + first_tap * tap_bytes();
        const std::int32_t *initial =
            run.initial + static_cast<dim_t>(part.range) * columns_.padded_columns() + block * packed_o_block;
        args.full = full;
        args.tap_offsets = segment.tap_offsets + first_tap;
        args.taps = lines.count == p.lines ? plan_.taps : lines.count * taps_per_line;

        // Columns that multiply channels of their own begin where those are.
        const dim_t own_column =
            p.multiplies_own ? panel_block * packed_o_block * geometry_.src_element_bytes : 0;
        const dim_t rows = part.lines * segment.rows;
        const dim_t row_tiles = rows / plan_.tiles.rows, tiled_rows = row_tiles * plan_.tiles.rows;
        const auto call = [&](bool is_tail, dim_t first_row, dim_t tiles) {
            const dim_t first = element + first_row * geometry_.dst_strides[2];
            run.full.find(first, full);
            args.src = src + own_column + plan_.row_offset(first_row);
            if (plan_.source == row_source::gathered)
                set_gathered(args, src, segment.position + first_row);
            args.weights = weights;
            args.initial = initial;
            args.params = run.params + block * columns_.block_words();
            args.dst = run.dst + first * dst_size();
            args.row_sums = row_sums ? row_sums + first_row : nullptr;
            args.tiles = tiles;
            if (plan_.order.fetches_on)
                set_next(args, *run.next, part.weights, plan_.tiles.vectors_of(last), tiles);
            kernel_of(is_tail, last).function()(&args);
        };
        if (part.groups > 1) {
            set_group_steps(args);
            for (dim_t tile = 0; tile < row_tiles; tile++)
                call(false, tile * plan_.tiles.rows, part.groups);
            if (rows > tiled_rows)
                call(true, tiled_rows, part.groups);
            return;
        }
        set_row_steps(args, segment);
        set_turns(args, part.panels);
        if (!plan_.order.keeps_sums) {
            set_ahead(args, run, part, part.is_last, part.next * panel_bytes());
            if (row_tiles > 0)
                call(false, 0, row_tiles * part.panels);
            if (rows > tiled_rows)
                call(true, tiled_rows, part.panels);
            return;
        }
        // Parts of the reduction, whose sums are kept for the next one.
        const dim_t row_bytes =
            plan_.tiles.vectors_of(last) * packed_o_block * static_cast<dim_t>(sizeof(std::int32_t));
        auto *const sums = static_cast<std::uint8_t *>(thread_scratch(
            scratch_slot::kept_sums, static_cast<std::size_t>(rows * part.panels * row_bytes)));
        args.taps = 1;
        for (dim_t tap = 0; tap < plan_.taps; tap++, args.tap_offsets++, weights += tap_bytes()) {
            const bool is_last = tap == plan_.taps - 1;
            args.sums = is_last ? nullptr : sums;
            set_ahead(args, run, part, is_last && part.is_last,
                      is_last ? part.next * panel_bytes() : (tap + 1) * tap_bytes());
            const auto call_rows = [&](bool is_tail, dim_t first_row, dim_t tile_rows, dim_t tiles) {
                if (tap > 0) {
                    initial =
                        reinterpret_cast<const std::int32_t *>(sums + first_row * part.panels * row_bytes);
                    args.initial_row_stride = row_bytes;
                    args.initial_step = args.initial_turn = tile_rows * row_bytes;
                }
                if (tiles > 0)
                    call(is_tail, first_row, tiles);
            };
            call_rows(false, 0, plan_.tiles.rows, row_tiles * part.panels);
            call_rows(true, tiled_rows, rows - tiled_rows, rows > tiled_rows ? part.panels : 0);
        }
    }

    /// The call begins with this row of the lines at `src`, behind the ring.
    void set_gathered(jit::dot_args &args, const std::uint8_t *src, dim_t row) const {
        const dim_t width = geometry_.width, position = row % width;
        args.src = src + row / width * plan_.line_stride + position * plan_.row_stride;
        args.rows_of_line = width - position;
        args.ring = const_cast<std::uint8_t *>(src) - ring_bytes(plan_);
    }

    dim_t panel_bytes() const { return plan_.tiles.blocks_per_panel * geometry_.packed().block_bytes(); }

    void set_row_steps(jit::dot_args &args, const row_segment &segment) const {
        const dim_t rows = plan_.tiles.rows, lines = plan_.tiles.lines;
        const bool by_lines = are_tiles_whole_lines();
        args.src_step = by_lines ? lines * segment.line_stride : plan_.row_offset(rows);
        args.dst_step = by_lines ? lines * geometry_.dst_strides[1] : rows * geometry_.dst_strides[2];
        args.row_sums_step = rows * static_cast<dim_t>(sizeof(std::int32_t));
        args.weights_step = args.initial_step = args.params_step = 0;
    }
    /// From panel to panel and, behind the last of so many, to the rows below: instead of the steps, which go there.
    void set_turns(jit::dot_args &args, dim_t panels) const {
        if (panels == 1)
            return;
        const auto set = [&](std::int64_t &step, std::int64_t &turn, dim_t to_next_panel) {
            turn = step - (panels - 1) * to_next_panel;
            step = to_next_panel;
        };
        const dim_t blocks = plan_.tiles.blocks_per_panel, word = static_cast<dim_t>(sizeof(std::uint32_t));
        set(args.src_step, args.src_turn, 0);
        set(args.weights_step, args.weights_turn, panel_bytes());
        set(args.initial_step, args.initial_turn, blocks * packed_o_block * word);
        set(args.params_step, args.params_turn, blocks * columns_.block_words() * word);
        set(args.dst_step, args.dst_turn, blocks * packed_o_block);
        set(args.row_sums_step, args.row_sums_turn, 0);
        args.tiles_per_turn = panels;
    }
    /// The weights that are multiplied next lie so many bytes behind these; each tile fetches its part of them.
    void set_ahead(jit::dot_args &args, const execution &run, const line_part &part, bool is_last,
                   dim_t distance) const {
        const dim_t line = packed_o_block * packed_i_block, taps = plan_.order.keeps_sums ? 1 : plan_.taps;
        const dim_t steps = jit::are_in_tiles(plan_.products) ? jit::amx_fetching_steps(taps, plan_.quads)
                                                              : taps * (plan_.quads / jit::quads_per_step);
        const dim_t fetched = plan_.lines_ahead * line * steps; // by a tile
        const std::int8_t *const next = part.weights + distance;
        args.ahead = (jit::are_in_tiles(plan_.products) ? next_chunk(run, part, is_last, next, taps) : next) +
                     part.tiles_before * fetched;
        args.ahead_step = part.panels > 1 ? panel_bytes() : fetched;
        args.ahead_turn = fetched - (part.panels - 1) * panel_bytes();
    }
    /// As many bytes as these panels have: at `next`, or the last ones of the weights if fewer follow. Behind the
    /// last ones are those of the next layer, if it is known where they lie.
    const std::int8_t *next_chunk(const execution &run, const line_part &part, bool is_last,
                                  const std::int8_t *next, dim_t taps) const {
        const packed_geometry &p = geometry_.packed();
        const std::int8_t *end = run.columns.weights + p.groups * p.group_bytes();
        if (is_last && run.next->begin) {
            next = reinterpret_cast<const std::int8_t *>(run.next->begin);
            end = reinterpret_cast<const std::int8_t *>(run.next_first) + plan_.next_lines * jit::cache_line;
        }
        const int vectors = plan_.tiles.vectors_of(part.panel == plan_.tiles.panels - 1);
        const dim_t bytes =
            (part.panels - 1) * panel_bytes() + (vectors - 1) * block_bytes() + taps * tap_bytes();
        return std::min(next, end - bytes);
    }
    /// The tiles of a call fetch what is next where they have no part of a chunk to fetch.
    void set_next(jit::dot_args &args, next_bytes &next, const std::int8_t *weights, int vectors,
                  dim_t tiles) const {
        const dim_t steps = jit::amx_fetching_steps(args.taps, plan_.quads);
        const tile_fetches of_call =
            next.of_call(tiles, steps * plan_.lines_ahead * vectors * jit::cache_line, weights);
        args.ahead = of_call.first;
        args.ahead_step = args.ahead_turn = of_call.step;
    }
    void set_group_steps(jit::dot_args &args) const {
        const packed_geometry &p = geometry_.packed();
        args.src_step = geometry_.group_bytes() * plan_.widening;
        args.dst_step = p.o;
        args.weights_step = p.group_bytes();
        args.initial_step = p.line_sums() * static_cast<dim_t>(sizeof(std::int32_t));
        args.params_step = p.o_blocks() * columns_.block_words() * static_cast<dim_t>(sizeof(std::uint32_t));
        args.row_sums_step = 0;
    }

    const dot_geometry geometry_;
    const jit::epilogue_plan epilogue_;
    const dot_plan plan_;
    const columns columns_;
    const machine machine_;
    const lazy_kernel from_zero_; ///< for biases too large for the epilogue's magic bias
    std::array<std::shared_ptr<const tile_kernel>, 4> kernels_; ///< by "tail rows" and "last panel"
};

template <typename Problem> candidate plan_problem(const Problem &p, const machine &m) {
    const std::string reason = refuses_dot(p);
    if (!reason.empty())
        return candidate::refused(reason);
    const dot_geometry g = dot_geometry_of(p);
    if (g.weights.sums_source() && g.packed().merged > 1)
        return candidate::refused("weights zero points (or u8 weights) with small groups");
    // 28 rows stay within a 32-bit displacement, also of words, which are twice as long.
    const dim_t largest_stride = dim_t{1} << (m.isa.has_dot4() ? 26 : 25);
    for (const dim_t stride : {g.src_row_strides[2], g.position_bytes * g.stride[2], g.weights.reduction()})
        if (stride > largest_stride)
            return candidate::refused(text("rows ", stride, " bytes apart"));
    const candidate generated([g, out = p.out_stage, m] { return std::make_shared<dot_driver>(g, out, m); });
    return g.reads_outside() ? with_padding(p, generated) : generated;
}

} // namespace

candidate plan(const convolution_problem &p, const machine &m) {
    if (p.weights.format_kind == format_kind::packed && p.weights.packed_patches.height > 0)
        return candidate::refused("weights packed for the depthwise kernel");
    return plan_problem(p, m);
}
candidate plan(const matmul_problem &p, const machine &m) { return plan_problem(p, m); }

} // namespace octet::impl::dot
