// The reader takes valid models as they are, and turns every other sequence of bytes into one error that
// names the file and the defect.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
using b = onnx_builder;

model::graph read(const bytes &file) { return model::read_onnx(file.data(), file.size(), "net.onnx"); }

std::string defect(const bytes &file) {
    try {
        read(file);
    } catch (const error &e) {
        EXPECT_EQ(std::string(e.what()).rfind("net.onnx: ", 0), 0u) << e.what();
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
        return e.what();
    }
    return "";
}

#define EXPECT_DEFECT(file, fragment)                                                                        \
    do {                                                                                                     \
        const std::string text = defect(file);                                                               \
        EXPECT_NE(text.find(fragment), std::string::npos) << "got: " << text;                                \
    } while (false)

/// image f32 -> QuantizeLinear -> QLinearConv 3x3, per channel -> Flatten -> DequantizeLinear.
onnx_builder small_network(std::int64_t batch = -1) {
    onnx_builder m;
    m.input<float>("image", {batch, 2, 5, 5});
    m.scalar<float>("x_scale", 0.5f), m.scalar<std::uint8_t>("x_zp", 128);
    m.node("QuantizeLinear", {"image", "x_scale", "x_zp"}, {"x"});
    m.constant<std::int8_t>("w", {3, 2, 3, 3}, std::vector<std::int8_t>(54, 2));
    m.constant<float>("w_scale", {3}, {0.25f, 0.5f, 1.f});
    m.constant<std::int8_t>("w_zp", {3}, {0, 0, 0});
    m.scalar<float>("y_scale", 2.f), m.scalar<std::uint8_t>("y_zp", 10);
    m.constant<std::int32_t>("bias", {3}, {1, 2, 3});
    auto &conv = m.node("QLinearConv",
                        {"x", "x_scale", "x_zp", "w", "w_scale", "w_zp", "y_scale", "y_zp", "bias"}, {"y"});
    b::set(conv, "auto_pad", "SAME_UPPER");
    b::set(conv, "strides", b::dims{2, 2});
    b::set(m.node("Flatten", {"y"}, {"flat"}), "axis", std::int64_t{1});
    m.node("DequantizeLinear", {"flat", "y_scale", "y_zp"}, {"out"});
    m.output<float>("out", {batch, 27});
    return m;
}

std::vector<float> run(const onnx_builder &m) {
    network net(read(m.finish()));
    std::vector<float> image(50);
    for (std::size_t i = 0; i < image.size(); i++)
        image[i] = static_cast<float>(i % 7) - 2.f;
    net.input().copy_from(image);
    net.run();
    return net.output().as<float>();
}

TEST(OnnxReader, NodesStandInAnyOrder) {
    const std::vector<float> expected = run(small_network());
    onnx_builder m = small_network();
    auto &nodes = *m.graph().mutable_node();
    std::reverse(nodes.begin(), nodes.end());
    EXPECT_EQ(run(m), expected);
    EXPECT_EQ(read(m.finish()).nodes[0].number, 3); // messages count as the file does
    nodes.SwapElements(1, 3);
    EXPECT_EQ(run(m), expected);
    b::set(m.node("Constant", {}, {"late"}), "value_float", 3.f);
    m.node("Add", {"out", "late"}, {"sum"});
    nodes.SwapElements(4, 5);
    m.output("sum");
    EXPECT_EQ(read(m.finish()).nodes.size(), 5u);
}

TEST(OnnxReader, ADimensionOfMinusOneHasAnySize) {
    onnx_builder m = small_network();
    auto &x = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    x.mutable_dim(0)->set_dim_value(-1);
    EXPECT_EQ(run(m), run(small_network()));
    x.mutable_dim(0)->set_dim_value(-2);
    EXPECT_DEFECT(m.finish(), "input 'image': dimension 0 is -2, allowed is 0 or more, or -1 for any");
}

