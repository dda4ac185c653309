// How a layer is cut into shares of equal cost.
//
// The work is a grid: rows of tiles down, panels of columns across. A cell costs (cost of its row) x (cost of
// its panel), so the cost of any rectangle is a product of two differences of prefix sums, and no cell is
// looked at by itself. The cells are taken as one sequence, row by row, and thread t of n begins where t / n
// of the whole cost lies before:
//
//             panels
//        | 0 0 0 0 |         three threads, row by row: a share is the rest of a row, whole rows,
//   rows | 0 0 1 1 |         and the beginning of a row, so at most three rectangles
//        | 1 1 1 2 |
//        | 2 2 2 2 |
//
// Cuts inside a row make two threads read the row's source or the panel's weights. So cuts between whole rows
// are tried first and kept where they are nearly as even (2 %), and so is the order that the plan prefers (4
// %): by rows, layers that follow each other find in a core's caches what it wrote itself; panel by panel, a
// thread reads its part of the weights once.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/accumulating/work.hpp"

#include <algorithm>

#include "common/layout/layout.hpp"
#include "cpu/machine/costs.hpp"

namespace octet::impl {

int useful_threads(dim_t cycles, const machine &m) {
    return static_cast<int>(
        std::clamp<dim_t>(cycles / (costs::forks_per_share * m.fork_cycles), 1, m.threads));
}

side_costs::side_costs(const std::vector<double> &pattern, dim_t repeats) : before_{0}, repeats_(repeats) {
    for (const double cost : pattern)
        before_.push_back(before_.back() + cost);
}

side_costs side_costs::even(dim_t count, double last, dim_t repeats) {
    std::vector<double> pattern(static_cast<std::size_t>(count), 1);
    pattern.back() = last;
    return {pattern, repeats};
}

double side_costs::before(dim_t cell) const {
    return static_cast<double>(cell / pattern()) * before_.back() +
           before_[static_cast<std::size_t>(cell % pattern())];
}

dim_t side_costs::nearest_cut(double cost) const {
    const dim_t repeat = std::clamp<dim_t>(static_cast<dim_t>(cost / before_.back()), 0, repeats_ - 1);
    const double rest = cost - static_cast<double>(repeat) * before_.back();
    auto cut = std::lower_bound(before_.begin(), before_.end() - 1, rest);
    if (cut != before_.begin() && rest - cut[-1] <= *cut - rest)
        cut--;
    return repeat * pattern() + (cut - before_.begin());
}

namespace {

/// A cell in the sequence of cells that goes along `minor` before the next of `major`.
struct cell_position {
    dim_t major, minor;
};

cell_position nearest_position(const side_costs &major, const side_costs &minor, double cost) {
    dim_t at = major.nearest_cut(cost / minor.all());
    if (major.before(at) * minor.all() > cost)
        at--;
    if (at == major.count())
        return {at, 0};
    const double of_one = major.before(at + 1) - major.before(at);
    const dim_t within = minor.nearest_cut((cost - major.before(at) * minor.all()) / of_one);
    return within == minor.count() ? cell_position{at + 1, 0} : cell_position{at, within};
}

/// The rest of the line of `from`, whole lines, the part of the line of `to`: those that are not empty.
share cells_between(const cell_position &from, const cell_position &to, dim_t minor_count,
                    bool is_transposed) {
    share cells;
    const auto add = [&](dim_t first, dim_t end, dim_t first_minor, dim_t end_minor) {
        if (first >= end || first_minor >= end_minor)
            return;
        cells.push_back(is_transposed ? cell_range{first_minor, end_minor, first, end}
                                      : cell_range{first, end, first_minor, end_minor});
    };
    if (from.major == to.major) {
        add(from.major, from.major + 1, from.minor, to.minor);
        return cells;
    }
    const dim_t whole = from.minor == 0 ? from.major : from.major + 1;
    add(from.major, whole, from.minor, minor_count);
    add(whole, to.major, 0, minor_count);
    add(to.major, to.major + 1, 0, to.minor);
    return cells;
}

/// The cells in front of which the shares of `threads` begin, and the end.
template <typename Cut>
std::vector<share> shares_between(int threads, const cell_position &end, bool panel_by_panel,
                                  dim_t minor_count, const Cut &cut) {
    std::vector<share> shares;
    cell_position from{0, 0};
    for (int i = 1; i <= threads; i++) {
        const cell_position to = i == threads ? end : cut(static_cast<double>(i) / threads);
        share cells = cells_between(from, to, minor_count, panel_by_panel);
        if (!cells.empty())
            shares.push_back(std::move(cells));
        from = to;
    }
    return shares;
}

} // namespace

double busiest_share(const side_costs &rows, const side_costs &panels, const std::vector<share> &shares) {
    double most = 0;
    for (const share &s : shares) {
        double cost = 0;
        for (const cell_range &c : s)
            cost += (rows.before(c.end_row) - rows.before(c.first_row)) *
                    (panels.before(c.end_panel) - panels.before(c.first_panel));
        most = std::max(most, cost);
    }
    return most / (rows.all() * panels.all());
}

double busiest_share(dim_t rows, dim_t panels, int threads) {
    const dim_t cells = rows * panels;
    return static_cast<double>(div_up(cells, std::min<dim_t>(threads, cells))) / static_cast<double>(cells);
}

namespace {

std::vector<share> divide_along(const side_costs &rows, const side_costs &panels, int threads,
                                bool panel_by_panel) {
    const side_costs &major = panel_by_panel ? panels : rows, &minor = panel_by_panel ? rows : panels;
    const cell_position end{major.count(), 0};
    constexpr double even_enough = 1.02; // a range reads its rows and its weights once
    std::vector<share> ranges = shares_between(threads, end, panel_by_panel, minor.count(), [&](double part) {
        return cell_position{major.nearest_cut(major.all() * part), 0};
    });
    if (busiest_share(rows, panels, ranges) * threads <= even_enough)
        return ranges;
    return shares_between(threads, end, panel_by_panel, minor.count(), [&](double part) {
        return nearest_position(major, minor, major.all() * minor.all() * part);
    });
}

} // namespace

std::vector<share> divide(const side_costs &rows, const side_costs &panels, int threads,
                          bool panel_by_panel) {
    constexpr double even_enough = 1.04;
    std::vector<share> preferred = divide_along(rows, panels, threads, panel_by_panel);
    const double busiest = busiest_share(rows, panels, preferred);
    if (busiest * threads <= even_enough)
        return preferred;
    std::vector<share> other = divide_along(rows, panels, threads, !panel_by_panel);
    return busiest_share(rows, panels, other) < busiest ? other : preferred;
}

} // namespace octet::impl
