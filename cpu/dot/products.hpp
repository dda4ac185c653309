#pragma once // SPDX-License-Identifier: Apache-2.0

// What the products of a dot geometry are made of on a machine, which everything else of a plan follows from.

#include "common/machine.hpp"
#include "cpu/dot/geometry.hpp"

namespace octet::impl {

/// True if no source byte belongs to two rows, so that rows can be copied one by one.
bool rows_are_disjoint(const dot_geometry &g);
/// True if the rows of all lines have one distance in this tensor.
bool lines_are_joined(const dot_geometry &g, const extent3 &strides);
/// Groups of three neighbouring taps in a row of the kernel.
dim_t winograd_tap_count(const dot_geometry &g);

/// Quads of the reduction as `planned_quads` counts them.
dim_t quads_of_row(jit::dot_products products, const dot_geometry &g);

/// Tile registers where they take less time in an execution of one thread, configuring and waking them included:
/// neither for short reductions, for a row or two, nor for little work.
jit::dot_products choose_products(const dot_geometry &g, instruction_set isa, int epilogue_temps);

/// Rows of first layers in tile registers: with few channels a line of the kernel has fewer bytes than a step of
/// products, but the lines of a patch together fill steps. No lines: rows are not gathered.
struct gathered_patch {
    dim_t lines = 0;
    dim_t quads_of_line = 0;

    dim_t quads() const { return lines * quads_of_line; }
};
/// Of products in tile registers, where they are fewer this way and hide the copies.
gathered_patch gathered_patch_of(const dot_geometry &g);

} // namespace octet::impl
