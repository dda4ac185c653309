// The library's notes about nodes are in no attribute: a file that has attributes of such names gives the
// bytes and the operators that it gives without them. ONNX Runtime refuses these files ("Unrecognized
// attribute").
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "support/expect_error.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

std::vector<float> spread(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<float>(i * 37 % 101) / 97.f - 0.51f;
    return values;
}

/// Operators whose results depend on what is noted about them, each with an output.
b every_kind() {
    b m;
    const auto constant = [&](const char *name, const b::dims &shape) {
        m.constant<float>(name, shape, spread(model::element_count(shape)));
    };
    m.input<float>("image", {1, 4, 9, 9});
    constant("weights", {16, 4, 3, 3}), constant("bias", {16});
    m.node("Conv", {"image", "weights", "bias"}, {"convolved"});
    m.node("LeakyRelu", {"convolved"}, {"leaky"});
    b::set(m.node("AveragePool", {"image"}, {"pooled"}), "kernel_shape", b::dims{3, 3});
    m.constant<float>("scales", {4}, {1, 1, 2, 2});
    b::set(m.node("Resize", {"image", "", "scales"}, {"resized"}), "mode", "linear");
    m.constant<std::int64_t>("sizes", {4}, {1, 4, 13, 20});
    b::set(m.node("Resize", {"image", "", "", "sizes"}, {"fitted"}), "keep_aspect_ratio_policy",
           "not_larger");
    m.node("GlobalAveragePool", {"convolved"}, {"whole"});
    constant("matrix", {81, 33}), constant("row", {33});
    m.constant<std::int64_t>("shape", {2}, {4, 81});
    m.node("Reshape", {"image", "shape"}, {"rows"});
    b::set(m.node("Gemm", {"rows", "matrix", "row"}, {"product"}), "beta", 0.75f);
    m.node("LeakyRelu", {"product"}, {"leaky_product"});
    b::set(m.node("Softmax", {"image"}, {"shares"}), "axis", std::int64_t{1});
    b::set(m.node("LogSoftmax", {"image"}, {"logarithms"}), "axis", std::int64_t{1});
    b::set(m.node("Transpose", {"image"}, {"moved"}), "perm", b::dims{0, 2, 3, 1});
    m.constant<std::int64_t>("from", {1}, {1}), m.constant<std::int64_t>("to", {1}, {7});
    m.constant<std::int64_t>("axis", {1}, {2});
    m.node("Slice", {"image", "from", "to", "axis"}, {"cut"});
    b::set(m.node("ReduceMean", {"image"}, {"mean"}), "axes", b::dims{1});
    m.input<std::int32_t>("integers", {2});
    m.constant<std::int32_t>("large", {2}, {2147483647, 1});
    m.node("Add", {"integers", "large"}, {"wrapped"});
    for (const char *const y : {"leaky", "pooled", "resized", "fitted", "whole", "leaky_product", "shares",
                                "logarithms", "moved", "cut", "mean", "wrapped"})
        m.output(y);
    return m;
}

network made(const b &m) {
    const std::vector<std::uint8_t> file = m.finish();
    return {file.data(), file.size(), "net.onnx"};
}

/// The bytes of all outputs.
std::vector<std::string> bytes_of(network &net) {
    std::vector<std::string> all;
    const std::vector<float> image = spread(4 * 9 * 9);
    net.input(0).copy_from(image);
    net.input(1).copy_from(std::vector<std::int32_t>{1, 1});
    net.run();
    for (const int y : net.get_graph().outputs) {
        const memory values = net.get_memory(y);
        const auto *bytes = static_cast<const char *>(values.get_data_handle());
        all.emplace_back(bytes, values.get_desc().get_size());
    }
    return all;
}

/// Operators that are left, and bytes.
std::vector<std::string> results(const b &m) {
    network net = made(m);
    std::vector<std::string> all = net.operators_left();
    for (std::string &bytes : bytes_of(net))
        all.push_back(std::move(bytes));
    return all;
}

TEST(OnnxMarks, AttributesOfTheirNamesChangeNothing) {
    using setting = std::function<void(onnx::NodeProto &)>;
    const auto number = [](const char *name, std::int64_t value) {
        return std::pair<std::string, setting>(name, [=](onnx::NodeProto &n) { b::set(n, name, value); });
    };
    const auto word = [](const char *name, const char *value) {
        return std::pair<std::string, setting>(name, [=](onnx::NodeProto &n) { b::set(n, name, value); });
    };
    const auto list = [](const char *name, const b::dims &value) {
        return std::pair<std::string, setting>(name, [=](onnx::NodeProto &n) { b::set(n, name, value); });
    };
    std::vector<std::pair<std::string, setting>> attributes = {
        word("auto_pad_of_file", "SAME_UPPER"),
        word("padding_word", "SAME_UPPER"),
        word("activation", "Relu"),
        {"activation.alpha", [](onnx::NodeProto &n) { b::set(n, "activation.alpha", 5.f); }},
        {"aspect_factor", [](onnx::NodeProto &n) { b::set(n, "aspect_factor", 3.f); }},
        list("reduced", {1, 1, 9, 9}),
        list("begin", {0, 0, 0, 0}),
        list("stride", {1, 1, 1, 1}),
        list("sizes", {1}),
        number("opset", 9),
        number("keeps_aspect", 1),
        number("octet.kept_unread", 2)};
    for (const char *const name :
         {"octet.absent_inputs", "octet.reversed", "octet.int64", "octet.dequantized_matrix",
          "octet.single_rows_alone", "octet.scaled_summand", "octet.images_in_blocks",
          "octet.pooled_by_vectors", "octet.was_fast_gelu", "octet.not_folded", "octet.own_activation"})
        attributes.push_back(number(name, 1));
    const std::vector<std::string> honest = results(every_kind());
    for (int i = 0; i < every_kind().graph().node_size(); i++)
        for (const auto &[name, set] : attributes) {
            b m = every_kind();
            set(*m.graph().mutable_node(i));
            EXPECT_TRUE(results(m) == honest) << m.graph().node(i).op_type() << " with " << name;
        }
}

TEST(OnnxMarks, OnlyMicrosoftsOperatorsHaveChannelsLast) {
    for (const char *const domain : {"", "ai.onnx", b::microsoft}) {
        b m;
        m.input<std::uint8_t>("x", {1, 3, 3, 2});
        m.scalar<float>("s", 1.f), m.scalar<std::uint8_t>("z", 0);
        m.constant<std::uint8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
        auto &conv = m.node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z"}, {"y"}, domain);
        b::set(conv, "channels_last", std::int64_t{1});
        m.output("y");
        EXPECT_EQ(test::refusal([&] { made(m); }),
                  domain == b::microsoft ? ""
                                         : "net.onnx: node 0 (QLinearConv) has attribute 'channels_last', "
                                           "which only operators of com.microsoft have");
    }
}

TEST(OnnxMarks, SavedPlansHaveThem) {
    network net = made(every_kind());
    const std::vector<std::string> honest = bytes_of(net);
    const std::string path =
        (std::filesystem::temp_directory_path() / ("octet_marks_" + std::to_string(getpid()))).string();
    net.save(path);
    network saved(path);
    EXPECT_TRUE(bytes_of(saved) == honest);
    std::filesystem::remove(path);
}

} // namespace
} // namespace octet::tests
