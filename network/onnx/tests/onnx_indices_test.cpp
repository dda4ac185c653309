// Operators whose operands come with the request: indices, limits, exponents, divisors, scales of blocks.
// Their results are compared with ONNX Runtime's by tests/onnxruntime. Here are small examples, and requests
// that they refuse before they write anything.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using floats = std::vector<float>;
using integers = std::vector<std::int32_t>;

constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                       highest = std::numeric_limits<std::int32_t>::max();
const floats six = {1, 2, 3, 4, 5, 6};

one_node of(const char *op, const dims &d = {2, 3}, const floats &x = six) {
    return one_node(op).input(d, x);
}

void expect_refusal(one_node n, const std::string &what) {
    const std::string said = n.refusal();
    EXPECT_NE(said.find(what), std::string::npos) << n.graph.nodes[0].op << ": " << said;
}

/// The same with indices that have nothing to do with the tensor: each is an error, and none is read.
void expect_indices_inside(const char *op, const dims &of_indices,
                           const std::function<void(one_node &)> &rest, std::int32_t size) {
    for (const std::int32_t index : {size, -size - 1, lowest, highest})
        for (std::size_t place = 0; place < count_of(of_indices); place++) {
            integers indices(count_of(of_indices));
            indices[place] = index;
            one_node n = of(op);
            n.input(of_indices, indices);
            rest(n);
            expect_refusal(n, "is " + std::to_string(index) + ", allowed: " + std::to_string(-size) + " to " +
                                  std::to_string(size - 1));
        }
}

TEST(OnnxIndices, NameElementsAlongAnAxis) {
    one_node gathered = of("GatherElements");
    EXPECT_EQ(gathered.input<std::int32_t>({2, 2}, {2, -3, 0, 1}).set("axis", std::int64_t{1}).run<float>(),
              (floats{3, 1, 4, 5}));
    one_node scattered = of("ScatterElements");
    scattered.input<std::int32_t>({1, 3}, {1, -1, 0}).input<float>({1, 3}, {7, 8, 9});
    EXPECT_EQ(scattered.run<float>(), (floats{1, 2, 9, 7, 8, 6}));
    one_node added = of("ScatterElements");
    added.input<std::int32_t>({2, 2}, {0, 0, 1, -1}).input<float>({2, 2}, {7, 8, 9, 1});
    EXPECT_EQ(added.set("axis", std::int64_t{1}).set("reduction", std::string("add")).run<float>(),
              (floats{16, 2, 3, 4, 14, 7}));
    expect_indices_inside(
        "GatherElements", {2, 3}, [](one_node &) {}, 2);
    expect_indices_inside(
        "ScatterElements", {1, 3},
        [](one_node &n) {
            n.input<float>({1, 3}, {7, 8, 9});
        },
        2);
    expect_refusal(of("GatherElements").input<std::int32_t>({2, 4}, integers(8)),
                   "indices 2x4 do not fit into 2x3");
    expect_refusal(of("GatherElements").input<std::int32_t>({6}, integers(6)),
                   "indices 6 do not fit into 2x3");
    expect_refusal(of("GatherElements").input<float>({2, 3}, floats(6)), "allowed are integers");
    expect_refusal(
        of("ScatterElements").input<std::int32_t>({1, 3}, integers(3)).input<float>({3}, floats(3)),
        "updates are 3 of f32, allowed: 1x3 of f32");
    expect_refusal(of("ScatterElements")
                       .input<std::int32_t>({1, 3}, integers(3))
                       .input<float>({1, 3}, floats(3))
                       .set("reduction", std::string("mean")),
                   "attribute 'reduction' is 'mean'");
}

TEST(OnnxIndices, NameBlocks) {
    one_node gathered = of("GatherND");
    EXPECT_EQ(gathered.input<std::int32_t>({2, 1}, {1, -2}).run<float>(), (floats{4, 5, 6, 1, 2, 3}));
    one_node of_batch = of("GatherND");
    EXPECT_EQ(of_batch.input<std::int32_t>({2, 1}, {1, -1}).set("batch_dims", std::int64_t{1}).run<float>(),
              (floats{2, 6}));
    one_node scattered = of("ScatterND");
    scattered.input<std::int32_t>({2, 2}, {0, 1, 1, -1}).input<float>({2}, {7, 8});
    EXPECT_EQ(scattered.run<float>(), (floats{1, 7, 3, 4, 5, 8}));
    expect_indices_inside(
        "GatherND", {3, 1}, [](one_node &) {}, 2);
    expect_indices_inside(
        "ScatterND", {1, 1},
        [](one_node &n) {
            n.input<float>({1, 3}, {7, 8, 9});
        },
        2);
    expect_refusal(of("GatherND").input<std::int32_t>({1, 3}, integers(3)),
                   "indices 1x3 do not name elements of 2x3");
    expect_refusal(of("GatherND").input<std::int32_t>({1, 0}, integers()), "do not name elements of 2x3");
    for (const std::int64_t batch : {-1, 1, 2, 7})
        expect_refusal(of("GatherND").input<std::int32_t>({3, 1}, integers(3)).set("batch_dims", batch),
                       "do not name elements of 2x3");
    expect_refusal(of("ScatterND").input<std::int32_t>({2, 2}, integers(4)).input<float>({3}, floats(3)),
                   "updates are 3 of f32, allowed: 2 of f32");
}

