#include "common/tap_patches.hpp"

#include <limits>
#include <numeric>

namespace octet::impl {

namespace {

/// Patches of the source per output along one axis.
double density(const patch_axis &a) {
    return static_cast<double>(a.output_step) / static_cast<double>(a.phases);
}

/// Patches of the kernel that an output multiplies, averaged over the phases.
double products(const patch_axis &a) {
    dim_t used = 0;
    for (dim_t phase = 0; phase < a.phases; phase++)
        for (dim_t patch = 0; patch < a.patches(); patch++)
            used += a.is_used(phase, patch) ? 1 : 0;
    return static_cast<double>(used) / static_cast<double>(a.phases);
}

/// Instructions on the vector units per output: one per product, one per row or pixel that a patch of the
/// source gathers.
double cost(const patch_axis &rows, const patch_axis &columns) {
    const auto gathered = static_cast<double>(rows.used_size() * columns.used_size());
    return density(rows) * density(columns) * gathered + products(rows) * products(columns);
}

bool is_within_limits(const patch_axis &a) {
    return a.output_step <= max_patch_output_step &&
           (a.patches() == 1 || (a.patches() - 1) * a.patch_step <= max_patch_reach);
}

} // namespace

patch_axis make_patch_axis(const tap_axis &taps, dim_t size, dim_t phases) {
    patch_axis a;
    a.kernel = taps.kernel;
    a.size = size;
    a.phases = phases;
    if (phases > 1) {
        a.grid_step = phases;
        a.patch_step = size / phases;
    } else {
        a.grid_step = a.patches() == 1 ? taps.stride : std::gcd(taps.stride, size * taps.dilation);
        a.patch_step = size * taps.dilation / a.grid_step;
        a.output_step = taps.stride / a.grid_step;
    }
    return a;
}

tap_patches choose_patches(const tap_axis &rows, const tap_axis &columns) {
    tap_patches best;
    best.rows.size = best.columns.size = 0;
    if (rows.kernel > max_patch_vectors * taps_per_patch ||
        columns.kernel > max_patch_vectors * taps_per_patch)
        return best;
    double best_cost = std::numeric_limits<double>::max();
    const auto may_share = [](const tap_axis &a) { return a.stride == 1 && a.dilation == 1 && a.kernel > 1; };
    for (dim_t height = taps_per_patch; height >= 1; height /= 2)
        for (dim_t row_phases = 1; row_phases <= (may_share(rows) ? height : 1); row_phases *= 2)
            for (dim_t column_phases = 1; column_phases <= (may_share(columns) ? taps_per_patch / height : 1);
                 column_phases *= 2) {
                const tap_patches p{make_patch_axis(rows, height, row_phases),
                                    make_patch_axis(columns, taps_per_patch / height, column_phases)};
                const double c = cost(p.rows, p.columns);
                const bool is_better = c < best_cost || (c == best_cost && p.vectors() < best.vectors());
                if (p.vectors() <= max_patch_vectors && is_within_limits(p.rows) &&
                    is_within_limits(p.columns) && is_better) {
                    best = p;
                    best_cost = c;
                }
            }
    return best;
}

} // namespace octet::impl
