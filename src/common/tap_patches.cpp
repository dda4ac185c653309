#include "common/tap_patches.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace octet::impl {

namespace {

// Outputs of a tile, for which quads are gathered once: what registers hold, and no more in a row than pays.
constexpr dim_t tile_outputs = 20, tile_columns = 14;

/// Patches of the kernel that an output multiplies, averaged over the phases.
double products(const patch_axis &a) {
    dim_t used = 0;
    for (dim_t phase = 0; phase < a.phases; phase++)
        for (dim_t patch = 0; patch < a.patches(); patch++)
            used += a.is_used(phase, patch) ? 1 : 0;
    return static_cast<double>(used) / static_cast<double>(a.phases);
}

/// Instructions on the vector units per output: one per product, one per source pixel that a quad gathers.
double cost(const tap_patches &p, const tap_axis &columns) {
    const dim_t outputs =
        std::max(std::min(tile_outputs / p.rows.phases, tile_columns) / p.columns.phases, dim_t{1}) *
        p.columns.phases;
    std::set<dim_t> quads;
    for (dim_t output = 0; output < outputs; output++)
        for (dim_t patch = 0; patch < p.columns.patches(); patch++)
            quads.insert(patch_position(p.columns, columns, output, patch));
    const auto pixels = static_cast<double>(p.rows.covered(p.rows.phases)) *
                        static_cast<double>(std::min(p.columns.size, p.columns.covered(p.columns.phases)));
    return pixels * static_cast<double>(quads.size()) / static_cast<double>(outputs * p.rows.phases) +
           products(p.rows) * products(p.columns);
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
