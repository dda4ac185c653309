// The reader takes valid models as they are, and turns every other sequence of bytes into one error that
// names the file and the defect.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "network/tflite/tests/tflite_builder.hpp"
#include "octet/graph.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
constexpr auto S8 = format::TensorType_INT8;

model::graph read(const bytes &b) { return model::read_tflite(b.data(), b.size(), "net.tflite"); }

/// The message of the error that `read` throws; empty if it succeeds.
std::string defect(const bytes &b) {
    try {
        read(b);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

#define EXPECT_DEFECT(text, fragment) EXPECT_NE((text).find(fragment), std::string::npos) << "got: " << (text)

/// CONV_2D 3x3, RESHAPE, FULLY_CONNECTED, SOFTMAX: options, per-channel scales, constants of two types.
bytes small_classifier() {
    tflite_builder b;
    const int in = b.s8({1, 4, 4, 2}, 0.5f, -3), conv = b.s8({1, 4, 4, 3}, 0.25f, 5),
              flat = b.s8({1, 48}, 0.25f, 5);
    const int logits = b.s8({1, 2}, 0.125f, 0), out = b.s8({1, 2}, 1.f / 256, -128);
    const int filter =
        b.constant_s8({3, 3, 3, 2}, std::vector<std::int8_t>(54, 7), {{0.01f, 0.02f, 0.03f}, {0, 0, 0}, 0});
    const int bias = b.constant_s32({3}, {10, -20, 30});
    const int weights = b.constant_s8({2, 48}, std::vector<std::int8_t>(96, -4), {{0.02f}, {0}, 0});
    const int shape = b.constant_s32({2}, {1, 48});
    b.node(
        format::BuiltinOperator_CONV_2D, {in, filter, bias}, {conv},
        format::CreateConv2DOptions(b.fbb, format::Padding_SAME, 1, 1, format::ActivationFunctionType_RELU));
    b.node(format::BuiltinOperator_RESHAPE, {conv, shape}, {flat});
    b.node(format::BuiltinOperator_FULLY_CONNECTED, {flat, weights, -1}, {logits},
           format::CreateFullyConnectedOptions(b.fbb));
    b.node(format::BuiltinOperator_SOFTMAX, {logits}, {out}, format::CreateSoftmaxOptions(b.fbb, 1.f));
    return b.finish({in}, {out});
}

/// One node without options from tensor 0 to tensor 1, both s8.
bytes single_node(const std::vector<int> &inputs, const std::vector<int> &outputs,
                  const std::vector<int> &graph_inputs = {0}, const std::vector<int> &graph_outputs = {1}) {
    tflite_builder b;
    b.s8({1, 4}, 1.f, 0);
    b.s8({1, 4}, 1.f, 0);
    b.node(format::BuiltinOperator_RESHAPE, inputs, outputs);
    return b.finish(graph_inputs, graph_outputs);
}

bytes single_tensor(const tflite_builder::dims &shape, format::TensorType type, const bytes &data,
                    const tflite_builder::quantization &q = {}) {
    tflite_builder b;
    b.constant(shape, type, data, q);
    return b.finish({}, {});
}

TEST(TfliteReader, ReadsTensorsNodesAndAttributes) {
    const model::graph g = read(small_classifier());
    EXPECT_EQ(g.framework, "tflite");
    EXPECT_EQ(g.inputs, std::vector<int>{0});
    EXPECT_EQ(g.outputs, std::vector<int>{4});
    ASSERT_EQ(g.tensors.size(), 9u);
    ASSERT_EQ(g.nodes.size(), 4u);

    const model::tensor &filter = g.tensors[5];
    EXPECT_EQ(filter.name, "t5");
    EXPECT_EQ(filter.type, data_type::s8);
    EXPECT_EQ(filter.dims, (memory::dims{3, 3, 3, 2}));
    EXPECT_EQ(filter.quant.scales, (std::vector<float>{0.01f, 0.02f, 0.03f}));
    EXPECT_EQ(filter.quant.zero_points, (std::vector<std::int32_t>{0, 0, 0}));
    EXPECT_TRUE(filter.is_constant);
    EXPECT_EQ(filter.data, bytes(54, 7));
    EXPECT_FALSE(g.tensors[0].is_constant);
    EXPECT_EQ(g.tensors[0].quant.zero_points, std::vector<std::int32_t>{-3});

    const model::node &conv = g.nodes[0];
    EXPECT_EQ(conv.op, "CONV_2D");
    EXPECT_EQ(conv.inputs, (std::vector<int>{0, 5, 6}));
    EXPECT_EQ(std::get<std::string>(conv.attributes.at("padding")), "SAME");
    EXPECT_EQ(std::get<std::string>(conv.attributes.at("activation")), "RELU");
    EXPECT_EQ(std::get<std::int64_t>(conv.attributes.at("dilation_w")), 1);
    EXPECT_EQ(g.nodes[2].inputs, (std::vector<int>{2, 7, -1}));
    EXPECT_EQ(std::get<float>(g.nodes[3].attributes.at("beta")), 1.f);
}

/// Operators work without options that are not read, so that a lost option shows here alone.
TEST(TfliteReader, ReadsTheOptionsOfEveryOperator) {
    constexpr auto relu6 = format::ActivationFunctionType_RELU6;
    tflite_builder b;
    for (int i = 0; i < 7; i++)
        b.s8({1, 1, 1, 1}, 1.f, 0);
    auto &f = b.fbb;
    b.node(format::BuiltinOperator_SUB, {0, 0}, {1}, format::CreateSubOptions(f, relu6));
    b.node(format::BuiltinOperator_MUL, {0, 0}, {2}, format::CreateMulOptions(f, relu6));
    b.node(format::BuiltinOperator_RESIZE_BILINEAR, {0}, {3},
           format::CreateResizeBilinearOptions(f, true, false));
    b.node(format::BuiltinOperator_RESIZE_NEAREST_NEIGHBOR, {0}, {4},
           format::CreateResizeNearestNeighborOptions(f, false, true));
    b.node(format::BuiltinOperator_LEAKY_RELU, {0}, {5}, format::CreateLeakyReluOptions(f, 0.25f));
    b.node(format::BuiltinOperator_TRANSPOSE_CONV, {0}, {6},
           format::CreateTransposeConvOptions(f, format::Padding_VALID, 2, 3, relu6));
    const model::graph g = read(b.finish({0}, {6}));
    const auto text = [&](std::size_t n, const char *name) {
        return std::get<std::string>(g.nodes[n].attributes.at(name));
    };
    const auto integer = [&](std::size_t n, const char *name) {
        return std::get<std::int64_t>(g.nodes[n].attributes.at(name));
    };
    EXPECT_EQ(text(0, "activation"), "RELU6");
    EXPECT_EQ(text(1, "activation"), "RELU6");
    EXPECT_EQ(integer(2, "align_corners"), 1);
    EXPECT_EQ(integer(2, "half_pixel_centers"), 0);
    EXPECT_EQ(integer(3, "align_corners"), 0);
    EXPECT_EQ(integer(3, "half_pixel_centers"), 1);
    EXPECT_EQ(std::get<float>(g.nodes[4].attributes.at("alpha")), 0.25f);
    EXPECT_EQ(text(5, "padding"), "VALID");
    EXPECT_EQ(integer(5, "stride_w"), 2);
    EXPECT_EQ(integer(5, "stride_h"), 3);
    EXPECT_EQ(text(5, "activation"), "RELU6");
}

TEST(TfliteReader, NamesOperatorsItDoesNotKnow) {
    tflite_builder b;
    b.s8({1}, 1.f, 0), b.s8({1}, 1.f, 0), b.s8({1}, 1.f, 0), b.s8({1}, 1.f, 0);
    b.node(format::BuiltinOperator_RNN, {0}, {1});
    b.node_of_code(b.add_code(format::BuiltinOperator_CUSTOM, "my\nop"), {1}, {2});
    b.node_of_code(b.add_code(static_cast<format::BuiltinOperator>(250)), {2}, {3});
    const model::graph g = read(b.finish({0}, {3}));
    EXPECT_EQ(g.nodes[0].op, "RNN");
    EXPECT_EQ(g.nodes[1].op, "CUSTOM(my?op)");
    EXPECT_EQ(g.nodes[2].op, "BUILTIN(250)");
    try {
        const network net(g);
        FAIL();
    } catch (const error &e) {
        EXPECT_EQ(e.status, status::unimplemented);
        EXPECT_DEFECT(std::string(e.what()),
                      "node 0 (RNN), node 1 (CUSTOM(my?op)), node 2 (BUILTIN(250)); supported are ABS,");
    }
}

TEST(TfliteReader, KeepsForeignTypesByName) {
    tflite_builder b;
    b.tensor({2, 2}, format::TensorType_FLOAT16);
    EXPECT_EQ(model::type_text(read(b.finish({0}, {0})).tensors[0]), "FLOAT16");
}

TEST(TfliteReader, ReadsDataOutsideTheFlatBuffer) {
    tflite_builder b;
    const auto model_with_data_at = [](std::uint64_t offset) {
        tflite_builder writer;
        writer.add_tensor({4}, S8, writer.add_outside_buffer(offset, 4), {});
        bytes file = writer.finish({}, {});
        file.insert(file.end(), {1, 2, 3, 4});
        return file;
    };
    const std::size_t end = model_with_data_at(1000).size();
    EXPECT_EQ(read(model_with_data_at(end - 4)).tensors[0].data, (bytes{1, 2, 3, 4}));
    EXPECT_DEFECT(defect(model_with_data_at(end - 3)), "outside the file");
    EXPECT_DEFECT(defect(model_with_data_at(~std::uint64_t{0} - 1)), "outside the file");
}

TEST(TfliteReader, AcceptsUnalignedBytes) {
    bytes file = small_classifier();
    file.insert(file.begin(), 0);
    EXPECT_EQ(model::read_tflite(file.data() + 1, file.size() - 1, "net.tflite").nodes.size(), 4u);
}

/// A FlatBuffer whose 8-byte elements lie at a multiple of 4: the verifier lets it through.
TEST(TfliteReader, AcceptsUnalignedZeroPoints) {
    bytes file = single_tensor({1}, S8, bytes(1), {{1.f}, {0x1122334455}, 0});
    const bytes code = bytes_of(std::vector<std::int64_t>{0x1122334455});
    const auto found = std::search(file.begin(), file.end(), code.begin(), code.end());
    ASSERT_NE(found, file.end());
    // Find the offset that leads to the vector, and let it lead to another vector behind the file.
    const auto length = static_cast<std::size_t>(found - file.begin()) - 4;
    for (std::size_t at = 0; at + 4 <= length; at += 4) {
        std::uint32_t offset;
        std::memcpy(&offset, &file[at], 4);
        if (at + offset != length)
            continue;
        bytes moved = file;
        const bytes vector = {1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0};
        offset += static_cast<std::uint32_t>(file.size() - length);
        offset += (8 - (at + offset) % 8) % 8; // the length at 8 n, so the element at 8 n + 4
        moved.resize(at + offset);
        moved.insert(moved.end(), vector.begin(), vector.end());
        std::memcpy(&moved[at], &offset, 4);
        EXPECT_EQ(read(moved).tensors[0].quant.zero_points, std::vector<std::int32_t>{7});
        return;
    }
    FAIL();
}

TEST(TfliteReader, NamesTheFile) {
    EXPECT_DEFECT(defect({}), "net.tflite: the file has 0 bytes");
    EXPECT_DEFECT(defect(bytes(100, 0)), "not a .tflite model");
    const std::pair<const char *, const char *> defects[] = {{"/no/such/file.tflite", ": does not exist"},
                                                             {"/", ": is a directory"}};
    for (const auto &[path, text] : defects) {
        try {
            model::read_tflite(path);
            FAIL();
        } catch (const error &e) {
            EXPECT_EQ(std::string(e.what()), std::string(path) + text);
        }
    }
    tflite_builder b;
    EXPECT_DEFECT(defect(b.finish({}, {}, 2)), "format version 2, allowed is 3");
}

TEST(TfliteReader, RefusesSizesThatDoNotFit) {
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, bytes(5))),
                  "holds 5 bytes of constant data, but s8 2x3 takes 6");
    EXPECT_DEFECT(defect(single_tensor({2}, format::TensorType_INT32, bytes(9))), "takes 8");
    EXPECT_DEFECT(defect(single_tensor({-1, 3}, S8, bytes(3))), "-1x3");
    EXPECT_DEFECT(defect(single_tensor({65536, 65536}, S8, bytes(3))), "more than 2^31 - 1 bytes");
    EXPECT_DEFECT(defect(single_tensor({2147483647, 2147483647, 2147483647, 2147483647}, S8, bytes(3))),
                  "2^31 - 1");
    EXPECT_DEFECT(defect(single_tensor({0, 2147483647, 2147483647, 2147483647}, S8, bytes(3))), "2^31 - 1");
    EXPECT_DEFECT(defect(single_tensor({1, 1, 1, 1, 1, 1, 1}, S8, bytes(1))), "7 dimensions");
}

