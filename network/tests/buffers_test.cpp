// Buffers of a network: planned without overlap, no larger than needed, and nothing is allocated once it has
// run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "network/lower/buffers.hpp"
#include "network/onnx/tests/onnx_builder.hpp"
#include "network/tests/one_node.hpp"
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
            const std::size_t first = random() % 30;
            buffers.push_back({random() % 5 == 0 ? 0 : random() % 4000, first,
                               first + random() % (round % 2 == 0 ? 3 : 20)});
        }
        expect_disjoint(buffers);
    }
}

TEST(NetworkBuffers, NothingIsAllocatedOnceTheNetworkHasRun) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1); // oneTBB's workers allocate memory of their own
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

/// A node of floats, with an attribute if it has a name.
one_node node_of_floats(const char *op, const std::vector<dims> &inputs, const char *name = "",
                        const attribute &value = {}) {
    one_node n(op);
    if (*name != 0)
        n.set(name, value);
    for (const dims &d : inputs)
        n.input(d, numbers(count_of(d), 1.f));
    n.output();
    return n;
}

/// Nodes whose loops need memory beside their tensors, or indices.
std::vector<one_node> loops() {
    const auto reduced = [](const char *op, const dims &x, const list &axes) {
        return node_of_floats(op, {x}, "axes", axes);
    };
    std::vector<one_node> all = {
        node_of_floats("Conv", {{1, 24, 70, 90}, {1, 24, 3, 3}}, "pads", list{1, 1, 1, 1}), // a head
        node_of_floats("Conv", {{2, 24, 5, 5}, {7, 24, 5, 5}}, "pads", list{1, 1, 0, 0})
            .set("strides", list{2, 2}),
        node_of_floats("LogSoftmax", {{3, 40000}}, "axis", std::int64_t{1}),
        node_of_floats("LogSoftmax", {{30, 40, 50}}, "axis", std::int64_t{1}),
        node_of_floats("AveragePool", {{1, 3, 9, 900}}, "kernel_shape", list{3, 3}),
        reduced("ReduceMax", {5, 6, 7, 800}, {0, 2}),
        reduced("ReduceL1", {5, 6, 7, 8}, {0, 2}),
        reduced("ReduceMean", {5, 6, 7, 8}, {0, 2}),
        node_of_floats("Pow", {{5, 1, 7}, {6, 1}}),
        node_of_floats("Max", {{5, 1, 7}, {6, 1}, {7}}),
        node_of_floats("Sum", {{5, 1, 7}, {6, 1}, {7}}),
        node_of_floats("Transpose", {{3, 4, 5, 6}}, "perm", list{3, 1, 0, 2}),
    };
    all.push_back(one_node("ReduceSum"));
    all.back()
        .input({40, 50, 60}, std::vector<std::int32_t>(120000, 3))
        .constant({1}, std::vector<std::int32_t>{1})
        .output();
    return all;
}

TEST(NetworkBuffers, LoopsAllocateNothing) {
    if (!test::counts_allocations())
        GTEST_SKIP() << "a sanitizer's operator new";
    set_num_threads(1);
    one_node first = node_of_floats("LogSoftmax", {{4, 4}});
    infer_shapes(first.graph);
    network(first.graph).run(); // makes what the process and its threads keep for primitives
    for (one_node &n : loops()) {
        infer_shapes(n.graph);
        network net(n.graph);
        for (const auto &fill : n.fill)
            fill(net);
        const long before = test::allocation_count();
        net.run();
        EXPECT_EQ(test::allocation_count() - before, 0)
            << n.graph.nodes[0].op << " of " << model::to_text(n.graph.tensors[0].dims);
    }
    set_num_threads(0);
}

TEST(NetworkBuffers, AHeadNeedsLittleMoreThanItsImage) {
    one_node n = node_of_floats("Conv", {{1, 64, 128, 128}, {1, 64, 3, 3}}, "pads", list{1, 1, 1, 1});
    infer_shapes(n.graph);
    network_options options;
    options.memory_limit = std::size_t{6} << 20; // all that its taps meet takes 37 MB
    EXPECT_NO_THROW(network(n.graph, options));
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
