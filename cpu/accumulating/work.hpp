#pragma once // SPDX-License-Identifier: Apache-2.0

// The division of a layer among threads. Its work is a grid of cells, rows of tiles × panels of columns, and shares are
// cut by what cells cost: the last tile of an image may be small, the last panel narrow, a line at the border short.

#include <vector>

#include "common/machine.hpp"
#include "octet/types.hpp"

namespace octet::impl {

/// Threads whose shares of so many cycles outweigh what starting a loop on them costs.
int useful_threads(dim_t cycles, const machine &m);

/// The costs of the cells along one side of the grid, in any unit: a pattern that repeats, image after image
/// or group after group.
class side_costs {
public:
    side_costs(const std::vector<double> &pattern, dim_t repeats);
    /// `count` cells of one cost, the last one of `last` times that; `repeats` times over.
    static side_costs even(dim_t count, double last = 1, dim_t repeats = 1);

    dim_t count() const { return repeats_ * pattern(); }
    double before(dim_t cell) const; ///< cost of all cells in front of this one
    double all() const { return before(count()); }
    dim_t nearest_cut(double cost) const; ///< the cell in front of which the costs are nearest to `cost`

private:
    dim_t pattern() const { return static_cast<dim_t>(before_.size()) - 1; }
    std::vector<double> before_; ///< the same for one pattern; its last element is the whole pattern's cost
    dim_t repeats_;
};

/// Cells [first_row, end_row) × [first_panel, end_panel).
struct cell_range {
    dim_t first_row, end_row, first_panel, end_panel;
};

/// The ranges of one thread, in its order.
using share = std::vector<cell_range>;

/// At most `threads` shares, none of them empty. The cells are cut as one sequence, row by row, or panel by panel if
/// each thread should rather have all rows of some columns; the other way where that is more even, and between whole
/// rows (panels) where that is as even.
/// Layers that are all cut by rows find most of what they read in their own core's caches.
std::vector<share> divide(const side_costs &rows, const side_costs &panels, int threads, bool panel_by_panel);

/// The share of the whole cost, 0 to 1, that the most expensive thread has.
double busiest_share(const side_costs &rows, const side_costs &panels, const std::vector<share> &shares);

/// The busiest thread's share of the whole cost for cells of one cost, without dividing them.
double busiest_share(dim_t rows, dim_t panels, int threads);

} // namespace octet::impl