TEST(TfliteReader, RefusesIndicesOutsideTheirVectors) {
    EXPECT_DEFECT(defect(single_node({2}, {1})),
                  "the inputs of node 0 (RESHAPE) name tensor 2, but there are 2");
    EXPECT_DEFECT(defect(single_node({-2}, {1})), "name tensor -2");
    EXPECT_DEFECT(defect(single_node({0}, {7})), "the outputs of node 0 (RESHAPE) name tensor 7");
    EXPECT_DEFECT(defect(single_node({0}, {-1})), "name tensor -1");
    EXPECT_DEFECT(defect(single_node({0}, {1}, {5})), "the network's inputs name tensor 5");
    EXPECT_DEFECT(defect(single_node({0}, {1}, {0}, {9})), "the network's outputs name tensor 9");
    tflite_builder codes;
    codes.s8({1}, 1.f, 0);
    codes.node_of_code(3, {0}, {0});
    EXPECT_DEFECT(defect(codes.finish({0}, {0})), "node 0 names operator code 3, but there are 0");
    tflite_builder buffers;
    buffers.add_tensor({1}, S8, 17, {});
    EXPECT_DEFECT(defect(buffers.finish({}, {})), "tensor 0 names buffer 17");
}

TEST(TfliteReader, RefusesNodesOutOfOrder) {
    EXPECT_DEFECT(defect(single_node({0}, {1}, {})), "reads tensor 0 ('t0'), which is no input or constant "
                                                     "of the network and which no earlier node writes");
    EXPECT_DEFECT(defect(single_node({1}, {1})), "reads tensor 1 ('t1'), which is no");
    EXPECT_DEFECT(defect(single_node({0}, {0})), "writes tensor 0 ('t0'), which is an input");
    EXPECT_DEFECT(defect(single_node({0}, {1, 1})), "written before");
    EXPECT_DEFECT(defect(single_node({0}, {}, {0}, {1})), "node 0 (RESHAPE) has no outputs");
    tflite_builder unwritten;
    unwritten.s8({1}, 1.f, 0), unwritten.s8({1}, 1.f, 0);
    EXPECT_DEFECT(defect(unwritten.finish({0}, {1})),
                  "the network's output tensor 1 ('t1') is written by no node");
    tflite_builder cycle;
    cycle.s8({1}, 1.f, 0), cycle.s8({1}, 1.f, 0);
    cycle.node(format::BuiltinOperator_RESHAPE, {1}, {0});
    cycle.node(format::BuiltinOperator_RESHAPE, {0}, {1});
    EXPECT_DEFECT(defect(cycle.finish({}, {1})), "node 0 (RESHAPE) reads tensor 1 ('t1'), which is no");
}

