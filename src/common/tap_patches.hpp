#pragma once

// How the taps of a depthwise convolution become dot products of 4 bytes: in patches of 4 neighbouring taps,
// 4 of a column, 2 x 2, or 4 of a row. For each channel, the source bytes under a patch lie side by side, so
// one 4-byte dot product does four taps. Where the stride is 1, `phases` neighbouring outputs use the same
// patches of the source: their taps are the same ones, shifted within the patches. For a kernel column of 3
// taps and two phases:
//
//   source rows         r0 r1 r2 r3      one patch
//   output row 0        w0 w1 w2  0
//   output row 1         0 w0 w1 w2

#include "octet/types.hpp"

namespace octet::impl {

constexpr dim_t taps_per_patch = 4;

/// One spatial axis of a convolution; dilation 1 means adjacent taps.
struct tap_axis {
    dim_t kernel = 1, stride = 1, dilation = 1;
};

/// One axis of the patches. Patches of the source lie on a grid that starts at the first tap of output 0.
struct patch_axis {
    dim_t kernel = 1;      ///< taps
    dim_t size = 0;        ///< taps of a patch
    dim_t phases = 1;      ///< neighbouring outputs that share patches
    dim_t grid_step = 1;   ///< source positions between neighbouring patches of the grid
    dim_t patch_step = 1;  ///< grid positions between neighbouring patches of the kernel
    dim_t output_step = 1; ///< grid positions between neighbouring outputs, or groups of `phases` outputs

    /// Patches that cover the kernel in every phase.
    dim_t patches() const { return (kernel + phases - 1 + size - 1) / size; }
    /// True if some tap of the kernel lies in this patch.
    bool is_used(dim_t phase, dim_t patch) const {
        return patch * size < phase + kernel && (patch + 1) * size > phase;
    }
    /// Positions of a patch that some tap uses: the first ones.
    dim_t used_size() const { return patches() > 1 ? size : kernel + phases - 1; }
};

patch_axis make_patch_axis(const tap_axis &taps, dim_t size, dim_t phases);

/// The order of packed depthwise weights within a block of 16 channels: [phase of rows][phase of columns]
/// [patch row][patch column][16 channels][4 taps of the patch].
struct tap_patches {
    patch_axis rows, columns;

    dim_t phases() const { return rows.phases * columns.phases; }
    dim_t patches() const { return rows.patches() * columns.patches(); }
    dim_t vectors() const { return phases() * patches(); }
    dim_t vector_of(dim_t row_phase, dim_t column_phase, dim_t patch_row, dim_t patch_column) const {
        return ((row_phase * columns.phases + column_phase) * rows.patches() + patch_row) *
                   columns.patches() +
               patch_column;
    }
    /// Bytes from the start of a block to a tap of its first channel, as a phase has it.
    dim_t offset(dim_t tap, dim_t phase) const {
        const dim_t row_phase = phase / columns.phases, column_phase = phase % columns.phases;
        const dim_t y = tap / columns.kernel + row_phase, x = tap % columns.kernel + column_phase;
        const dim_t vector = vector_of(row_phase, column_phase, y / rows.size, x / columns.size);
        return vector * 16 * taps_per_patch + y % rows.size * columns.size + x % columns.size;
    }
};

/// Limits of what `choose_patches` gives: vectors of a block, grid positions between the first and the last
/// patch of the kernel, and between neighbouring outputs.
constexpr dim_t max_patch_vectors = 256, max_patch_reach = 64, max_patch_output_step = 4;

/// The patches with the fewest instructions per output; none (size 0) where the limits forbid all.
tap_patches choose_patches(const tap_axis &rows, const tap_axis &columns);

} // namespace octet::impl