TEST(OnnxReader, ReadsTensorsNodesAndAttributes) {
    const model::graph g = read(small_network().finish());
    EXPECT_EQ(g.framework, "onnx");
    ASSERT_EQ(g.nodes.size(), 4u);
    EXPECT_EQ(g.nodes[1].op, "QLinearConv");
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(g.nodes[1].attributes.at("pads")),
              (std::vector<std::int64_t>{1, 1, 1, 1}));
    const auto tensor_of = [&](const model::node &n) {
        return g.tensors.at(static_cast<std::size_t>(n.outputs[0]));
    };
    EXPECT_EQ(tensor_of(g.nodes[0]).type, data_type::u8);
    EXPECT_EQ(tensor_of(g.nodes[1]).dims, (memory::dims{1, 3, 3, 3}));
    EXPECT_EQ(tensor_of(g.nodes[2]).dims, (memory::dims{1, 27}));
    EXPECT_EQ(tensor_of(g.nodes[3]).type, data_type::f32);
    EXPECT_EQ(g.inputs.size(), 1u);
    EXPECT_EQ(g.tensors.at(static_cast<std::size_t>(g.inputs[0])).dims, (memory::dims{1, 2, 5, 5}));
}

TEST(OnnxReader, ReadsTypedFieldsConstantNodesAndLargeIntegers) {
    onnx_builder m;
    m.input<std::uint8_t>("x", {2, 6});
    auto &n = m.node("Constant", {}, {"shape"});
    onnx::TensorProto &shape = *b::attribute(n, "value", onnx::AttributeProto::TENSOR).mutable_t();
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(3);
    for (const std::int64_t d : {0, -1, 3})
        shape.add_int64_data(d);
    m.node("Reshape", {"x", "shape"}, {"y"});
    m.constant<std::int64_t>("unused", {2}, {std::int64_t{1} << 40, -(std::int64_t{1} << 40)});
    m.output("y");
    const model::graph g = read(m.finish());
    ASSERT_EQ(g.nodes.size(), 1u);
    EXPECT_EQ(g.tensors.at(static_cast<std::size_t>(g.outputs[0])).dims, (memory::dims{2, 2, 3}));
    EXPECT_EQ(g.tensors[0].data, (bytes{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0x80})); // saturated to 32 bits
}

/// One node with the given input dimensions; constants are added by `prepare`.
template <typename Prepare>
memory::dims shape_of(const std::string &op, const b::dims &x, const b::names &inputs, Prepare prepare) {
    onnx_builder m;
    m.input<std::uint8_t>("x", x);
    prepare(m, m.node(op, inputs, {"y"}));
    m.output("y");
    const model::graph g = read(m.finish());
    return g.tensors.at(static_cast<std::size_t>(g.outputs[0])).dims;
}

TEST(OnnxShapes, Windows) {
    const auto pooled = [](std::int64_t size, std::int64_t k, std::int64_t s, std::int64_t pad,
                           std::int64_t ceil) {
        return shape_of("MaxPool", {1, 1, size}, {"x"},
                        [&](onnx_builder &, onnx::NodeProto &n) {
                            b::set(n, "kernel_shape", b::dims{k});
                            b::set(n, "strides", b::dims{s});
                            b::set(n, "pads", b::dims{pad, pad});
                            b::set(n, "ceil_mode", ceil);
                        })
            .back();
    };
    EXPECT_EQ(pooled(7, 2, 2, 0, 0), 3);
    EXPECT_EQ(pooled(7, 2, 2, 0, 1), 4);
    EXPECT_EQ(pooled(8, 3, 2, 0, 1), 4);
    EXPECT_EQ(pooled(4, 1, 3, 1, 1), 2); // a third window would start behind the image
    EXPECT_EQ(pooled(112, 3, 2, 1, 0), 56);
}