TEST(TfliteReader, RefusesQuantizationThatMeansNothing) {
    const bytes data(6);
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{0.f}, {0}, 0})), "has a scale of 0");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{-1.f}, {0}, 0})), "positive and finite");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{nan}, {0}, 0})), "nan");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{inf}, {0}, 0})), "inf");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f}, {128}, 0})),
                  "zero point of 128, outside the codes of s8");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f}, {std::int64_t{1} << 40}, 0})),
                  "does not fit 32 bits");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f, 1.f}, {0, 0}, 1})),
                  "2 scales along dimension 1 of 2x3");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f, 1.f}, {0, 0}, 2})),
                  "scales along dimension 2");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f, 1.f}, {0, 0}, -1})),
                  "scales along dimension -1");
    EXPECT_DEFECT(defect(single_tensor({2, 3}, S8, data, {{1.f, 1.f, 1.f}, {0, 0}, 1})),
                  "3 scales, but 2 zero points");
    EXPECT_EQ(read(single_tensor({2, 3}, S8, data, {{1.f, 1.f}, {}, 0})).tensors[0].quant.zero_points.size(),
              2u);
}

/// Every tensor is the same table with a large constant: a few bytes each, yet each would be copied out.
TEST(TfliteReader, BoundsWhatASmallFileCanDescribe) {
    tflite_builder b;
    b.constant({100000}, S8, bytes(100000));
    const auto shared = b.tensors().front();
    for (int i = 0; i < 5000; i++)
        b.tensors().push_back(shared);
    EXPECT_DEFECT(defect(b.finish({}, {})), "more than 64 times its size");
}

