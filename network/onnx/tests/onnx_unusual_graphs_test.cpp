// Passes meet graphs that no exporter writes: they leave them to the operators, which compute or refuse them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;
using test::refusal;

network made(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    return {file.data(), file.size(), "net.onnx"};
}

template <typename T> std::vector<float> run(network net, const std::vector<T> &x) {
    net.input().copy_from(x);
    net.run();
    return net.output().as<float>();
}

/// x {1,4,3,3} and weights of 8 outputs.
b convolution(const b::dims &weights, std::int64_t bias, std::int64_t groups = 1) {
    b m;
    m.input<float>("x", {1, 4, 3, 3});
    m.constant<float>("w", weights,
                      std::vector<float>(static_cast<std::size_t>(model::element_count(weights)), 1.f));
    m.constant<float>("b", {bias}, std::vector<float>(static_cast<std::size_t>(bias), 1.f));
    b::set(m.node("Conv", {"x", "w", "b"}, {"c"}), "group", groups);
    return m;
}

TEST(OnnxUnusual, BiasesOfConvolutionsHaveOneValuePerChannelBeforeTheyAreJoined) {
    for (const std::int64_t bias : {1, 3, 9, 4000})
        for (const char *const follower : {"Add", "Mul", "BatchNormalization"}) {
            b m = convolution({8, 4, 1, 1}, bias);
            const std::vector<float> values(8, 2.f);
            m.constant<float>("image", {1, 8, 1, 1}, values), m.constant<float>("row", {8}, values);
            m.node(follower,
                   follower == std::string("BatchNormalization") ? b::names{"c", "row", "row", "row", "row"}
                                                                 : b::names{"c", "image"},
                   {"y"});
            m.output("y");
            EXPECT_NE(refusal([&] { made(m); }).find("allowed is one value for each of 8 channels"),
                      std::string::npos)
                << follower << ", " << bias << ": " << refusal([&] { made(m); });
        }
}

/// A graph of a program can say anything of what its nodes write; the sanitizers see reads beyond it.
TEST(OnnxUnusual, TensorsThatLieOfTheirDimensionsAreRefused) {
    using dims = memory::dims;
    b m;
    m.input<float>("x", {2, 3});
    m.constant<float>("w", {3, 4}, std::vector<float>(12, 1.f));
    m.constant<float>("c", {4}, std::vector<float>(4, 1.f));
    m.node("MatMul", {"x", "w"}, {"p"});
    m.node("Add", {"p", "c"}, {"y"});
    m.node("ReduceMean", {"y"}, {"mean"});
    m.output("mean");
    const std::vector<std::uint8_t> file = m.finish();
    const model::graph honest = model::read_onnx(file.data(), file.size(), "net.onnx");
    EXPECT_EQ(refusal([&] { network net(honest); }), "");
    for (const char *const name : {"p", "y"}) // p is gone where the sum joins the product
        for (const dims &lie : {dims{}, dims{8}, dims{2, 4, 1}, dims{1, 2, 4}, dims{4, 2}}) {
            model::graph g = honest;
            for (model::tensor &t : g.tensors)
                if (t.name == name)
                    t.dims = lie;
            const std::string said = refusal([&] { network net(g); });
            EXPECT_TRUE(name == std::string("p") || said != "") << name << " " << lie.size();
        }
    model::graph g = honest;
    g.nodes.back().attributes["axes"] = dims{2};
    EXPECT_NE(refusal([&] { network net(g); }), "");
}

TEST(OnnxUnusual, ConvolutionsReadAllChannels) {
    const auto text = [](const b::dims &weights, std::int64_t groups) {
        b m = convolution(weights, 8, groups);
        m.output("c");
        return refusal([&] { made(m); });
    };
    EXPECT_EQ(text({8, 4, 1, 1}, 1), "");
    EXPECT_EQ(text({8, 2, 1, 1}, 2), "");
    for (const std::int64_t channels : {0, 1, 2, 3, 5, 8})
        EXPECT_NE(text({8, channels, 1, 1}, 1).find("of the 4 input channels"), std::string::npos)
            << channels << ": " << text({8, channels, 1, 1}, 1);
    EXPECT_NE(text({8, 4, 1, 1}, 2).find("the weights have 4 channels"), std::string::npos);
    EXPECT_NE(text({8, 1, 1, 1}, 8).find("the weights have 1 channels"), std::string::npos);
}

TEST(OnnxUnusual, AbsentFirstInputsOfOpenNetworksAreRefused) {
    b m;
    m.input<std::uint8_t>("x", {-1, 4});
    m.scalar<float>("s", 1.f), m.scalar<std::uint8_t>("z", 0);
    b::set(m.node("QLinearConcat", {"", "z", "x", "s", "z"}, {"y"}, b::microsoft), "axis", std::int64_t{1});
    m.output("y");
    EXPECT_NE(refusal([&] { made(m); }).find("QLinearConcat"), std::string::npos);
}

