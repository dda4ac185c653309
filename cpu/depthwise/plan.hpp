#pragma once // SPDX-License-Identifier: Apache-2.0

// How a depthwise convolution is executed: lines of tiles, chunks of channels, and where source rows are
// read. Pure functions of problem and machine.

#include <string>
#include <vector>

#include "common/convolution_problem.hpp"
#include "cpu/accumulating/work.hpp"
#include "jit/kernels/depthwise.hpp"

namespace octet::impl {

/// Work is divided at multiples of so many blocks: 64 channels, a cache line and the widest tile.
constexpr dim_t task_blocks = 4;

/// Blocks of 16 channels that are worked on in one way.
struct channel_part {
    dim_t first_block, end_block;
    int blocks = 1;                  ///< of a tile; divides their number
    int valid = packed_o_block;      ///< channels of a block; fewer in a part for the last one
    bool slides = false;             ///< its tiles share quads
    std::vector<jit::tile_run> line; ///< tiles of an output row (of several rows, if they are phases)
};

struct depthwise_plan {
    tap_patches patches;
    std::vector<channel_part> parts;
    /// Source rows are the user's memory; else the rows under a line of tiles are copied, padded and with a
    /// channel for each output channel.
    bool in_place = true;
    dim_t pixel_stride = 0;      ///< bytes between source columns as the kernel reads them
    dim_t chunk_blocks = 1;      ///< blocks of 16 channels that are worked on for all lines before going on
    dim_t band_lines = 1;        ///< lines that are worked on for all groups of blocks before going on
    dim_t line_columns = 0;      ///< source columns under a line, padding included
    dim_t padding_row_bytes = 0; ///< in place: a row of zero points for what lies above or below the image
    dim_t copied_rows = 0;
    bool has_rows_outside = false; ///< some tap lies above or below the image
    std::vector<share> shares;     ///< of lines of tiles of all images × groups of `task_blocks` blocks

    dim_t chunk_channels() const { return chunk_blocks * packed_o_block; }
    dim_t copied_row_bytes() const { return line_columns * pixel_stride; }
};

/// Why there is no plan, or empty.
std::string refuses_depthwise(const convolution_problem &p);

depthwise_plan plan_depthwise(const convolution_problem &p, const machine &m,
                              const jit::epilogue_plan &epilogue);

std::string text_of(const depthwise_plan &p);

/// Tiles of `tile` columns, or what remains, for a row of `width` outputs whose first taps lie `pad` columns left of
/// an image with `columns`. The last one of tiles that slide is a run by itself.
std::vector<jit::tile_run> plan_line(const patch_axis &axis, const tap_axis &taps, dim_t width, dim_t tile,
                                     dim_t pad, dim_t columns, bool slides);

} // namespace octet::impl
