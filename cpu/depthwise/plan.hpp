#pragma once

// How a depthwise convolution is executed: quads of a few rows of patches go to scratch for some blocks of
// channels, then the depthwise kernel reads them for a line of tiles. Pure functions of problem and machine.

#include <string>

#include "common/problem.hpp"
#include "octet/settings.hpp"

namespace octet::impl {

struct depthwise_plan {
    tap_patches patches;
    bool in_place = true;     ///< source pixels are read from the user's memory, else copied channels-last
    dim_t tile_columns = 1;   ///< outputs of a row; a multiple of the phases of columns
    dim_t band_columns = 1;   ///< outputs of a row whose quads are in scratch together
    dim_t grid_columns = 1;   ///< grid positions of a whole band
    dim_t grid_rows = 1;      ///< grid positions that a line of tiles spans; so many rows are kept in scratch
    dim_t chunk_blocks = 1;   ///< blocks of 16 channels whose quads are in scratch together
    dim_t block_stride = 0;   ///< bytes from a block to the next in a row of quads
    dim_t row_stride = 0;     ///< bytes from a row of quads to the next
    dim_t copied_columns = 0; ///< source pixels under a whole band, if they are copied

    dim_t quads_bytes() const { return grid_rows * row_stride; }
    dim_t chunk_channels() const { return chunk_blocks * packed_o_block; }
    /// Copied pixels: one row for each row of a patch.
    dim_t copied_row_bytes() const { return copied_columns * chunk_channels(); }
};

/// Why there is no plan, or empty.
std::string refuses_depthwise(const convolution_problem &p);

depthwise_plan plan_depthwise(const convolution_problem &p, cpu_isa level, int epilogue_temps);

/// Outputs [first, last) along an axis of the grid whose patches at this position lie inside the image as a
/// whole, clipped to [first, last).
struct position_range {
    dim_t first = 0, last = 0;
};
position_range positions_inside(const patch_axis &axis, const tap_axis &taps, dim_t pad, dim_t in,
                                position_range all);

} // namespace octet::impl
