// Maps of operators that only move elements: dimensions, elements, and what is refused before a table of its
// size is made.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/element_map.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "octet/error.hpp"

namespace octet::model {
namespace {

using dims = memory::dims;

/// The elements that a map takes of 0, 1, 2, …; -1 where it fills in.
std::vector<dim_t> elements(const element_map &map) {
    std::vector<dim_t> result{0};
    for (const std::vector<dim_t> &offsets : map) {
        std::vector<dim_t> next;
        for (const dim_t so_far : result)
            for (const dim_t offset : offsets)
                next.push_back(so_far == outside || offset == outside ? outside : so_far + offset);
        result = std::move(next);
    }
    return result;
}

void expect_map(const element_map &map, const dims &expected_dims, const std::vector<dim_t> &expected) {
    EXPECT_EQ(dims_of(map), expected_dims);
    EXPECT_EQ(elements(map), expected);
}

TEST(ElementMap, TakesElementsAsTheOperatorsSay) {
    const placed_dims x(dims{2, 3}); // 0 1 2, 3 4 5
    expect_map(sliced(x, {1, 2}, {-1, -2}, {2, 2}), {2, 2}, {5, 3, 2, 0});
    expect_map(transposed(x, {1, 0}), {3, 2}, {0, 3, 1, 4, 2, 5});
    expect_map(tiled(x, {2, 6}), {2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
    expect_map(reversed(x, {true, false}), {2, 3}, {3, 4, 5, 0, 1, 2});
    expect_map(expanded({3, 1}, {2, 3, 2}), {2, 3, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
    expect_map(transposed(placed_dims({2, 3}, {1, 2}), {0, 1}), {2, 3}, {0, 2, 4, 1, 3, 5});
}

TEST(ElementMap, PadsInEachMode) {
    const placed_dims x(dims{3});
    expect_map(padded(x, {2}, {1}, "constant"), {6}, {-1, -1, 0, 1, 2, -1});
    expect_map(padded(x, {2}, {1}, "edge"), {6}, {0, 0, 0, 1, 2, 2});
    expect_map(padded(x, {2}, {1}, "reflect"), {6}, {2, 1, 0, 1, 2, 1});
    expect_map(padded(x, {2}, {1}, "symmetric"), {6}, {1, 0, 0, 1, 2, 2});
    expect_map(padded(x, {2}, {1}, "wrap"), {6}, {1, 2, 0, 1, 2, 0});
    expect_map(padded(x, {-1}, {2}, "edge"), {4}, {1, 2, 2, 2});
    EXPECT_THROW(padded(x, {3}, {0}, "reflect"), error);
    EXPECT_THROW(padded(x, {0}, {dim_t{1} << 31}, "constant"), error);
}

TEST(ElementMap, DepthAndSpaceAreInverse) {
    const blocked_image image{placed_dims(dims{2, 8, 3, 5}), 2};
    const element_map wide = depth_to_space(image, false);
    ASSERT_EQ(dims_of(wide), image.wide_dims());
    const std::vector<dim_t> moved = elements(wide);
    std::vector<dim_t> back;
    for (const dim_t i : elements(space_to_depth({placed_dims(image.wide_dims()), 2})))
        back.push_back(moved[static_cast<std::size_t>(i)]);
    std::vector<dim_t> all(back.size());
    std::iota(all.begin(), all.end(), dim_t{0});
    EXPECT_EQ(back, all);
    EXPECT_THROW(depth_to_space({placed_dims(dims{2, 6, 3, 5}), 2}, true), error);
    EXPECT_THROW(space_to_depth({placed_dims(dims{2, 6, 3}), 1}), error);
}

TEST(ElementMap, RefusesWhatLiesOutside) {
    const placed_dims x(dims{2, 3});
    constexpr dim_t most = std::numeric_limits<dim_t>::max();
    EXPECT_THROW(sliced(x, {0, 1}, {1, 1}, {2, 3}), error);
    EXPECT_THROW(sliced(x, {0, 2}, {1, most}, {1, 3}), error);
    EXPECT_THROW(sliced(x, {0}, {1}, {2}), error);
    EXPECT_THROW(transposed(x, {0, 0}), error);
    EXPECT_THROW(transposed(x, {0}), error);
    EXPECT_THROW(transposed(x, {0, -1}), error);
    EXPECT_THROW(expanded({3}, {2, 2}), error);
    EXPECT_THROW(tiled(x, {2, 4}), error);
    EXPECT_THROW(tiled(x, {2}), error);
    expect_map(sliced(x, {0, 0}, {1, 1}, {0, 3}), {0, 3}, {});
}

} // namespace
} // namespace octet::model
