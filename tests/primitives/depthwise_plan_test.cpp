// Plans of the depthwise kernels are pure functions: checked without running anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cpu/depthwise/plan.hpp"

using namespace octet;
using namespace octet::impl;

namespace {

constexpr int few_temps = 3;
constexpr instruction_set vnni{cpu_isa::avx512_vnni};

bool slides(const tap_axis &rows, const tap_axis &columns, int blocks, int temps = few_temps) {
    return jit::can_slide(vnni, choose_patches(rows, columns), columns, false, temps, blocks);
}

TEST(depthwise_tiles, slide_where_quads_of_a_column_are_shared) {
    EXPECT_TRUE(slides({3}, {3}, 4));
    EXPECT_TRUE(slides({3}, {3}, 2));
    EXPECT_TRUE(slides({3, 2, 3}, {3}, 2)); // rows don't matter
    EXPECT_TRUE(slides({7}, {3}, 2));
    EXPECT_FALSE(slides({3}, {3}, 1));               // weights are in registers
    EXPECT_FALSE(slides({3}, {3, 2, 1}, 4));         // stride
    EXPECT_FALSE(slides({3}, {3, 1, 2}, 4));         // dilation
    EXPECT_FALSE(slides({5}, {5}, 4));               // patches are two columns wide
    EXPECT_FALSE(slides({4}, {1}, 4));               // nothing is shared
    EXPECT_FALSE(slides({3}, {3}, 4, /*temps=*/10)); // a tile of three columns has too many accumulators
}

TEST(depthwise_lines, end_with_a_tile_of_its_own_where_tiles_slide) {
    const patch_axis axis = choose_patches({3}, {3}).columns;
    const auto line = [&](dim_t width, dim_t pad, bool slides) {
        std::vector<std::vector<dim_t>> runs;
        for (const jit::tile_run &r : plan_line(axis, {3}, width, 3, pad, width + 2 - 2 * pad, slides))
            runs.push_back({r.columns, r.begin, r.end, r.count});
        return runs;
    };
    using runs = std::vector<std::vector<dim_t>>;
    EXPECT_EQ(line(12, 1, true), (runs{{3, 1, 5, 1}, {3, 0, 5, 2}, {3, 0, 4, 1}}));
    EXPECT_EQ(line(14, 1, true), (runs{{3, 1, 5, 1}, {3, 0, 5, 3}, {2, 0, 3, 1}}));
    EXPECT_EQ(line(12, 0, true), (runs{{3, 0, 5, 3}, {3, 0, 5, 1}}));
    EXPECT_EQ(line(12, 0, false), (runs{{3, 0, 5, 4}}));
    EXPECT_EQ(line(2, 1, true), (runs{{2, 1, 3, 1}}));
}

} // namespace