TEST(OnnxShapes, AutomaticPadding) {
    const auto pool = [](const char *how, std::int64_t kernel, std::int64_t dilation) {
        onnx_builder m;
        m.input<std::uint8_t>("x", {1, 1, 8});
        auto &n = m.node("MaxPool", {"x"}, {"y"});
        b::set(n, "kernel_shape", b::dims{kernel});
        b::set(n, "strides", b::dims{2});
        b::set(n, "dilations", b::dims{dilation});
        b::set(n, "auto_pad", how);
        m.output("y");
        return read(m.finish());
    };
    const auto pads = [&](const char *how, std::int64_t kernel = 3, std::int64_t dilation = 1) {
        return std::get<std::vector<std::int64_t>>(
            pool(how, kernel, dilation).nodes[0].attributes.at("pads"));
    };
    EXPECT_EQ(pads("SAME_UPPER"), (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(pads("SAME_LOWER"), (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(pads("VALID"), (std::vector<std::int64_t>{0, 0}));
    // ONNX Runtime pads as if nothing were dilated, so there are fewer positions.
    EXPECT_EQ(pads("SAME_LOWER", 3, 2), (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(pads("SAME_LOWER", 2, 2), (std::vector<std::int64_t>{0, 0}));
    const model::graph g = pool("SAME_LOWER", 2, 2);
    EXPECT_EQ(g.tensors.at(static_cast<std::size_t>(g.outputs[0])).dims, (memory::dims{1, 1, 3}));
}

TEST(OnnxShapes, MovingElements) {
    const auto constant = [](const char *name, const std::vector<std::int64_t> &values) {
        return [=](onnx_builder &m, onnx::NodeProto &) {
            m.constant<std::int64_t>(name, {static_cast<std::int64_t>(values.size())}, values);
        };
    };
    const b::names two = {"x", "c"};
    EXPECT_EQ(shape_of("Reshape", {2, 3, 4}, two, constant("c", {0, -1})), (memory::dims{2, 12}));
    EXPECT_EQ(shape_of("Squeeze", {1, 3, 1}, two, constant("c", {-1})), (memory::dims{1, 3}));
    EXPECT_EQ(shape_of("Unsqueeze", {3, 4}, two, constant("c", {0, -1})), (memory::dims{1, 3, 4, 1}));
    EXPECT_EQ(shape_of("Pad", {3, 4}, two, constant("c", {1, 0, 2, 5})), (memory::dims{6, 9}));
    const auto nothing = [](onnx_builder &, onnx::NodeProto &) {};
    EXPECT_EQ(shape_of("Transpose", {2, 3, 4}, {"x"}, nothing), (memory::dims{4, 3, 2}));
    EXPECT_EQ(shape_of("Squeeze", {1, 3, 1}, {"x"}, nothing), (memory::dims{3}));
    EXPECT_EQ(shape_of("Flatten", {2, 3, 4}, {"x"},
                       [](onnx_builder &, onnx::NodeProto &n) { b::set(n, "axis", std::int64_t{-1}); }),
              (memory::dims{6, 4}));
}

// ---- What is wrong with a file.

TEST(OnnxReaderRefuses, BytesThatAreNoModel) {
    EXPECT_DEFECT(bytes{}, "holds no graph");
    EXPECT_DEFECT((bytes{1, 2, 3, 4}), "not an .onnx model");
    const bytes file = small_network().finish();
    for (std::size_t size = 0; size < file.size(); size += 7)
        EXPECT_NE(defect(bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))), "") << size;
}

TEST(OnnxReaderRefuses, Headers) {
    onnx_builder m = small_network();
    m.model.mutable_opset_import(0)->set_version(6);
    EXPECT_DEFECT(m.finish(), "operator set 6, allowed is 7 or later");
    m = small_network();
    m.graph().add_sparse_initializer();
    EXPECT_DEFECT(m.finish(), "sparse");
}

TEST(OnnxReaderRefuses, NamesThatDoNotFit) {
    onnx_builder m = small_network();
    m.graph().mutable_node(1)->set_input(3, "ghost");
    EXPECT_DEFECT(m.finish(), "node 1 (QLinearConv) reads 'ghost', which is no input, initialiser or output");
    m = small_network();
    m.graph().mutable_node(1)->set_input(0, "flat"); // a circle
    EXPECT_DEFECT(m.finish(),
                  "node 2 (Flatten) reads 'y', which is no input, initialiser or output of a node "
                  "that can run before");
    m.graph().mutable_node(1)->set_input(0, "y"); // one of one node
    EXPECT_DEFECT(m.finish(), "node 1 (QLinearConv) reads 'y'");
    m = small_network();
    m.graph().mutable_node(2)->set_output(0, "y");
    EXPECT_DEFECT(m.finish(), "node 2 (Flatten) writes 'y', which is");
    m = small_network();
    m.graph().mutable_node(2)->clear_output();
    EXPECT_DEFECT(m.finish(), "node 2 (Flatten) has no output");
    m = small_network();
    m.graph().mutable_output(0)->set_name("nothing");
    EXPECT_DEFECT(m.finish(), "the network's outputs name 'nothing'");
    m = small_network();
    m.constant<float>("w_scale", {}, {1.f});
    EXPECT_DEFECT(m.finish(), "two tensors have the name 'w_scale'");
    m = small_network();
    m.graph().mutable_node(1)->set_op_type("Mystery\n");
    m.graph().mutable_node(2)->set_domain("my.domain");
    EXPECT_DEFECT(m.finish(), "unsupported operators: node 1 (Mystery?), node 2 (my.domain::Flatten)");
}

TEST(OnnxReaderRefuses, OperatorsOfOtherDomains) {
    const auto with = [](const char *op, const char *domain) {
        onnx_builder m;
        m.input<float>("x", {4});
        m.node(op, {"x"}, {"y"}, domain);
        m.output("y");
        return m.finish();
    };
    EXPECT_EQ(read(with("Relu", "ai.onnx")).nodes.size(), 1u);
    EXPECT_EQ(read(with("QuickGelu", b::microsoft)).nodes.size(), 1u);
    EXPECT_EQ(read(with("Gelu", b::microsoft)).nodes.size(), 1u);
    EXPECT_DEFECT(with("Relu", b::microsoft), "unsupported operators: node 0 (com.microsoft::Relu)");
    EXPECT_DEFECT(with("Relu", "ai.onnx.ml"), "unsupported operators: node 0 (ai.onnx.ml::Relu)");
    EXPECT_DEFECT(with("QuickGelu", ""), "unsupported operators: node 0 (ai.onnx::QuickGelu)");
    EXPECT_DEFECT(with("BiasGelu", ""), "unsupported operators: node 0 (ai.onnx::BiasGelu)");
    EXPECT_DEFECT(with("AttentionMask", b::microsoft),
                  "unsupported operators: node 0 (com.microsoft::AttentionMask)");
}

TEST(OnnxReaderRefuses, ConstantsOfAnotherSize) {
    const auto with = [](auto change) {
        onnx_builder m = small_network();
        change(*m.graph().mutable_initializer(2)); // w
        return m.finish();
    };
    EXPECT_DEFECT(with([](onnx::TensorProto &w) { w.set_dims(0, 4); }),
                  "initialiser 'w' holds 54 bytes of data, but");
    EXPECT_DEFECT(with([](onnx::TensorProto &w) { w.set_dims(0, -3); }), "no negative sizes");
    EXPECT_DEFECT(with([](onnx::TensorProto &w) { w.set_dims(0, std::int64_t{1} << 62); }), "at most 2^31");
    EXPECT_DEFECT(with([](onnx::TensorProto &w) { w.clear_raw_data(); }), "holds 0 elements");
    EXPECT_DEFECT(with([](onnx::TensorProto &w) {
                      for (int i = 0; i < 4; i++)
                          w.add_dims(1);
                  }),
                  "8 dimensions; allowed are up to");
    const bytes doubles = with([](onnx::TensorProto &w) { w.set_data_type(onnx::TensorProto::DOUBLE); });
    try { // readable, but no weights of a convolution
        const network net(read(doubles));
        FAIL();
    } catch (const error &e) {
        EXPECT_STREQ(e.what(), "node 1 (QLinearConv): input 3 ('w') is DOUBLE, allowed: u8, s8");
    }
}

TEST(OnnxReaderRefuses, ShapesAndTypesThatDisagree) {
    onnx_builder m = small_network();
    m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::INT8);
    EXPECT_DEFECT(m.finish(), "tensor 'out' is declared INT8, but its node gives f32");
    m = small_network();
    auto &shape = *m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(1)->set_dim_value(28); // the node decides
    EXPECT_EQ(network(read(m.finish())).output().dims(), (memory::dims{1, 27}));
    m = small_network();
    auto &x = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    x.mutable_dim(2)->set_dim_param("height");
    network open(read(m.finish())); // may be set after reading
    EXPECT_EQ(test::refusal([&] {
                  open.run();
              }).rfind("input 'image': dimension 2 ('height') has no fixed size, and none is given", 0),
              0u);
    m = small_network();
    m.graph().mutable_input(0)->mutable_type()->clear_tensor_type();
    EXPECT_DEFECT(m.finish(), "input 'image' is no tensor");
}

TEST(OnnxReaderRefuses, ResultsOfTypesThatOctetLacksByTheirName) {
    for (const char *const op : {"Max", "Add", "Identity", "Pad", "AveragePool"}) {
        onnx_builder m;
        m.input<float>("x", {1, 1, 4, 4});
        m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
            onnx::TensorProto::UINT16);
        const bool is_pad = op == std::string("Pad"), is_sum = op == std::string("Add");
        if (is_pad)
            m.constant<std::int64_t>("pads", {8}, std::vector<std::int64_t>(8, 1));
        onnx::NodeProto &n = m.node(op,
                                    is_pad   ? b::names{"x", "pads"}
                                    : is_sum ? b::names{"x", "x"}
                                             : b::names{"x"},
                                    {"y"});
        if (op == std::string("AveragePool"))
            b::set(n, "kernel_shape", b::dims{2, 2});
        m.output("y");
        EXPECT_NE(test::refusal([&] { network(read(m.finish())); }).find("input 0 ('x') is UINT16, allowed"),
                  std::string::npos)
            << op;
    }
}

/// Python and JSON take nothing else.
TEST(OnnxReader, NamesAreUtf8AndCutBetweenCharacters) {
    const std::string euro = "\xe2\x82\xac", smile = "\xf0\x9f\x99\x82";
    std::string euros;
    for (int i = 0; i < 60; i++)
        euros += euro;
    const auto name_of = [](const std::string &name) {
        onnx_builder m;
        m.input<float>(name, {1, 4});
        m.node("Relu", {name}, {"y"});
        m.output("y");
        return read(m.finish()).tensors[0].name;
    };
    EXPECT_EQ(name_of("a" + euros), "a" + euros.substr(0, 117)); // a name of 120 bytes
    EXPECT_EQ(name_of(euro + smile + "\xc3\xa4"), euro + smile + "\xc3\xa4");
    EXPECT_EQ(name_of("\xff"
                      "a\x80\xc3"),
              "?a??");
    EXPECT_EQ(name_of("\xc0\xaf"), "??");           // longer than need be
    EXPECT_EQ(name_of("\xed\xa0\x80"), "???");      // half of a pair of UTF-16
    EXPECT_EQ(name_of("\xf4\x90\x80\x80"), "????"); // beyond the last character
    EXPECT_EQ(name_of("a\nb\x7f"), "a?b?");
}

TEST(OnnxReaderRefuses, WindowsThatDoNotFit) {
    const auto with = [](const char *name, const b::dims &values) {
        onnx_builder m = small_network();
        onnx::NodeProto &conv = *m.graph().mutable_node(1);
        conv.clear_attribute();
        b::set(conv, name, values);
        return m.finish();
    };
    EXPECT_DEFECT(with("strides", {0, 1}), "node 1 (QLinearConv): a stride is 0");
    EXPECT_DEFECT(with("strides", {1}), "'strides' has 1 entries, allowed is 2");
    EXPECT_DEFECT(with("dilations", {3, 1}), "a window of 7 elements does not fit into 5");
    EXPECT_DEFECT(with("dilations", {2147483647, 1}), "a window of 4294967295 elements");
    EXPECT_DEFECT(with("dilations", {std::int64_t{1} << 40, 1}), "allowed: -2^31 + 1 to 2^31 - 1");
    EXPECT_DEFECT(with("dilations", {-(std::int64_t{1} << 40), 1}), "allowed: -2^31 + 1 to 2^31 - 1");
    EXPECT_DEFECT(with("pads", {-1, 0, 0, 0}), "does not fit");
    EXPECT_DEFECT(with("pads", {2147483647, 0, 0, 0}), "more than 2^31 - 1 bytes");
    EXPECT_DEFECT(with("kernel_shape", {3, 4}), "'kernel_shape' is 3x4, but the weights are 3x2x3x3");
}

/// Weights in a file beside the network.
class ExternalData : public testing::Test {
protected:
    ExternalData() : directory_(std::filesystem::temp_directory_path() / "octet_external_data") {
        std::filesystem::create_directories(directory_ / "inside");
        std::ofstream(directory_ / "inside" / "weights.bin", std::ios::binary) << std::string(60, '\2');
        std::ofstream(directory_ / "outside.bin", std::ios::binary) << std::string(60, '\2');
    }
    ~ExternalData() override { std::filesystem::remove_all(directory_); }

    static bytes network(const std::string &location, const std::string &offset, const std::string &length) {
        onnx_builder m = small_network();
        onnx::TensorProto &w = *m.graph().mutable_initializer(2);
        w.clear_raw_data();
        w.set_data_location(onnx::TensorProto::EXTERNAL);
        const std::pair<const char *, std::string> entries[] = {
            {"location", location}, {"offset", offset}, {"length", length}};
        for (const auto &[key, value] : entries) {
            auto &entry = *w.add_external_data();
            entry.set_key(key);
            entry.set_value(value);
        }
        return m.finish();
    }

    std::string defect_of(const std::string &location, const std::string &offset, const std::string &length) {
        const std::filesystem::path path = directory_ / "inside" / "net.onnx";
        const bytes file = network(location, offset, length);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
        try {
            graph_ = model::read_onnx(path.string());
        } catch (const error &e) {
            return e.what();
        }
        return "";
    }

    std::filesystem::path directory_;
    model::graph graph_;
};

TEST(OnnxReader, MergesWhatOccursSeveralTimes) {
    // protobuf: messages one after the other are one; of a field of bytes the last one counts.
    onnx_builder all = small_network(), first = small_network(), second = small_network();
    first.graph().clear_node();
    second.graph().clear_initializer();
    second.graph().clear_input();
    second.graph().clear_output();
    second.model.clear_opset_import();
    bytes parts = first.finish();
    const bytes rest = second.finish();
    parts.insert(parts.end(), rest.begin(), rest.end());
    const model::graph expected = read(all.finish()), got = read(parts);
    ASSERT_EQ(got.tensors.size(), expected.tensors.size());
    ASSERT_EQ(got.nodes.size(), expected.nodes.size());
    for (std::size_t t = 0; t < got.tensors.size(); t++)
        EXPECT_EQ(got.tensors[t].data, expected.tensors[t].data);

    // A second raw_data behind the first.
    onnx_builder twice = small_network();
    onnx::TensorProto &w = *twice.graph().mutable_initializer(2);
    w.mutable_unknown_fields()->AddLengthDelimited(onnx::TensorProto::kRawDataFieldNumber,
                                                   std::string(54, '\5'));
    EXPECT_EQ(read(twice.finish()).tensors[2].data, bytes(54, 5));
}

TEST_F(ExternalData, IsReadFromTheDirectoryOfTheNetwork) {
    EXPECT_EQ(defect_of("weights.bin", "6", "54"), "");
    EXPECT_EQ(graph_.tensors[2].data, bytes(54, 2));
}

TEST_F(ExternalData, StaysInsideItsFileAndDirectory) {
    const auto expect = [&](const std::string &text, const char *fragment) {
        EXPECT_NE(text.find(fragment), std::string::npos) << text;
    };
    expect(defect_of("weights.bin", "7", "54"), "at byte 7 with 54 bytes, but that file has 60");
    expect(defect_of("weights.bin", "18446744073709551615", "54"), "which is no number");
    expect(defect_of("weights.bin", "999999999999999999", "54"), "but that file has 60");
    expect(defect_of("weights.bin", "-1", "54"), "which is no number");
    expect(defect_of("weights.bin", "0", "53"),
           "holds 53 bytes of external data, but its dimensions give 54");
    expect(defect_of("../outside.bin", "0", "54"), "allowed are files in the directory");
    expect(defect_of((directory_ / "outside.bin").string(), "0", "54"), "allowed are files in the directory");
    expect(defect_of("", "0", "54"), "allowed are files in the directory");
    expect(defect_of("absent.bin", "0", "54"), "that file has 0");
    expect(defect_of(".", "0", "54"), "that file has 0");
    EXPECT_DEFECT(network("weights.bin", "0", "54"), "a network in memory has no directory");
}

/// Names lead to files by links, too.
TEST_F(ExternalData, StaysInsideWhereLinksLead) {
    namespace fs = std::filesystem;
    const fs::path inside = directory_ / "inside";
    fs::create_symlink("../outside.bin", inside / "out.bin");
    fs::create_directory_symlink("..", inside / "up");
    fs::create_symlink("weights.bin", inside / "same.bin");
    fs::create_directories(inside / "deeper");
    fs::create_symlink("../weights.bin", inside / "deeper" / "back.bin");
    for (const char *location : {"out.bin", "up/outside.bin"}) {
        const std::string text = defect_of(location, "0", "54");
        EXPECT_NE(text.find("has its data in file '" + std::string(location) + "', a link to '" +
                            fs::canonical(directory_ / "outside.bin").string() +
                            "', allowed are files in the directory of the network"),
                  std::string::npos)
            << text;
    }
    for (const char *location : {"same.bin", "deeper/back.bin", "up/inside/weights.bin"})
        EXPECT_EQ(defect_of(location, "0", "54"), "") << location;
    fs::create_symlink("absent.bin", inside / "dangling.bin");
    EXPECT_NE(defect_of("dangling.bin", "0", "54").find("that file has 0"), std::string::npos);
}

/// A cache of models: what a snapshot names are links into one folder of files.
TEST_F(ExternalData, LiesBesideTheFileThatTheNetworksNameLinksTo) {
    namespace fs = std::filesystem;
    ASSERT_EQ(defect_of("weights.bin", "0", "54"), "");
    const fs::path snapshot = directory_ / "snapshot";
    fs::create_directories(snapshot);
    fs::create_symlink("../inside/net.onnx", snapshot / "net.onnx");
    fs::create_symlink("../inside/weights.bin", snapshot / "weights.bin");
    EXPECT_EQ(model::read_onnx((snapshot / "net.onnx").string()).tensors[2].data, bytes(54, 2));
}

} // namespace
} // namespace octet::tests