TEST(OnnxUnusual, TruthOfCodesIsComputed) {
    b m;
    m.input<std::uint8_t>("x", {4});
    b::set(m.node("Cast", {"x"}, {"truth"}), "to", std::int64_t{9});
    b::set(m.node("Cast", {"truth"}, {"y"}), "to", std::int64_t{1});
    m.output("y");
    EXPECT_EQ(run<std::uint8_t>(made(m), {0, 1, 5, 255}), (std::vector<float>{0, 1, 1, 1}));
}

TEST(OnnxUnusual, AttributesOfOtherTypesAndRangesAreNoOthersException) {
    b limit(7), axes;
    limit.input<float>("x", {2});
    limit.node("Relu", {"x"}, {"r"});
    b::set(limit.node("Clip", {"r"}, {"y"}), "min", std::int64_t{1});
    limit.output("y");
    EXPECT_NE(refusal([&] { made(limit); }).find("'min'"), std::string::npos)
        << refusal([&] { made(limit); });

    axes.input<float>("x", {-1, 2});
    onnx::NodeProto &n = axes.node("Relu", {"x"}, {"y"});
    b::set(n, "reduced", b::dims{1, 1}), b::set(n, "axes", b::dims{7, -9});
    axes.output("y");
    EXPECT_EQ(run<float>(made(axes), {-1, 2}), (std::vector<float>{0, 2}));
}

TEST(OnnxUnusual, GemmsBetweenReshapesMayAddOneNumber) {
    b m;
    m.input<float>("x", {2, 3, 4});
    m.constant<std::int64_t>("before", {2}, {6, 4}), m.constant<std::int64_t>("behind", {3}, {2, 3, 5});
    m.constant<float>("b", {4, 5}, std::vector<float>(20, 1.f)), m.constant<float>("c", {1}, {3.f});
    m.node("Reshape", {"x", "before"}, {"matrix"});
    m.node("Gemm", {"matrix", "b", "c"}, {"product"});
    m.node("Reshape", {"product", "behind"}, {"y"});
    m.output("y");
    EXPECT_EQ(run<float>(made(m), std::vector<float>(24, 1.f)), std::vector<float>(30, 7.f));
}

/// The sum of a column and a row is larger than both.
TEST(OnnxUnusual, SkippedNormalizationsKeepSumsThatBroadcast) {
    const auto normalized = [](bool is_sum_needed) {
        b m(17);
        m.input<float>("x", {1, 2, 3});
        m.constant<float>("w", {3, 1}, {1, 2, 3}), m.constant<float>("row", {4}, {1, -2, 3, 5});
        m.constant<float>("z", {2}, {1, 2}), m.constant<std::int64_t>("shape", {3}, {1, 2, 4});
        m.constant<float>("scale", {4}, {1, 1, 1, 1});
        m.node("MatMul", {"x", "w"}, {"product"});
        m.node("Expand", {"x_column", "shape"}, {"skip"});
        m.graph().mutable_node(1)->set_input(0, "product");
        m.node("Add", {"product", "row"}, {"sum"});
        m.node("Add", {"sum", "skip"}, {"all"});
        m.node("LayerNormalization", {"all", "scale"}, {"y"});
        m.output("y");
        if (is_sum_needed)
            m.output("sum");
        return run<float>(made(m), {1, 2, 3, 4, 5, 6});
    };
    const std::vector<float> expected = normalized(true), y = normalized(false);
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t i = 0; i < y.size(); i++)
        EXPECT_NEAR(y[i], expected[i], 1e-5f);
}

TEST(OnnxUnusual, ConstantsThatAreComputedHaveTheLimitOfMemory) {
    b m;
    m.input<std::uint8_t>("x", {1, 1, 1, 1});
    m.constant<std::uint8_t>("c", {1, 1, 1, 4}, {1, 2, 3, 4});
    m.constant<std::int64_t>("sizes", {4}, {1, 1, 1, 1 << 28});
    m.node("Resize", {"c", "", "", "sizes"}, {"big"});
    b::set(m.node("Concat", {"x", "big"}, {"y"}), "axis", std::int64_t{3});
    m.output("y");
    network_options options;
    options.memory_limit = 1 << 20;
    const std::vector<std::uint8_t> file = m.finish();
    test::expect_error(status::out_of_memory, [&] { network(file.data(), file.size(), "net.onnx", options); },
                       {"tensor 'big' alone needs 268435456 bytes"});
}

/// Each step is one over all inputs of a node, not one for each of them, which would take longer than tests may.
TEST(OnnxUnusual, NodesMayReadATensorManyTimes) {
    constexpr std::size_t count = 8000;
    b m;
    m.input<std::uint8_t>("x", {1, 1});
    m.scalar<float>("s", 1.f), m.scalar<std::uint8_t>("z", 0);
    m.node("DequantizeLinear", {"x", "s", "z"}, {"real"});
    m.node("Identity", {"real"}, {"same"});
    b::set(m.node("Concat", b::names(count, "same"), {"y"}), "axis", std::int64_t{1});
    m.output("y");
    EXPECT_NE(refusal([&] { made(m); }).find("8000 sources"), std::string::npos);
}

} // namespace
} // namespace octet::tests
