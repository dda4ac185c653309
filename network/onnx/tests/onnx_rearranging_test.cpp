// Operators of ONNX that move elements by a rule for each dimension, against plain loops; codes and floats.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

template <typename T> std::vector<T> counted(std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<T>(i);
    return values;
}

TEST(Rearranging, DepthToSpaceAndBack) {
    const dims deep = {2, 8, 2, 3}, wide = {2, 2, 4, 6};
    const std::vector<std::uint8_t> x = counted<std::uint8_t>(96);
    for (const bool is_column_major : {false, true}) {
        one_node n("DepthToSpace");
        n.input(deep, x).set("blocksize", std::int64_t{2});
        if (is_column_major)
            n.set("mode", std::string("CRD"));
        const std::vector<std::uint8_t> y = n.run<std::uint8_t>();
        ASSERT_EQ(n.shape, wide);
        std::size_t i = 0;
        for (std::size_t b = 0; b < 2; b++)
            for (std::size_t c = 0; c < 2; c++)
                for (std::size_t h = 0; h < 4; h++)
                    for (std::size_t w = 0; w < 6; w++, i++) {
                        const std::size_t place = h % 2 * 2 + w % 2;
                        const std::size_t channel = is_column_major ? c * 4 + place : place * 2 + c;
                        ASSERT_EQ(y[i], x[((b * 8 + channel) * 2 + h / 2) * 3 + w / 2]) << i;
                    }
        if (is_column_major)
            continue;
        one_node back("SpaceToDepth");
        back.input(wide, y).set("blocksize", std::int64_t{2});
        EXPECT_EQ(back.run<std::uint8_t>(), x);
        EXPECT_EQ(back.shape, deep);
    }
    EXPECT_NE(one_node("DepthToSpace").input(deep, x).set("blocksize", std::int64_t{3}).refusal(), "");
    EXPECT_NE(one_node("DepthToSpace").input(deep, x).refusal(), "");
    EXPECT_NE(one_node("SpaceToDepth").input(deep, x).set("blocksize", std::int64_t{2}).refusal(), "");
}

TEST(Rearranging, TileRepeats) {
    const auto tiled = [](const dims &d, const std::vector<std::int32_t> &repeats, dims &shape) {
        one_node n("Tile");
        n.input(d, counted<float>(count_of(d)));
        n.constant({static_cast<dim_t>(repeats.size())}, repeats);
        const std::vector<float> y = n.run<float>();
        shape = n.shape;
        return y;
    };
    dims shape;
    EXPECT_EQ(tiled({2, 2}, {1, 2}, shape), (std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3}));
    EXPECT_EQ(shape, (dims{2, 4}));
    EXPECT_EQ(tiled({1, 2}, {3, 1}, shape), (std::vector<float>{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(tiled({3}, {1}, shape), (std::vector<float>{0, 1, 2}));
    one_node wrong("Tile");
    wrong.input({2, 2}, counted<float>(4)).constant({1}, std::vector<std::int32_t>{2});
    EXPECT_NE(wrong.refusal(), "");
}

struct padding_case {
    const char *mode;
    list pads;
    std::vector<float> expected; ///< the result for {0, 1, 2, 3}
};

TEST(Rearranging, PaddingOfEveryMode) {
    const padding_case cases[] = {
        {"reflect", {2, 3}, {2, 1, 0, 1, 2, 3, 2, 1, 0}},
        {"edge", {2, 1}, {0, 0, 0, 1, 2, 3, 3}},
        {"edge", {-1, 2}, {1, 2, 3, 3, 3}},
        {"reflect", {1, -1}, {1, 0, 1, 2}},
        {"constant", {-2, 1}, {2, 3, 9}},
        {"constant", {-1, -1}, {1, 2}},
        {"constant", {1, -4}, {9}},
        {"wrap", {3, 5}, {1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
    };
    for (const padding_case &c : cases) {
        one_node n("Pad");
        n.input({1, 4}, counted<float>(4)).set("mode", std::string(c.mode));
        n.constant({2}, std::vector<std::int32_t>(c.pads.begin(), c.pads.end()));
        n.constant({}, std::vector<float>{9}).constant({1}, std::vector<std::int32_t>{-1});
        EXPECT_EQ(n.run<float>(), c.expected) << c.mode;
    }
    const padding_case refused[] = {
        {"reflect", {4, 0}, {}}, {"constant", {-3, -2}, {}}, {"edge", {-4, 1}, {}}, {"mirror", {0, 0}, {}}};
    for (const padding_case &c : refused) {
        one_node n("Pad");
        n.input({4}, counted<float>(4)).set("mode", std::string(c.mode)).set("pads", c.pads);
        EXPECT_NE(n.refusal(), "") << c.mode;
    }
}

TEST(Rearranging, PaddingOfSeveralDimensions) {
    one_node n("Pad");
    n.input({1, 2, 2, 3}, counted<std::int8_t>(12)).set("mode", std::string("reflect"));
    n.set("pads", list{0, 0, 1, 2, 0, 0, 0, 1});
    const std::vector<std::int8_t> y = n.run<std::int8_t>();
    ASSERT_EQ(n.shape, (dims{1, 2, 3, 6}));
    const std::int8_t rows[] = {1, 0, 1}, columns[] = {2, 1, 0, 1, 2, 1};
    for (std::size_t i = 0; i < y.size(); i++)
        ASSERT_EQ(y[i], static_cast<int>(i / 18) * 6 + rows[i / 6 % 3] * 3 + columns[i % 6]) << i;
}

TEST(Rearranging, DropoutDropsNothing) {
    one_node n("Dropout");
    n.input({4}, counted<float>(4));
    EXPECT_EQ(n.run<float>(), counted<float>(4));
    one_node masked("Dropout");
    masked.input({4}, counted<float>(4)).output().output();
    EXPECT_NE(masked.refusal(), "");
    one_node training("Dropout");
    training.input({4}, counted<float>(4)).constant({}, std::vector<float>{0.5f});
    training.constant({}, std::vector<std::uint8_t>{1});
    EXPECT_NE(training.refusal(), "");
}

} // namespace
} // namespace octet::tests
