#pragma once // SPDX-License-Identifier: Apache-2.0

// How a dot geometry is executed, decided by pure functions from the geometry and the machine.

#include <string>

#include "common/machine.hpp"
#include "cpu/accumulating/columns.hpp"
#include "cpu/accumulating/work.hpp"
#include "cpu/dot/geometry.hpp"
#include "cpu/dot/tiles.hpp"

namespace octet::impl {

/// The memory that the kernel reads its rows from.
enum class row_source {
    in_place,     ///< the user's memory
    copied_rows,  ///< each row is one segment of bytes, copied one below the other
    copied_image, ///< the part of the padded image that a band of lines needs, channels-last
    copied_edges, ///< the user's memory, but for the first and last rows of a line, which reach outside
    gathered,     ///< a copied image, whose pieces the kernel gathers (`gathered_patch`)
};

/// The division of a plan's work. A unit is a row of tiles of a flat plan, else a line, or the lines of a tile.
struct dot_work {
    dim_t unit = 1; ///< lines (flat: rows)
    dim_t units_per_slice =
        1;            ///< of the output (flat: of an outer index); the last one of a flat plan may be smaller
    dim_t slices = 1; ///< of all outer indices
    dim_t panels = 1; ///< of all stored groups
    dim_t band = 1;   ///< units that are worked on for all columns before going on, at most
    int threads = 1;  ///< that are worth waking
    std::vector<share> shares; ///< of units × panels
};

struct dot_plan {
    jit::dot_products products = jit::dot_products::codes;
    bool flips_source =
        false; ///< sign bits of a signed one: products of bytes in vectors take unsigned codes
    row_source source = row_source::in_place;
    bool is_flat = false;             ///< all rows of an outer index form one line
    dim_t line_length = 1, lines = 1; ///< per outer index
    tile_plan tiles;
    dim_t taps = 1, quads = 1;    ///< of the kernel: neighbouring taps with whole quads are merged
    dim_t row_stride = 0;         ///< bytes between rows as the kernel sees them (`jit::rows_together`)
    dim_t part_stride = 0;        ///< filtered rows: bytes between their parts
    dim_t line_stride = 0;        ///< bytes between lines
    extent3 tap_strides{0, 0, 0}; ///< bytes between neighbouring taps
    extent3 tap_counts{1, 1, 1};
    dim_t band_lines = 1;                  ///< most lines (flat: rows) of a band
    extent3 copy{1, 1, 1};                 ///< positions of the scratch image, or of each of its two strips
    dim_t copied_line_bytes = 0;           ///< of a line of theirs as the kernel sees it
    dim_t left_rows = 0, right_rows = 0;   ///< copied_edges: rows of a line that are read from the strips
    std::vector<std::int64_t> tap_offsets; ///< bytes from a row's first tap
    std::vector<std::int64_t> edge_tap_offsets; ///< the same in the strips
    /// In tile registers: panels that are multiplied with some rows before the rows below, and what that
    /// order loads how.
    dim_t chunk = 1;
    jit::tile_order order;
    bool lines_first = false;       ///< order in a band: all columns of a line, or all lines of a panel
    std::vector<line_range> ranges; ///< what output lines read of the kernel: lines inside the image, or all
    /// Index into `ranges` for each output line; empty: all have the first.
    std::vector<std::size_t> range_of_line;
    /// Tiles that are whole lines multiply no columns of padding that are zeros (`dot_spec::rows_of_tap`);
    /// empty: they do.
    std::vector<jit::row_range> rows_of_tap;
    dim_t widening = 1;       ///< bytes of scratch memory per byte of the source: 2 of words
    dim_t position_bytes = 1; ///< of a source position in scratch memory
    dim_t scratch_bytes = 0;  ///< per thread
    /// Words of few weights are made of all panels before the bands, else of each panel when it meets a band.
    bool keeps_wide_weights = false;
    /// Bytes from the first row of a line to this one, which begins a tile.
    dim_t row_offset(dim_t row) const { return row / jit::rows_together(products) * row_stride; }
    dot_work work;
    /// Few tiles share a panel of weights, which then arrive while the panel before is multiplied: a tile fetches so
    /// many lines per step (`dot_spec::lines_ahead`). In tile registers the same of chunks. 0: nothing.
    int lines_ahead = 0;
    /// Cache lines that the program reads next (`dot_geometry::prefetched_bytes`), fetched as `lines_ahead` where a
    /// tile has no part of a chunk to fetch. 0: none.
    dim_t next_lines = 0;
};

dot_plan plan_dot(const dot_geometry &g, const machine &m, int epilogue_temps);
std::string text_of(const dot_plan &p);
/// The kernel of tiles of so many rows, of the last panel or of another one.
jit::dot_spec spec_of(const dot_plan &p, const dot_geometry &g, instruction_set isa, int rows,
                      bool is_last_panel);

/// Rows at both ends of a line that reach outside the image, in whole tiles of `tile_rows`.
struct edge_rows {
    dim_t left = 0, right = 0;
};
/// See dot_plan::rows_of_tap; of taps that are merged, in words, tile registers and f32, and with zero points
/// in the padding or of the weights all rows are multiplied.
std::vector<jit::row_range> plan_rows_of_tap(const dot_plan &p, const dot_geometry &g,
                                             const tile_plan &line_tiles);
edge_rows plan_edges(const dot_geometry &g, dim_t tile_rows);

/// Fills ranges and range_of_line: output lines at the border skip the lines of the kernel that lie outside
/// the image. Not where taps are merged, in 3D, or where row sums would have to skip them too.
void plan_lines(dot_plan &p, const dot_geometry &g);

/// Made with the plan, so that it is told with it.
dot_work plan_work(const dot_plan &p, const dot_geometry &g, const machine &m);

/// Costs of units and panels relative to a whole one: the sides of the grid that `plan_work` divides.
struct work_costs {
    side_costs units, panels;
};
work_costs costs_of_work(const dot_plan &p, const dot_geometry &g, const dot_work &w);

/// Tiles that a thread multiplies with a panel before the next one.
dim_t tiles_of_panel(const dot_plan &p);

/// See dot_plan::lines_ahead.
int plan_lines_ahead(const dot_plan &p);

/// Fills `chunk`, `order` and `lines_ahead` of products in tile registers, and divides long reductions into
/// several taps (order.cpp); the rest of the plan is made.
void plan_order(dot_plan &p, const dot_geometry &g, const machine &m);

/// Fills `next_lines` of such products, and `lines_ahead` if they fetch nothing else; comes last.
void plan_next_lines(dot_plan &p, const dot_geometry &g, const machine &m);

/// The rest of a plan whose rows are gathered (gather.cpp), once its tiles are planned: bands, copies, scratch memory.
void plan_gathered_rows(dot_plan &p, const dot_geometry &g, dim_t band_bytes);
/// For its kernel; without pieces for that of any other plan, as there are no bytes of a ring then.
jit::gathered_rows gathered_rows_of(const dot_plan &p, const dot_geometry &g);
dim_t ring_bytes(const dot_plan &p);

/// Threads that are worth waking: a share of the work must outweigh what starting it costs.
int useful_threads(const dot_geometry &g, const machine &m);

/// True if each thread should rather have all rows of some columns: it then reads a share of the weights, but rows that
/// others have written (costs::per_foreign_byte). With more results than weights, threads that write neighbouring
/// columns disturb each other's caches.
bool prefers_panels(const dot_geometry &g);

} // namespace octet::impl
