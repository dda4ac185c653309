#pragma once

// The division of a layer among threads: bands of rows × panels of columns.

#include "octet/types.hpp"

namespace octet::impl {

/// Shares of the work: bands × panels in a grid of about as many tasks as there are threads.
struct task_grid {
    dim_t bands = 1, panels = 1;
};

/// Of all bands × panels, what the busiest task of this grid has.
double busiest_share(dim_t bands, dim_t panels, const task_grid &grid);

/// A grid of about `threads` tasks, the most even of all shapes, and among equals the one with fewer shares of
/// the bands or of the panels.
task_grid plan_tasks(dim_t bands, dim_t panels, int threads, bool prefers_panels = false);

} // namespace octet::impl
