// Counts gathers and products of each possible patch and takes the cheapest one.
// SPDX-License-Identifier: Apache-2.0
#include "common/layout/patches.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace octet::impl {

namespace {

// Outputs of a tile, for which quads are gathered once: what registers hold.
constexpr dim_t tile_outputs = 6;

/// Patches of the kernel that an output multiplies, averaged over the phases.
double products(const patch_axis &a) {
    dim_t used = 0;
    for (dim_t phase = 0; phase < a.phases; phase++)
        for (dim_t patch = 0; patch < a.patches(); patch++)
            used += a.is_used(phase, patch) ? 1 : 0;
    return static_cast<double>(used) / static_cast<double>(a.phases);
}

/// Instructions that gather the quads of one column of patches, per vector of channels: loads for four
/// vectors at once, two interleaving steps, of which one pair of pixels saves a part.
double gathers(const tap_patches &p) {
    const dim_t columns = std::min(p.columns.size, p.columns.covered(p.columns.phases));
    double instructions = 0;
    for (dim_t patch = 0; patch < p.rows.patches(); patch++) {
        const dim_t rows = std::min(p.rows.size, p.rows.covered(p.rows.phases) - patch * p.rows.size);
        instructions += static_cast<double>(rows * columns) / 4 + (rows * columns > 2 ? 2.0 : 1.5);
    }
    return instructions;
}

/// Instructions on the vector units per output. Each vector of weights is prepared once for some hundred
/// outputs.
double cost(const tap_patches &p, const tap_axis &columns) {
    constexpr double preparation = 0.05;
    const dim_t outputs =
        std::max(tile_outputs / p.rows.phases / p.columns.phases, dim_t{1}) * p.columns.phases;
    std::set<dim_t> positions;
    for (dim_t output = 0; output < outputs; output++)
        for (dim_t patch = 0; patch < p.columns.patches(); patch++)
            positions.insert(patch_position(p.columns, columns, output, patch));
    return gathers(p) * static_cast<double>(positions.size()) / static_cast<double>(outputs * p.rows.phases) +
           products(p.rows) * products(p.columns) + preparation * static_cast<double>(p.vectors());
}

/// Axes with this size of patches: any number of phases that may share quads.
std::vector<patch_axis> axes_of(const tap_axis &taps, dim_t size) {
    std::vector<patch_axis> axes{{taps.kernel, size, 1, 1}};
    for (dim_t phases = 2; phases <= size && taps.dilation == 1 && taps.stride < taps.kernel; phases *= 2)
        axes.push_back({taps.kernel, size, phases, taps.stride});
    return axes;
}

} // namespace

tap_patches patches_from(const patch_order &order, dim_t kernel_height, dim_t kernel_width) {
    return {{kernel_height, order.height, order.row_phases, order.row_shift},
            {kernel_width, taps_per_patch / order.height, order.column_phases, order.column_shift}};
}

patch_order order_of(const tap_patches &p) {
    return {p.rows.size, p.rows.phases, p.rows.shift, p.columns.phases, p.columns.shift};
}

tap_patches choose_patches(const tap_axis &rows, const tap_axis &columns) {
    constexpr dim_t max_kernel = max_patch_vectors * taps_per_patch;
    tap_patches best;
    double best_cost = std::numeric_limits<double>::max();
    if (rows.kernel > max_kernel || columns.kernel > max_kernel)
        return best;
    for (dim_t height = taps_per_patch; height >= 1; height /= 2)
        for (const patch_axis &row_axis : axes_of(rows, height))
            for (const patch_axis &column_axis : axes_of(columns, taps_per_patch / height)) {
                const tap_patches p{row_axis, column_axis};
                if (p.vectors() > max_patch_vectors)
                    continue;
                const double c = cost(p, columns);
                if (c < best_cost || (c == best_cost && p.vectors() < best.vectors())) {
                    best = p;
                    best_cost = c;
                }
            }
    return best;
}

} // namespace octet::impl
