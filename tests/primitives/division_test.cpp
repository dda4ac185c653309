// The division of a layer among threads: a function of what its cells cost, checked without running anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "common/layout/layout.hpp"
#include "cpu/accumulating/work.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

/// How often each cell is in a share.
std::vector<int> visits(const side_costs &rows, const side_costs &panels, const std::vector<share> &shares) {
    std::vector<int> count(static_cast<std::size_t>(rows.count() * panels.count()));
    for (const share &s : shares) {
        EXPECT_FALSE(s.empty());
        for (const cell_range &c : s) {
            EXPECT_TRUE(c.first_row < c.end_row && c.first_panel < c.end_panel);
            for (dim_t r = c.first_row; r < c.end_row; r++)
                for (dim_t p = c.first_panel; p < c.end_panel; p++)
                    count[static_cast<std::size_t>(r * panels.count() + p)]++;
        }
    }
    return count;
}

TEST(side_costs, are_summed_over_repeated_patterns) {
    const side_costs image({1, 1, 0.5}, 2);
    EXPECT_EQ(image.count(), 6);
    EXPECT_EQ(image.all(), 5);
    EXPECT_EQ(image.before(0), 0);
    EXPECT_EQ(image.before(3), 2.5);
    EXPECT_EQ(image.before(5), 4.5);
}

TEST(side_costs, cut_where_costs_are_nearest) {
    const side_costs image({1, 1, 0.5}, 2);
    EXPECT_EQ(image.nearest_cut(0), 0);
    EXPECT_EQ(image.nearest_cut(0.4), 0);
    EXPECT_EQ(image.nearest_cut(0.6), 1);
    EXPECT_EQ(image.nearest_cut(2.5), 3);
    EXPECT_EQ(image.nearest_cut(3.6), 4);
    EXPECT_EQ(image.nearest_cut(5), 6);
}

TEST(divide, gives_each_cell_to_one_thread) {
    for (const int threads : {1, 2, 3, 4, 5, 8, 16, 64})
        for (const dim_t count : {1, 2, 3, 7, 14, 49})
            for (const dim_t panels : {1, 2, 3, 8, 32})
                for (const bool panel_by_panel : {false, true}) {
                    const side_costs rows = side_costs::even(count, 0.3, 2),
                                     columns = side_costs::even(panels, 0.6);
                    const std::vector<share> shares = divide(rows, columns, threads, panel_by_panel);
                    const auto text = ::testing::Message() << count << " x " << panels << " on " << threads;
                    EXPECT_LE(shares.size(), static_cast<std::size_t>(threads)) << text;
                    for (const int n : visits(rows, columns, shares))
                        EXPECT_EQ(n, 1) << text;
                    const double even = 1.0 / threads, cell = 1 / (rows.all() * columns.all());
                    EXPECT_LE(busiest_share(rows, columns, shares), std::max(1.04 * even, even + cell))
                        << text;
                }
}

TEST(divide, cuts_ranges_where_they_are_even) {
    const auto of = [](dim_t rows, dim_t panels, int threads, bool panel_by_panel) {
        return divide(side_costs::even(rows), side_costs::even(panels), threads, panel_by_panel);
    };
    EXPECT_EQ(of(1, 32, 2, false)[1][0].first_panel, 16); // one row: the columns are shared
    EXPECT_EQ(of(14, 1, 2, true)[1][0].first_row, 7);
    EXPECT_EQ(of(14, 32, 2, false)[1][0].first_row, 7);
    EXPECT_EQ(of(14, 32, 2, true)[1][0].first_panel, 16);
    for (const share &s : of(64, 7, 2, false))
        EXPECT_EQ(s.size(), 1u);
}

TEST(divide, cuts_through_a_row_where_rows_are_few) {
    const std::vector<share> shares = divide(side_costs::even(3), side_costs::even(3), 2, false);
    ASSERT_EQ(shares.size(), 2u);
    EXPECT_EQ(shares[0].size(), 2u); // a row and a part of the next
    EXPECT_LE(busiest_share(side_costs::even(3), side_costs::even(3), shares), 5.0 / 9);
}

TEST(divide, weighs_what_a_border_costs) {
    const std::vector<share> shares =
        divide(side_costs({0.5, 1, 1, 1, 1, 0.5}, 1), side_costs::even(1), 2, false);
    EXPECT_EQ(shares[1][0].first_row, 3);
    const std::vector<share> uneven =
        divide(side_costs({0.25, 0.25, 0.25, 0.25, 1}, 1), side_costs::even(1), 2, false);
    EXPECT_EQ(uneven[1][0].first_row, 4);
}

} // namespace
