// Buffers of a network: planned without overlap, no larger than needed, and nothing is allocated once it has
// run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "model/onnx_builder.hpp"
#include "network/lower/buffers.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/allocations.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using model::lifetime;

bool meet(const lifetime &a, const lifetime &b) { return a.first <= b.last && b.first <= a.last; }

void expect_disjoint(const std::vector<lifetime> &buffers) {
    const model::buffer_plan plan = model::plan_buffers(buffers);
    ASSERT_EQ(plan.offsets.size(), buffers.size());
    std::size_t sum = 0;
    for (std::size_t i = 0; i < buffers.size(); i++) {
        EXPECT_EQ(plan.offsets[i] % 64, 0u);
        EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.total);
        sum += (buffers[i].bytes + 63) / 64 * 64;
        for (std::size_t j = 0; j < i; j++)
            if (meet(buffers[i], buffers[j]) && buffers[i].bytes != 0 && buffers[j].bytes != 0) {
                EXPECT_TRUE(plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                            plan.offsets[j] + buffers[j].bytes <= plan.offsets[i])
                    << i << " and " << j;
            }
    }
    EXPECT_LE(plan.total, sum);
}

TEST(BufferPlan, ChainsTakeTheTwoLargestNeighbours) {
    const std::vector<lifetime> chain = {{100, 0, 1}, {1000, 1, 2}, {500, 2, 3}, {64, 3, 4}};
    expect_disjoint(chain);
    EXPECT_EQ(model::plan_buffers(chain).total, 1024u + 512);
}

TEST(BufferPlan, ResidualsStayAlive) {
    const std::vector<lifetime> block = {{640, 0, 3}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
    expect_disjoint(block);
    EXPECT_EQ(model::plan_buffers(block).total, 3u * 640);
}

TEST(BufferPlan, BuffersInTurnHaveOneMiddle) {
    const std::vector<lifetime> chain = {{4096, 0, 1}, {1024, 1, 2}, {2048, 2, 3}, {512, 3, 4}, {3072, 4, 5}};
    expect_disjoint(chain);
    const model::buffer_plan plan = model::plan_buffers(chain);
    const auto middle = [&](std::size_t i) { return plan.offsets[i] + chain[i].bytes / 2; };
    EXPECT_EQ(middle(2), middle(0));
    EXPECT_EQ(middle(4), middle(0));
    EXPECT_EQ(middle(3), middle(1)); // beside those
    EXPECT_EQ(plan.total, 4096u + 1024);
}

TEST(BufferPlan, NothingNeedsNothing) {
    EXPECT_EQ(model::plan_buffers({}).total, 0u);
    EXPECT_EQ(model::plan_buffers({{0, 0, 0}, {0, 5, 9}}).total, 0u);
}

TEST(BufferPlan, RandomLifetimesNeverOverlap) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; round++) {
        std::vector<lifetime> buffers;
        const std::size_t count = 1 + random() % 40;
        for (std::size_t i = 0; i < count; i++) {
            const int first = static_cast<int>(random() % 30);
            buffers.push_back({random() % 5 == 0 ? 0 : random() % 4000, first,
                               first + static_cast<int>(random() % (round % 2 == 0 ? 3 : 20))});
        }
        expect_disjoint(buffers);
    }
}

TEST(NetworkBuffers, NothingIsAllocatedOnceTheNetworkHasRun) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1); // what oneTBB's workers allocate is their own
    network net = network(source_path("examples/digits/digits_int8.tflite"));
    net.run();
    const long before = test::allocation_count();
    net.run();
    EXPECT_EQ(test::allocation_count() - before, 0);
    set_num_threads(0);
}

/// A convolution of 32 channels by u8 codes from zero point 0 on, depthwise or 1x1.
network convolution_with_bias(bool is_depthwise, std::int32_t of_channel_7) {
    onnx_builder b;
    b.input<std::uint8_t>("x", {1, 32, 9, 9});
    b.scalar<float>("scale", 0.02f);
    b.scalar<std::uint8_t>("zero", 0);
    b.scalar<std::int8_t>("w_zero", 0);
    const std::int64_t inputs = is_depthwise ? 1 : 32, size = is_depthwise ? 3 : 1;
    b.constant<std::int8_t>("w", {32, inputs, size, size},
                            std::vector<std::int8_t>(32 * inputs * size * size, 3));
    std::vector<std::int32_t> bias(32, 5);
    bias[7] = of_channel_7;
    b.constant<std::int32_t>("bias", {32}, bias);
    auto &node =
        b.node("QLinearConv", {"x", "scale", "zero", "w", "scale", "w_zero", "scale", "zero", "bias"}, {"y"});
    b.set(node, "group", std::int64_t{is_depthwise ? 32 : 1});
    b.output("y");
    const auto file = b.finish();
    return network(model::read_onnx(file.data(), file.size(), "net.onnx"));
}

// Biases beyond ±2^24 take a kernel of their own, which comes with the network.
TEST(NetworkBuffers, LargeBiasesMakeNoKernelWhileTheNetworkRuns) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    const std::size_t capacity = get_primitive_cache_capacity();
    set_primitive_cache_capacity(0); // each network has kernels of its own
    set_num_threads(1);
    for (const bool is_depthwise : {false, true}) {
        network small = convolution_with_bias(is_depthwise, 5);
        small.run(); // makes what threads keep
        for (const std::int32_t bias :
             {1 << 24, (1 << 24) + 1, -(1 << 24) - 1, std::numeric_limits<std::int32_t>::min()}) {
            network large = convolution_with_bias(is_depthwise, bias);
            const long before = test::allocation_count();
            large.run();
            EXPECT_EQ(test::allocation_count() - before, 0) << is_depthwise << ", bias " << bias;
        }
    }
    set_num_threads(0);
    set_primitive_cache_capacity(capacity);
}

TEST(NetworkBuffers, ShareTheirBytes) {
    const std::string path = source_path("examples/digits/digits_int8.tflite");
    network_options options;
    for (const bool fusion : {true, false}) {
        options.fusion = fusion;
        const network net = network(path, options);
        const auto [shared, separate] = net.buffer_bytes();
        // The residual block: two or three tensors of 8x8x16 codes, as its sum is in place or not.
        EXPECT_EQ(shared, (fusion ? 2u : 3u) * 1024);
        EXPECT_GT(separate, shared);
    }
}

} // namespace
} // namespace octet::tests
