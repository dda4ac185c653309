#pragma once // SPDX-License-Identifier: Apache-2.0

// How the taps of a depthwise convolution become dot products of 4 bytes: in patches of 4 neighbouring taps,
// 4 of a column, 2 x 2, or 4 of a row. For each channel, the source bytes under a patch are brought side by
// side (a "quad"), so one 4-byte dot product does four taps. Neighbouring outputs ("phases") may use the same
// quads: their taps are the same ones, shifted within the patches. For a kernel column of 3 taps, stride 1
// and two phases:
//
//   source rows         r0 r1 r2 r3      one patch
//   output row 0        w0 w1 w2  0
//   output row 1         0 w0 w1 w2

#include "octet/memory.hpp"

namespace octet::impl {

constexpr dim_t taps_per_patch = 4;

/// One spatial axis of a convolution; dilation 1 means adjacent taps.
struct tap_axis {
    dim_t kernel = 1, stride = 1, dilation = 1;
};

/// One axis of the patches.
struct patch_axis {
    dim_t kernel = 1; ///< taps
    dim_t size = 0;   ///< taps of a patch
    dim_t phases = 1; ///< neighbouring outputs that share quads
    dim_t shift = 1;  ///< taps from the first tap of an output to that of the next phase

    /// Taps that the first `outputs` phases cover.
    dim_t covered(dim_t outputs) const { return kernel + (outputs - 1) * shift; }
    /// Patches that cover the kernel in every phase.
    dim_t patches() const { return (covered(phases) + size - 1) / size; }
    /// True if some tap of the kernel lies in this patch.
    bool is_used(dim_t phase, dim_t patch) const {
        return patch * size < phase * shift + kernel && (patch + 1) * size > phase * shift;
    }
};

/// The order of packed depthwise weights within a block of 16 channels: [phase of rows][phase of columns]
/// [patch row][patch column][16 channels][4 taps of the patch].
struct tap_patches {
    patch_axis rows, columns;

    dim_t phases() const { return rows.phases * columns.phases; }
    dim_t vectors() const { return phases() * rows.patches() * columns.patches(); }
    dim_t vector_of(dim_t row_phase, dim_t column_phase, dim_t patch_row, dim_t patch_column) const {
        return ((row_phase * columns.phases + column_phase) * rows.patches() + patch_row) *
                   columns.patches() +
               patch_column;
    }
    /// Bytes from the start of a block to a tap of its first channel, as a phase has it.
    dim_t offset(dim_t tap, dim_t phase) const {
        const dim_t row_phase = phase / columns.phases, column_phase = phase % columns.phases;
        const dim_t y = tap / columns.kernel + row_phase * rows.shift,
                    x = tap % columns.kernel + column_phase * columns.shift;
        const dim_t vector = vector_of(row_phase, column_phase, y / rows.size, x / columns.size);
        return vector * 16 * taps_per_patch + y % rows.size * columns.size + x % columns.size;
    }
};

/// The patches of a packed descriptor, and back.
tap_patches patches_from(const patch_order &order, dim_t kernel_height, dim_t kernel_width);
patch_order order_of(const tap_patches &patches);

/// Source positions, counted from the first tap of a group of phases, where an output's patch begins.
inline dim_t patch_position(const patch_axis &axis, const tap_axis &taps, dim_t output, dim_t patch) {
    return output / axis.phases * axis.phases * taps.stride + patch * axis.size * taps.dilation;
}

/// Most vectors of a block that `choose_patches` gives.
constexpr dim_t max_patch_vectors = 256;

/// The patches with the fewest instructions per output; none (size 0) if the kernel is too large.
tap_patches choose_patches(const tap_axis &rows, const tap_axis &columns);

} // namespace octet::impl
