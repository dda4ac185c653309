#include "cpu/accumulating/work.hpp"

#include <algorithm>

#include "common/layout/layout.hpp"

namespace octet::impl {

double busiest_share(dim_t bands, dim_t panels, const task_grid &grid) {
    return static_cast<double>(div_up(bands, grid.bands)) / static_cast<double>(bands) *
           static_cast<double>(div_up(panels, grid.panels)) / static_cast<double>(panels);
}

task_grid plan_tasks(dim_t bands, dim_t panels, int threads, bool prefers_panels) {
    task_grid best{1, 1};
    double best_share = 1; // of the work, that the busiest task has
    for (dim_t i = 1; i <= std::min<dim_t>(threads, bands); i++) {
        const dim_t b = prefers_panels ? i : std::min<dim_t>(threads, bands) + 1 - i;
        const dim_t n = std::min<dim_t>(threads / b, panels);
        const double share = busiest_share(bands, panels, {b, n});
        if (share < best_share - 0.01) {
            best_share = share;
            best = {b, n};
        }
    }
    return best;
}

} // namespace octet::impl