bool is_small(const model::graph &g) {
    std::int64_t elements = 0;
    for (const model::tensor &t : g.tensors)
        elements += model::element_count(t.dims);
    return elements < 100000;
}

/// Reads, and runs what can be read: any octet::error is fine, anything else is a defect of ours.
bool runs(const bytes &file) {
    try {
        const model::graph g = read(file);
        if (!is_small(g))
            return false;
        network net(g);
        for (const int t : g.inputs)
            std::memset(net.get_memory(t).get_data_handle(), 1, net.get_memory(t).get_desc().get_size());
        net.run();
        return true;
    } catch (const error &) {
        return false;
    }
}

TEST(TfliteReader, SurvivesTruncationAtEveryLength) {
    const bytes file = small_classifier();
    ASSERT_TRUE(runs(file));
    for (std::size_t size = 0; size < file.size(); size++)
        runs(bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
}

TEST(TfliteReader, SurvivesEveryFlippedByte) {
    const bytes file = small_classifier();
    std::mt19937 random(7);
    for (std::size_t i = 0; i < file.size(); i++)
        for (const unsigned flip : {0x01u, 0x80u, 0xffu, static_cast<unsigned>(random() & 0xff)}) {
            bytes damaged = file;
            damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ flip);
            runs(damaged);
        }
}

TEST(TfliteReader, SurvivesManyDefectsAtOnce) {
    const bytes file = small_classifier();
    std::mt19937 random(11);
    for (int round = 0; round < 3000; round++) {
        bytes damaged = file;
        for (unsigned defects = 1 + random() % 6; defects > 0; defects--) {
            const std::size_t at = random() % damaged.size();
            damaged[at] = static_cast<std::uint8_t>(random());
        }
        runs(damaged);
    }
}

} // namespace
} // namespace octet::tests
