// TFLite's operators that move codes or choose among them, against what their documentation says, in plain
// loops; shapes are those that the operators' own functions give.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "network/tests/one_node.hpp"
#include "network/tflite/tests/tflite_builder.hpp"

namespace octet::tests {
namespace {

using s8s = std::vector<std::int8_t>;
using s32s = std::vector<std::int32_t>;

one_node tflite(const char *op) { return one_node(op, "tflite"); }

s8s counted(std::size_t count, int first = -100) {
    s8s values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<std::int8_t>(first + static_cast<int>(i));
    return values;
}

/// Output 0 of a node with one output of codes.
s8s codes(one_node &n, float scale = 0.5f, std::int32_t zero_point = 3) {
    return n.output(data_type::s8, scale, zero_point).run<std::int8_t>();
}

one_node strided(const s8s &x, const dims &d, const s32s &begin, const s32s &end, const s32s &strides) {
    one_node n = tflite("STRIDED_SLICE");
    const dims list_dims = {static_cast<dim_t>(begin.size())};
    n.input(d, x, 0.5f, 3).constant(list_dims, begin).constant(list_dims, end).constant(list_dims, strides);
    return n;
}

TEST(TfliteMoves, SlicesTakeWhatIsLeft) {
    one_node n = tflite("SLICE");
    n.input({2, 3, 4}, counted(24), 0.5f, 3)
        .constant<std::int32_t>({3}, {1, 0, 1})
        .constant<std::int32_t>({3}, {-1, 2, 2});
    EXPECT_EQ(codes(n), (s8s{-87, -86, -83, -82}));
    EXPECT_EQ(n.shape, (dims{1, 2, 2}));
}

TEST(TfliteMoves, StridedSlicesGoBackwardsAndBeyondTheEnds) {
    one_node back = strided(counted(5), {5}, {4}, {-10}, {-2});
    EXPECT_EQ(codes(back), (s8s{-96, -98, -100}));
    one_node beyond = strided(counted(5), {5}, {-10}, {10}, {3});
    EXPECT_EQ(codes(beyond), (s8s{-100, -97}));
}

TEST(TfliteMoves, MasksOfStridedSlicesOpenAndDropDimensions) {
    // [:, 1, ::-1] of 2 x 3 x 4
    one_node n = strided(counted(24), {2, 3, 4}, {1, 1, 0}, {1, 2, 0}, {1, 1, -1});
    n.set("begin_mask", std::int64_t{5})
        .set("end_mask", std::int64_t{5})
        .set("shrink_axis_mask", std::int64_t{2});
    EXPECT_EQ(codes(n), (s8s{-93, -94, -95, -96, -81, -82, -83, -84}));
    EXPECT_EQ(n.shape, (dims{2, 4}));
}

TEST(TfliteMoves, AnEllipsisTakesTheDimensionsBetweenAndNewOnesHaveOneElement) {
    // [..., new, 1] of 2 x 2 x 3
    one_node n = strided(counted(12), {2, 2, 3}, {0, 0, 1}, {0, 0, 2}, {1, 1, 1});
    n.set("ellipsis_mask", std::int64_t{1}).set("new_axis_mask", std::int64_t{2});
    n.set("shrink_axis_mask", std::int64_t{4});
    EXPECT_EQ(codes(n), (s8s{-99, -96, -93, -90}));
    EXPECT_EQ(n.shape, (dims{2, 2, 1}));
}

TEST(TfliteMoves, StridedSlicesAreRefusedWithAReason) {
    one_node zero = strided(counted(5), {5}, {0}, {5}, {0});
    EXPECT_NE(zero.output(data_type::s8, 0.5f, 3).refusal().find("a stride is 0"), std::string::npos);
    one_node outside = strided(counted(5), {5}, {7}, {8}, {1});
    outside.set("shrink_axis_mask", std::int64_t{1});
    EXPECT_NE(outside.output(data_type::s8, 0.5f, 3).refusal().find("index 7 is outside a dimension of 5"),
              std::string::npos);
    one_node many = strided(counted(5), {5}, {0, 0}, {1, 1}, {1, 1});
    EXPECT_NE(many.output(data_type::s8, 0.5f, 3).refusal().find("2 entries are about dimensions"),
              std::string::npos);
    one_node relative = strided(counted(5), {5}, {0}, {5}, {1});
    relative.set("offset", std::int64_t{1});
    EXPECT_NE(relative.output(data_type::s8, 0.5f, 3).refusal().find("'offset'"), std::string::npos);
}

TEST(TfliteMoves, PartsOfSplitsAreEqualOrSized) {
    one_node equal = tflite("SPLIT");
    equal.constant<std::int32_t>({}, {-1}).input({2, 4}, counted(8), 0.5f, 3);
    equal.output(data_type::s8, 0.5f, 3).output(data_type::s8, 0.5f, 3);
    EXPECT_EQ(equal.run<std::int8_t>(0), (s8s{-100, -99, -96, -95}));
    EXPECT_EQ(equal.run<std::int8_t>(1), (s8s{-98, -97, -94, -93}));
    one_node sized = tflite("SPLIT_V");
    sized.input({5, 2}, counted(10), 0.5f, 3)
        .constant<std::int32_t>({2}, {2, -1})
        .constant<std::int32_t>({}, {0});
    sized.output(data_type::s8, 0.5f, 3).output(data_type::s8, 0.5f, 3);
    EXPECT_EQ(sized.run<std::int8_t>(1), (s8s{-96, -95, -94, -93, -92, -91}));
    EXPECT_EQ(sized.shape, (dims{3, 2}));
}

TEST(TfliteMoves, PackAddsADimensionAndUnpackDropsIt) {
    one_node pack = tflite("PACK");
    pack.input({2, 2}, s8s{1, 2, 3, 4}, 0.5f, 3).constant({2, 2}, s8s{5, 6, 7, 8}, 0.5f, 3);
    pack.set("axis", std::int64_t{-1});
    EXPECT_EQ(codes(pack), (s8s{1, 5, 2, 6, 3, 7, 4, 8}));
    EXPECT_EQ(pack.shape, (dims{2, 2, 2}));
    one_node unpack = tflite("UNPACK");
    unpack.input({2, 2, 2}, s8s{1, 5, 2, 6, 3, 7, 4, 8}, 0.5f, 3).set("axis", std::int64_t{2});
    unpack.output(data_type::s8, 0.5f, 3).output(data_type::s8, 0.5f, 3);
    EXPECT_EQ(unpack.run<std::int8_t>(1), (s8s{5, 6, 7, 8}));
    EXPECT_EQ(unpack.shape, (dims{2, 2}));
}

TEST(TfliteMoves, GatherTakesBlocks) {
    one_node n = tflite("GATHER");
    n.input({2, 3, 2}, counted(12), 0.5f, 3).constant<std::int32_t>({2}, {2, 0}).set("axis", std::int64_t{1});
    EXPECT_EQ(codes(n), (s8s{-96, -95, -100, -99, -90, -89, -94, -93}));
    EXPECT_EQ(n.shape, (dims{2, 2, 2}));
}

TEST(TfliteMoves, ChannelsBecomeNeighboursAndBack) {
    constexpr std::size_t h = 2, w = 3, c = 5, block = 2;
    const s8s x = counted(h * w * c * block * block);
    one_node n = tflite("DEPTH_TO_SPACE");
    n.input({1, 2, 3, 20}, x, 0.5f, 3).set("block_size", std::int64_t{2});
    const s8s y = codes(n);
    ASSERT_EQ(n.shape, (dims{1, 4, 6, 5}));
    for (std::size_t i = 0; i < h * block; i++)
        for (std::size_t j = 0; j < w * block; j++)
            for (std::size_t k = 0; k < c; k++)
                ASSERT_EQ(y[(i * w * block + j) * c + k],
                          x[(i / 2 * w + j / 2) * c * 4 + (i % 2 * 2 + j % 2) * c + k]);
    one_node back = tflite("SPACE_TO_DEPTH");
    back.input({1, 4, 6, 5}, y, 0.5f, 3).set("block_size", std::int64_t{2});
    EXPECT_EQ(codes(back), x);
}

/// Padding of 1 and 2 above and below, 0 and 1 beside; zero points fill it.
TEST(TfliteMoves, BlocksOfABatchInterleaveAnImage) {
    constexpr std::size_t h = 3, w = 5, c = 2;
    const s8s x = counted(h * w * c);
    one_node n = tflite("SPACE_TO_BATCH_ND");
    n.input({1, 3, 5, 2}, x, 0.5f, 3).constant<std::int32_t>({2}, {3, 2});
    n.constant<std::int32_t>({2, 2}, {1, 2, 0, 1});
    const s8s y = codes(n);
    ASSERT_EQ(n.shape, (dims{6, 2, 3, 2}));
    std::size_t at = 0;
    for (std::size_t block = 0; block < 6; block++)
        for (std::size_t i = 0; i < 2; i++)
            for (std::size_t j = 0; j < 3; j++)
                for (std::size_t k = 0; k < c; k++, at++) {
                    const std::size_t row = i * 3 + block / 2, column = j * 2 + block % 2;
                    const bool is_inside = row >= 1 && row - 1 < h && column < w;
                    ASSERT_EQ(y[at], is_inside ? x[((row - 1) * w + column) * c + k] : 3) << at;
                }
    one_node back = tflite("BATCH_TO_SPACE_ND");
    back.input({6, 2, 3, 2}, y, 0.5f, 3).constant<std::int32_t>({2}, {3, 2});
    back.constant<std::int32_t>({2, 2}, {1, 2, 0, 1});
    EXPECT_EQ(codes(back), x);
    EXPECT_EQ(back.shape, (dims{1, 3, 5, 2}));
}

TEST(TfliteMoves, MirrorsRepeatTheEdgeOrNot) {
    const auto mirrored = [](const char *mode) {
        one_node n = tflite("MIRROR_PAD");
        n.input({3}, s8s{1, 2, 3}, 0.5f, 3)
            .constant<std::int32_t>({1, 2}, {2, 1})
            .set("mode", std::string(mode));
        return codes(n);
    };
    EXPECT_EQ(mirrored("REFLECT"), (s8s{3, 2, 1, 2, 3, 2}));
    EXPECT_EQ(mirrored("SYMMETRIC"), (s8s{2, 1, 1, 2, 3, 3}));
}

TEST(TfliteMoves, ReversedTiledAndBroadcast) {
    one_node reverse = tflite("REVERSE_V2");
    reverse.input({2, 3}, s8s{1, 2, 3, 4, 5, 6}, 0.5f, 3).constant<std::int32_t>({1}, {-1});
    EXPECT_EQ(codes(reverse), (s8s{3, 2, 1, 6, 5, 4}));
    one_node tile = tflite("TILE");
    tile.input({1, 2}, s8s{1, 2}, 0.5f, 3).constant<std::int32_t>({2}, {2, 2});
    EXPECT_EQ(codes(tile), (s8s{1, 2, 1, 2, 1, 2, 1, 2}));
    one_node broadcast = tflite("BROADCAST_TO");
    broadcast.input({2, 1}, s8s{1, 2}, 0.5f, 3).constant<std::int32_t>({3}, {2, 2, 2});
    EXPECT_EQ(codes(broadcast), (s8s{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(TfliteMoves, TheLargerCodeWinsWhateverTheScales) {
    one_node larger = tflite("MAXIMUM"), smaller = tflite("MINIMUM");
    for (one_node *n : {&larger, &smaller})
        n->input({2, 2}, s8s{-128, 127, 5, -6}, 0.5f, 3).input({2}, s8s{0, -1}, 2.f, -7);
    EXPECT_EQ(codes(larger), (s8s{0, 127, 5, -1}));
    EXPECT_EQ(codes(smaller), (s8s{-128, -1, 0, -6}));
}

TEST(TfliteMoves, ExtremesAndSumsOfDimensions) {
    const s8s x = {-128, 7, 3, 4, 127, -6};
    const auto reduced = [&](const char *op, const s32s &axes, float scale, std::int32_t zero_point) {
        one_node n = tflite(op);
        n.input({2, 3}, x, 0.5f, 3).constant({static_cast<dim_t>(axes.size())}, axes);
        return codes(n, scale, zero_point);
    };
    EXPECT_EQ(reduced("REDUCE_MAX", {1}, 0.5f, 3), (s8s{7, 127}));
    EXPECT_EQ(reduced("REDUCE_MIN", {0}, 0.5f, 3), (s8s{-128, 7, -6}));
    EXPECT_EQ(reduced("REDUCE_MAX", {-1, 0}, 0.5f, 3), s8s{127});
    // (-131 + 4 + 0) / 2 = -63.5, up; (1 + 124 - 9) / 2 = 58
    EXPECT_EQ(reduced("SUM", {1}, 1.f, 10), (s8s{-53, 68}));
}

TEST(TfliteMoves, PlacesOfExtremesAreTheFirstOnes) {
    for (const bool is_largest : {true, false}) {
        one_node n = tflite(is_largest ? "ARG_MAX" : "ARG_MIN");
        n.input({2, 4}, s8s{1, 7, 7, 1, -3, -128, 5, -128}, 0.5f, 3).constant<std::int32_t>({}, {1});
        n.output(data_type::s32);
        EXPECT_EQ(n.run<std::int32_t>(), is_largest ? (s32s{1, 2}) : (s32s{0, 1}));
        EXPECT_EQ(n.shape, dims{2});
    }
}

/// Keras' Reshape to {batch, 12}: the batch is a part of the input's shape.
model::graph reshape_by_its_own_shape() {
    tflite_builder b;
    const int x = b.s8({1, 2, 6}, 0.5f, 3), shape = b.tensor({3}, format::TensorType_INT32),
              batch = b.tensor({}, format::TensorType_INT32), sizes = b.tensor({2}, format::TensorType_INT32),
              y = b.s8({1, 12}, 0.5f, 3);
    b.node(format::BuiltinOperator_SHAPE, {x}, {shape},
           format::CreateShapeOptions(b.fbb, format::TensorType_INT32));
    b.node(format::BuiltinOperator_STRIDED_SLICE,
           {shape, b.constant_s32({1}, {0}), b.constant_s32({1}, {1}), b.constant_s32({1}, {1})}, {batch},
           format::CreateStridedSliceOptions(b.fbb, 0, 0, 0, 0, 1));
    b.node(format::BuiltinOperator_PACK, {batch, b.constant_s32({}, {12})}, {sizes},
           format::CreatePackOptions(b.fbb, 2, 0));
    b.node(format::BuiltinOperator_RESHAPE, {x, sizes}, {y});
    const std::vector<std::uint8_t> file = b.finish({x}, {y});
    return model::read_tflite(file.data(), file.size(), "test");
}

TEST(TfliteMoves, ShapesThatANetworkComputesFollowItsBatch) {
    for (const std::int64_t batch : {1, 3}) {
        network_options options;
        options.batch = batch;
        network net(reshape_by_its_own_shape(), options);
        const s8s x = counted(static_cast<std::size_t>(batch * 12));
        net.input().copy_from(x);
        net.run();
        EXPECT_EQ(net.output().dims(), (dims{batch, 12}));
        EXPECT_EQ(net.output().as<std::int8_t>(), x);
        EXPECT_EQ(net.get_graph().nodes.size(), 1u); // nothing of it is left to run
    }
}

TEST(TfliteMoves, WhatMixesImagesHasNoOtherBatch) {
    one_node reverse = tflite("REVERSE_V2"), slice = strided(counted(4), {1, 4}, {0, 0}, {-2, 4}, {-1, 1});
    reverse.input({1, 4}, counted(4), 0.5f, 3).constant<std::int32_t>({1}, {0});
    one_node broadcast = tflite("BROADCAST_TO");
    broadcast.input({1, 4}, counted(4), 0.5f, 3).constant<std::int32_t>({3}, {1, 2, 4});
    for (one_node *n : {&reverse, &slice, &broadcast}) {
        EXPECT_GE(codes(*n).size(), 4u);
        network_options options;
        options.batch = 2;
        try {
            network net(n->graph, options);
            FAIL();
        } catch (const error &e) {
            EXPECT_NE(std::string(e.what()).find("treats images as it does any dimension"), std::string::npos)
                << e.what();
        }
    }
}

/// A gate of one row per image would be broadcast along the images' width, where that is as large as the batch.
TEST(TfliteMoves, OperandsOfTwoRanksHaveNoOtherBatch) {
    one_node n = tflite("MUL");
    n.input({1, 2, 2, 3}, counted(12), 0.5f, 3).input({1, 3}, counted(3), 0.5f, 3);
    EXPECT_EQ(codes(n).size(), 12u);
    network_options options;
    options.batch = 2;
    try {
        network net(n.graph, options);
        FAIL();
    } catch (const error &e) {
        EXPECT_NE(std::string(e.what()).find("differ in rank"), std::string::npos) << e.what();
    }
}

/// Files may say anything of a tensor that is computed.
TEST(TfliteMoves, WhatDoesNotBroadcastIsRefused) {
    const auto refusal = [](one_node n, data_type type, const dims &claimed) {
        n.output(type, type == data_type::s8 ? 0.5f : 0.f, 3);
        n.graph.tensors.back().dims = claimed;
        try {
            network net(n.graph);
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    one_node broadcast = tflite("BROADCAST_TO");
    broadcast.input({3}, counted(3), 0.5f, 3).constant<std::int32_t>({2}, {2, 4});
    EXPECT_NE(refusal(broadcast, data_type::s8, {2, 4}).find("3 do not broadcast to 2x4"), std::string::npos);
    one_node sum("Add"), condition("Where");
    sum.input<std::int32_t>({3}, {1, 2, 3}).input<std::int32_t>({1}, {1});
    EXPECT_NE(refusal(sum, data_type::s32, {4}).find("do not broadcast"), std::string::npos);
    condition.input<std::uint8_t>({2}, {1, 0}).input<std::int32_t>({1}, {1}).input<std::int32_t>({1}, {2});
    EXPECT_NE(refusal(condition, data_type::s32, {5}).find("do not broadcast"), std::string::npos);
}

TEST(TfliteMoves, PoolingTakesScalesThatDifferByAMillionth) {
    const auto pooled = [](float scale) {
        one_node n = tflite("MAX_POOL_2D");
        n.input({1, 1, 3, 1}, s8s{1, 9, 5}, 0.5f, 3).set("padding", std::string("VALID"));
        for (const char *name : {"stride_h", "stride_w", "filter_h"})
            n.set(name, std::int64_t{1});
        n.set("filter_w", std::int64_t{2}).output(data_type::s8, scale, 3);
        return n;
    };
    EXPECT_EQ(pooled(0.5000005f).run<std::int8_t>(), (s8s{9, 9}));
    EXPECT_NE(pooled(0.500002f).refusal().find("differ in scale"), std::string::npos);
}

} // namespace
} // namespace octet::tests
