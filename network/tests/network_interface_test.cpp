// octet/network.hpp as a user meets it: networks from bytes and graphs, tensors by place and name, and what is said
// about wrong ones.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>

#include "octet/network.hpp"
#include "support/expect_error.hpp"
#include "support/paths.hpp"

namespace octet::tests {
namespace {

using test::refusal;

const std::string digits = source_path("examples/digits/digits_int8.tflite");

/// s8 codes "x" of scale 0.5 and zero point 1, through LEAKY_RELU with alpha 0.5, to "y" in the same form.
model::graph small_graph() {
    const auto codes = [](const char *name) {
        model::tensor t;
        t.name = name;
        t.type = data_type::s8;
        t.dims = {1, 3};
        t.quant = {{0.5f}, {1}, 0};
        return t;
    };
    model::graph g;
    g.framework = "tflite";
    g.tensors = {codes("x"), codes("y")};
    g.nodes = {{"LEAKY_RELU", {0}, {1}, {{"alpha", 0.5f}}}};
    g.inputs = {0};
    g.outputs = {1};
    return g;
}

TEST(NetworkInterface, RunsAGraphOfOnesOwn) {
    network net(small_graph());
    net.input("x").copy_from(std::array<std::int8_t, 3>{-7, 1, 11}); // -4, 0, 5
    net.run();
    EXPECT_EQ(net.output(0).as<std::int8_t>(), (std::vector<std::int8_t>{-3, 1, 11}));
    EXPECT_EQ(net.output("y").as<float>(), (std::vector<float>{-2, 0, 5}));
    EXPECT_EQ(net.output().text(), "1 ('y') s8 1x3");
    EXPECT_EQ(net.output().quantization().zero_points, std::vector<std::int32_t>{1});
}

TEST(NetworkInterface, ReadsBytesAsItReadsFiles) {
    std::ifstream file(digits, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    network from_bytes(bytes.data(), bytes.size(), "digits"), from_file(digits);
    const std::vector<std::int8_t> image(from_file.input().element_count(), 17);
    for (network *net : {&from_bytes, &from_file}) {
        net->input().copy_from(image);
        net->run();
    }
    EXPECT_EQ(from_bytes.output().as<std::int8_t>(), from_file.output().as<std::int8_t>());
    EXPECT_EQ(refusal([&] { network(bytes.data(), 4, "half a file"); }).rfind("half a file: ", 0), 0u);
}

TEST(NetworkInterface, MovesWithItsBuffers) {
    network first(small_graph());
    first.input().copy_from(std::vector<std::int8_t>{3, 3, 3});
    network second = std::move(first);
    second.run();
    EXPECT_EQ(second.output().as<std::int8_t>(), (std::vector<std::int8_t>{3, 3, 3}));
}

TEST(NetworkInterface, TakesABatch) {
    network_options options;
    options.batch = 4;
    EXPECT_EQ(network(small_graph(), options).input().dims(), (memory::dims{4, 3}));
}

TEST(NetworkInterface, ListsOperators) {
    const std::vector<std::string> known = supported_operators("onnx");
    EXPECT_NE(std::find(known.begin(), known.end(), "QLinearConv"), known.end());
    EXPECT_NE(std::find(known.begin(), known.end(), "Conv"), known.end());
    for (const char *op : {"ConstantOfShape", "Range", "Shape", "Size", "Constant", "BiasGelu", "QAttention"})
        EXPECT_EQ(std::count(known.begin(), known.end(), op), 1) << op;
    for (const char *op : {"Reorder", "MatMulAdd", "AttentionMask"}) // a pass's or the reader's own
        EXPECT_EQ(std::count(known.begin(), known.end(), op), 0) << op;
    EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
    const std::vector<std::string> of_tflite = supported_operators("tflite");
    EXPECT_TRUE(std::is_sorted(of_tflite.begin(), of_tflite.end()));
    EXPECT_NE(refusal([] { supported_operators("caffe"); }).find("allowed are tflite and onnx"),
              std::string::npos);
}

TEST(NetworkInterface, TellsWhyAnOperatorDoesNotRun) {
    const auto tensor_of = [](data_type type, memory::dims dims) {
        model::tensor t;
        t.type = type;
        t.dims = std::move(dims);
        return t;
    };
    const auto answer = [](const std::string &op, const std::vector<model::tensor> &inputs,
                           const std::string &domain = "") {
        operator_query query{op, domain};
        query.inputs = inputs;
        return why_not_supported(query);
    };
    const model::tensor x = tensor_of(data_type::f32, {1, 4, 8, 8});
    EXPECT_EQ(answer("Relu", {x}), "");
    EXPECT_EQ(answer("Shape", {x}), "") << "gone when the network runs";
    EXPECT_EQ(answer("BiasGelu", {x, tensor_of(data_type::f32, {8})}, "com.microsoft"), "");
    EXPECT_EQ(answer("Sinh", {x}), "unsupported operators: node 0 (Sinh)");
    EXPECT_EQ(answer("Relu", {x}, "com.microsoft"), "unsupported operators: node 0 (com.microsoft::Relu)");
    EXPECT_EQ(answer("MatMulInteger", {x, x}),
              "node 0 (MatMulInteger): input 0 ('') is f32, allowed: u8, s8");

    operator_query relu{"RELU", "", "tflite"};
    model::tensor codes = tensor_of(data_type::s8, {1, 4});
    relu.inputs = relu.outputs = {codes};
    EXPECT_EQ(why_not_supported(relu), "node 0 (RELU): input 0 ('') has 0 scales, allowed is 1");
    codes.quant = {{0.5f}, {0}, 0};
    relu.inputs = relu.outputs = {codes};
    EXPECT_EQ(why_not_supported(relu), "");
}

/// All at once, each as a network of it alone is refused; what follows a refused node is asked, too, where
/// its inputs are known.
TEST(NetworkInterface, TellsAllNodesThatDoNotRun) {
    model::graph g;
    g.framework = "onnx";
    for (const char *name : {"x", "a", "b", "c", "d", "e"}) {
        g.tensors.emplace_back();
        g.tensors.back().name = name;
        g.tensors.back().type = data_type::f32;
        g.tensors.back().dims = {2, 6};
    }
    g.tensors[4].type = data_type::undef, g.tensors[4].dims = {}; // of "d"
    g.inputs = {0}, g.outputs = {5};
    g.nodes = {{"Relu", {0}, {1}, {}},
               {"Sinh", {1}, {2}, {}},
               {"Softmax", {2}, {3}, {{"axis", std::int64_t{7}}}},
               {"Cosh", {3}, {4}, {}},
               {"Tan", {4}, {5}, {}}};
    std::string told;
    for (const refused_node &n : refused_nodes(g))
        told += std::to_string(n.number) + (n.is_certain ? " " : "? ") + n.reason + "\n";
    EXPECT_EQ(told, "1 unsupported operators: node 1 (Sinh)\n"
                    "2 node 2 (Softmax): attribute 'axis' is 7, allowed: -2 to 1\n"
                    "3 unsupported operators: node 3 (Cosh)\n"
                    "4 unsupported operators: node 4 (Tan)\n");
    g.nodes[4].op = "Relu";
    const std::vector<refused_node> refused = refused_nodes(g);
    ASSERT_EQ(refused.size(), 4u);
    EXPECT_FALSE(refused[3].is_certain);
    EXPECT_EQ(refused[3].reason,
              "node 4 (Relu): nothing is known of tensor 'd', which node 3 (Cosh) computes");
    g.nodes.resize(1), g.outputs = {1};
    EXPECT_TRUE(refused_nodes(g).empty());
}

TEST(NetworkInterface, SaysWhatIsWrong) {
    const network net(small_graph());
    const std::vector<std::int8_t> codes(3);
    EXPECT_EQ(refusal([&] { net.input(1); }), "input 1: the network has 1 ('x')");
    EXPECT_EQ(refusal([&] { net.output("x"); }), "output 'x': the network has 'y'");
    EXPECT_EQ(refusal([&] { net.input().copy_from(codes.data(), 2); }),
              "tensor 0 ('x') s8 1x3 takes 3 elements, given are 2");
    EXPECT_EQ(refusal([&] { net.input().copy_from(std::vector<std::uint8_t>(3)); }),
              "tensor 0 ('x') s8 1x3: its elements are used as u8");
    EXPECT_EQ(refusal([&] { net.output().as<std::uint8_t>(); }),
              "tensor 1 ('y') s8 1x3: its elements are used as u8");
    EXPECT_EQ(refusal([&] { network("/no/such/net.onnx"); }), "/no/such/net.onnx: does not exist");
    model::graph g = small_graph();
    g.nodes[0].inputs.push_back(0);
    EXPECT_EQ(refusal([&] { network{g}; }), "node 0 (LEAKY_RELU): has 2 inputs, allowed: 1");
}

} // namespace
} // namespace octet::tests
