#pragma once // SPDX-License-Identifier: Apache-2.0

// The depthwise kernel: a tile of rows x columns of outputs of one, two or four blocks of 16 channels, int32
// accumulators in registers, finished by the epilogue. For each position of a patch of taps
// (common/layout/patches.hpp) the source pixels under it are gathered from up to four rows and brought side by
// side, a quad per channel
//
//   c0p0 c0p1 c0p2 c0p3 | c1p0 c1p1 c1p2 c1p3 | … | c15p0 c15p1 c15p2 c15p3
//
// Every output of the tile that has taps there multiplies them by its packed weights:
//
//   acc(r, c) = initial + Σ over patches of
//               dot4(quad(patch row, position of c's patch), weights(phase of r and c, patch))
//
// Several blocks make loads and stores of up to 64 bytes and share the instructions that gather quads; one
// block leaves registers for weights. Interleaving the bytes of four blocks leaves the channels in an order
// that packing the results undoes: part p of vector v has channels 16 p + 4 v to + 3. A call brings weights,
// initial accumulators and parameter vectors into this order, in scratch memory. Where the epilogue can't work so, and
// for two blocks, source bytes are permuted first, which costs more. Tiles side by side that need the same quads slide,
// or gather them anew: keeping them in memory costs more, because the stores of quads and the loads of source pixels
// get in each other's way.

#include <cstdint>
#include <vector>

#include "common/layout/patches.hpp"
#include "common/machine.hpp"
#include "jit/base/finished_code.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

/// Channels of a block of packed weights, accumulators and parameter vectors.
constexpr int channels_per_block = 16;

/// Neighbouring tiles of a line with equal code. Of the source columns under a tile, those in [begin, end)
/// lie inside the image; the others are padding.
struct tile_run {
    int columns = 1; ///< outputs; a multiple of the phases of columns in all tiles but the last of a line
    dim_t begin = 0, end = 0;
    dim_t count = 1; ///< tiles
};

/// Everything that decides the code, besides the epilogue.
struct depthwise_spec {
    instruction_set isa;
    bool flips_source = false;      ///< signed source: its sign bits are flipped
    bool multiplies_signed = false; ///< or they are not: vpdpbssd
    bool sums_source = false;       ///< weights have zero points
    tap_patches patches;
    tap_axis column_taps;
    int rows = 1;        ///< rows of a tile: the phases of rows, or fewer
    int rest_rows = 0;   ///< rows of a last line's tiles, if the image leaves it fewer
    int blocks = 1;      ///< blocks of 16 channels that a tile covers: 1, 2 or 4, see max_tile_blocks
    int valid = 16;      ///< channels of a block; fewer than 16 for a last block alone
    bool slides = false; ///< tiles are as wide as the kernel, the last one is a run by itself: `can_slide`
    std::int64_t pixel_stride = 0;                          ///< bytes between neighbouring source columns
    std::int64_t dst_row_stride = 0, dst_column_stride = 0; ///< elements
    std::vector<tile_run> line;
};

/// Codes of the source's zero point that padding needs.
constexpr int padding_codes = 64;

/// Arguments of one call: lines of tiles for each group of `spec.blocks` blocks.
struct depthwise_args {
    const void *const *rows;     ///< per line, per tap row that all phases cover: source row under the line's
                                 ///< first column
    std::int64_t channel;        ///< bytes from there to the first channel of the first block
    const void *padding;         ///< `padding_codes`, then as many as they are multiplied
    const void *weights;         ///< first block
    const std::int32_t *initial; ///< per block: 16 accumulators to start with, then with sums_source 16
                                 ///< zero points of weights
    const std::uint32_t *params; ///< parameter vectors of the first block
    void *dst;                   ///< first output and channel
    const void *const *full;     ///< per post-op: the element that `dst` points to (null where unused)
    void *scratch;               ///< `scratch_bytes` bytes, aligned to 64
    std::int64_t groups;
    std::int64_t lines;     ///< lines, each of `rows` rows
    std::int64_t rest_line; ///< 1 if a line of `rest_rows` follows, else 0
};

constexpr int block_vector_bytes = 64; ///< one vector of weights, accumulators or zero points of a block
constexpr int interleaved_blocks = 4;

/// Registers of the reduction besides accumulators and weights: a quad, the order of its permutation and a
/// pixel, or four pixels that become one quad; without a dot-product instruction words and a product. Of
/// several blocks: four pixels and one more, which become quads, and the order.
int depthwise_reduction_temps(instruction_set isa, int blocks);

/// Scratch of a call: for a block of weights as 16-bit words without a dot-product instruction, or for what
/// depends on the channels of four blocks in interleaved order.
std::int64_t scratch_bytes(instruction_set isa, const tap_patches &patches, const epilogue_plan &plan);

/// Most blocks that a tile can have, a power of two.
int max_tile_blocks(instruction_set isa, bool sums_source);

/// Columns that a tile of so many blocks can have; a multiple of their phases.
int max_tile_columns(instruction_set isa, const tap_patches &patches, bool sums_source, int epilogue_temps,
                     int blocks);

/// True if tiles can be as wide as the kernel and leave to the next one accumulators that have the taps which it would
/// gather again. An output's accumulator is free for the one behind its tile as soon as it is stored.
bool can_slide(instruction_set isa, const tap_patches &patches, const tap_axis &column_taps, bool sums_source,
               int epilogue_temps, int blocks);

/// The kernel of a spec.
shared_code<const depthwise_args> depthwise_code(const depthwise_spec &spec, const epilogue_plan &plan);

} // namespace octet::impl::jit