TEST(OnnxIndices, OfTheLargestElements) {
    one_node values =
        of("TopK", {2, 3}, {2, 9, 9, -1, -5, 0}).constant<std::int32_t>({1}, {2}).output().output();
    EXPECT_EQ(values.run<float>(0), (floats{9, 9, 0, -1}));
    EXPECT_EQ(values.run<std::int32_t>(1), (integers{1, 2, 2, 0}));
    one_node smallest = of("TopK").constant<std::int32_t>({1}, {1}).set("axis", std::int64_t{0});
    EXPECT_EQ(smallest.set("largest", std::int64_t{0}).output().output().run<float>(0), (floats{1, 2, 3}));
    const auto with = [](std::int32_t k) {
        return of("TopK").constant<std::int32_t>({1}, {k}).output().output();
    };
    for (const std::int32_t k : {4, -1, lowest, highest})
        expect_refusal(with(k), "allowed is one number from 0 to 3");
    expect_refusal(with(2).set("axis", std::int64_t{2}), "axis 2 is outside the 2 dimensions");
    expect_refusal(with(2).set("sorted", std::int64_t{0}), "attribute 'sorted' is 0, allowed is 1");
    const float none = std::numeric_limits<float>::quiet_NaN();
    one_node of_nan = of("TopK", {4}, {none, 1, none, 2}).constant<std::int32_t>({1}, {4}).output().output();
    EXPECT_EQ(of_nan.run<std::int32_t>(1), (integers{3, 1, 0, 2}));
}

TEST(OnnxIndices, SumsTrianglesAndClasses) {
    one_node sums = of("CumSum").constant<std::int32_t>({}, {1});
    EXPECT_EQ(sums.run<float>(), (floats{1, 3, 6, 4, 9, 15}));
    one_node before = of("CumSum").constant<std::int32_t>({}, {-2}).set("exclusive", std::int64_t{1});
    EXPECT_EQ(before.set("reverse", std::int64_t{1}).run<float>(), (floats{4, 5, 6, 0, 0, 0}));
    expect_refusal(of("CumSum").constant<std::int32_t>({}, {2}), "axis 2 is outside the 2 dimensions");
    one_node upper = of("Trilu").constant<std::int32_t>({}, {1});
    EXPECT_EQ(upper.run<float>(), (floats{0, 2, 3, 0, 0, 6}));
    for (const std::int32_t diagonal : {lowest, highest}) {
        one_node lower = of("Trilu").constant<std::int32_t>({}, {diagonal}).set("upper", std::int64_t{0});
        EXPECT_EQ(lower.run<float>(), diagonal < 0 ? floats(6) : six);
    }
    expect_refusal(of("Trilu", {6}), "is no batch of matrices");
    one_node classes("OneHot");
    classes.input<std::int32_t>({5}, {0, -1, 2, lowest, highest}).constant<std::int32_t>({1}, {2});
    EXPECT_EQ(classes.input<float>({2}, {0, 1}).run<float>(), (floats{1, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
    for (const std::int32_t depth : {0, -3})
        expect_refusal(one_node("OneHot")
                           .input<std::int32_t>({1}, {0})
                           .constant<std::int32_t>({1}, {depth})
                           .input<float>({2}, {0, 1}),
                       "allowed is one number from 1 on");
    expect_refusal(
        one_node("OneHot").input<std::int32_t>({1}, {0}).constant<std::int32_t>({1}, {3}).input<float>(
            {3}, {0, 1, 2}),
        "allowed are two values");
}

/// A program may give a graph whose tensors have other dimensions than their nodes give.
TEST(OnnxIndices, OutputsThatLieAreRefused) {
    const integers three = {0, 0, 0};
    std::vector<one_node> nodes = {
        of("GatherElements").input<std::int32_t>({1, 3}, three),
        of("ScatterElements").input<std::int32_t>({1, 3}, three).input<float>({1, 3}, floats(3)),
        of("GatherND").input<std::int32_t>({3, 1}, three),
        of("ScatterND").input<std::int32_t>({1, 1}, {0}).input<float>({1, 3}, floats(3)),
        of("TopK").constant<std::int32_t>({1}, {2}).output().output(),
        of("CumSum").constant<std::int32_t>({}, {1}),
        of("Trilu"),
        one_node("OneHot")
            .input<std::int32_t>({3}, three)
            .constant<std::int32_t>({1}, {2})
            .input<float>({2}, {0, 1}),
        of("IsNaN"),
        of("Sin"),
        of("ReduceProd"),
        of("ReduceLogSumExp").set("axes", list{1}),
        of("Clip").input<float>({}, {1}),
        of("Pow").input<float>({3}, {1, 2, 3}),
    };
    for (one_node &n : nodes) {
        if (n.graph.outputs.empty())
            n.output();
        infer_shapes(n.graph);
        const std::vector<int> outputs = n.graph.outputs;
        for (const int t : outputs)
            for (const dims &lie : {dims{}, dims{64}, dims{2, 64}, dims{64, 3}, dims{2, 3, 64}}) {
                model::graph g = n.graph;
                model::tensor &y = g.tensors[static_cast<std::size_t>(t)];
                if (y.dims == lie)
                    continue;
                y.dims = lie;
                try {
                    network net(g); // as many elements under other dimensions, at most
                    EXPECT_EQ(count_of(net.output(0).dims()),
                              count_of(n.graph.tensors[static_cast<std::size_t>(outputs[0])].dims))
                        << n.graph.nodes[0].op;
                } catch (const error &) { // refused
                }
            }
    }
}

TEST(OnnxIndices, ParametersOfARequest) {
    one_node clipped = of("Clip").input<float>({}, {2}).input<float>({1}, {4});
    EXPECT_EQ(clipped.run<float>(), (floats{2, 2, 3, 4, 4, 4}));
    expect_refusal(of("Clip").input<float>({2}, {2, 3}), "input 1 has dimensions 2, allowed is one number");
    one_node powers = of("Pow").input<float>({3}, {2, 0, 1});
    EXPECT_EQ(powers.run<float>(), (floats{1, 1, 3, 16, 1, 6}));
    one_node quotients =
        one_node("Div").input<std::int32_t>({3}, {7, -7, lowest}).input<std::int32_t>({3}, {2, 2, -1});
    EXPECT_EQ(quotients.run<std::int32_t>(), (integers{3, -3, lowest}));
    expect_refusal(one_node("Div").input<std::int32_t>({3}, {7, 8, 9}).input<std::int32_t>({3}, {1, 0, 1}),
                   "8 is divided by 0, allowed are other divisors");
    one_node magnitudes = one_node("Abs").input<std::int32_t>({3}, {7, -7, lowest});
    EXPECT_EQ(magnitudes.run<std::int32_t>(), (integers{7, 7, lowest}));
    one_node whole = of("ReduceProd");
    EXPECT_EQ(whole.run<float>(), floats{720});
}

TEST(OnnxIndices, ScalesOfBlocks) {
    const auto blocks = [](const dims &scales, std::int64_t size) {
        one_node n = one_node("DequantizeLinear").input<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, -128});
        n.input(scales, floats(count_of(scales), .5f));
        return n.set("axis", std::int64_t{1}).set("block_size", size);
    };
    one_node whole = blocks({2, 2}, 2);
    EXPECT_EQ(whole.run<float>(), (floats{.5f, 1, 1.5f, 2, 2.5f, -64}));
    for (const std::int64_t size : {-1, 1, 3, 1 << 30})
        expect_refusal(blocks({2, 2}, size), "one scale for each block of 2x3");
    expect_refusal(blocks({2, 2}, 2).input<std::int8_t>({2}, {0, 0}), "input 2 has dimensions 2");
    expect_refusal(blocks({2, 2}, 2).set("axis", std::int64_t{2}), "axis 2 is outside the 2 dimensions");
    one_node codes = of("QuantizeLinear", {2, 3}, {.9f, 1e9f, -1e9f, std::nanf(""), 4, 5});
    codes.input<float>({1, 3}, {.5f, .5f, 2}).constant<std::uint8_t>({1, 3}, {1, 2, 3});
    codes.set("axis", std::int64_t{0}).set("block_size", std::int64_t{2});
    EXPECT_EQ(codes.run<std::uint8_t>(), (std::vector<std::uint8_t>{3, 255, 0, 0, 10, 5}));
}

} // namespace
} // namespace octet::tests
