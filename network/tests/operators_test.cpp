// Single nodes of TFLite and ONNX networks, made in memory: operators, types and attributes that the vector
// files do not hold, against bytes computed by hand or by another spelling of the same node.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "network/dialect.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "octet/onnx_graph.hpp"

namespace octet::tests {
namespace {

using model::attribute;
using dims = memory::dims;

struct node_test {
    model::graph graph;
    explicit node_test(const char *framework, const char *op) {
        graph.framework = framework;
        graph.nodes.push_back({op, {}, {}, {}});
    }
    node_test &set(const char *name, attribute value) {
        graph.nodes[0].attributes[name] = std::move(value);
        return *this;
    }

    template <typename T> static data_type type_of() {
        return std::is_same_v<T, float>          ? data_type::f32
               : std::is_same_v<T, std::int32_t> ? data_type::s32
               : std::is_same_v<T, std::int8_t>  ? data_type::s8
                                                 : data_type::u8;
    }
    /// Appends an input: constant, or the network's with these contents.
    template <typename T>
    node_test &input(const dims &d, const std::vector<T> &values, bool is_constant = true, float scale = 0,
                     std::int32_t zero_point = 0) {
        model::tensor t;
        t.name = "x" + std::to_string(graph.tensors.size());
        t.type = type_of<T>();
        t.dims = d;
        if (scale > 0)
            t.quant = {{scale}, {zero_point}, 0};
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
        const std::vector<std::uint8_t> data(bytes, bytes + values.size() * sizeof(T));
        t.is_constant = is_constant;
        if (is_constant)
            t.data = data;
        const int index = static_cast<int>(graph.tensors.size());
        graph.tensors.push_back(std::move(t));
        graph.nodes[0].inputs.push_back(index);
        if (!is_constant) {
            graph.inputs.push_back(index);
            contents.push_back(data);
        }
        return *this;
    }
    /// ONNX: a scale and a zero point of type T.
    template <typename T> node_test &parameters(float scale, T zero_point) {
        return input<float>({}, {scale}).input<T>({}, {zero_point});
    }

    template <typename T> std::vector<T> run(const dims &d, float scale = 0, std::int32_t zero_point = 0) {
        model::tensor t;
        t.name = "y";
        t.type = type_of<T>();
        t.dims = d;
        if (scale > 0)
            t.quant = {{scale}, {zero_point}, 0};
        const int index = static_cast<int>(graph.tensors.size());
        graph.tensors.push_back(t);
        graph.nodes[0].outputs = graph.outputs = {index};
        network net(graph);
        for (std::size_t i = 0; i < contents.size(); i++)
            std::memcpy(net.get_memory(graph.inputs[i]).get_data_handle(), contents[i].data(),
                        contents[i].size());
        net.run();
        const memory m = net.get_memory(index);
        return {m.map_data<T>(), m.map_data<T>() + m.get_desc().get_size() / sizeof(T)};
    }

    std::vector<std::vector<std::uint8_t>> contents;
};

using u8s = std::vector<std::uint8_t>;
using s8s = std::vector<std::int8_t>;
using s32s = std::vector<std::int32_t>;

node_test tflite(const char *op) { return node_test("tflite", op); }
node_test onnx(const char *op) { return node_test("onnx", op); }

// ---- TFLite

/// A server runs requests together where it may, so an operator that nobody asked this would be served alone
/// in silence. (Sanitizers make addresses of functions no constants, so this cannot be a static_assert.)
/// Operators without a shape function are gone when a file has been read.
TEST(OperatorTable, SaysOfEachOperatorWhetherItKeepsRowsApart) {
    for (const char *framework : {"tflite", "onnx"})
        for (const std::string &op : model::dialect_of(framework).operators().listed()) {
            const model::operator_facts &facts = model::facts_of(model::dialect_of(framework), op);
            EXPECT_TRUE(!facts.infer || facts.rows) << framework << ' ' << op << " lacks `batched`";
        }
}

TEST(TfliteOperator, OlderConvolutionsHaveZeroPointsInTheirWeights) {
    // (12 - 10)(5 - 3) + (7 - 10)(2 - 3) + 1 = 8; times 1/2 · 1/2 / 1, plus 100
    auto test = tflite("CONV_2D");
    test.set("padding", std::string("VALID"))
        .set("stride_h", std::int64_t{1})
        .set("stride_w", std::int64_t{1});
    test.input<std::uint8_t>({1, 1, 1, 2}, {12, 7}, false, 0.5f, 10)
        .input<std::uint8_t>({1, 1, 1, 2}, {5, 2}, true, 0.5f, 3)
        .input<std::int32_t>({1}, {1});
    EXPECT_EQ(test.run<std::uint8_t>({1, 1, 1, 1}, 1.f, 100), u8s{102});
}

TEST(TfliteOperator, OlderFullyConnectedLayersToo) {
    auto test = tflite("FULLY_CONNECTED");
    test.input<std::uint8_t>({1, 2}, {12, 7}, false, 0.5f, 10)
        .input<std::uint8_t>({2, 2}, {5, 2, 3, 4}, true, 0.5f, 3);
    EXPECT_EQ(test.run<std::uint8_t>({1, 2}, 0.25f, 100), (u8s{107, 97})); // 7 and -3
}

TEST(TfliteOperator, TransposeConvScatters) {
    // Row 1 2 with the kernel 1 10 100 at stride 2: 1 10 102 20 200; SAME to 4 cuts the end.
    const auto make = [](const char *padding) {
        auto test = tflite("TRANSPOSE_CONV");
        test.set("padding", std::string(padding))
            .set("stride_h", std::int64_t{1})
            .set("stride_w", std::int64_t{2});
        return test;
    };
    const auto add = [](node_test &test, std::int32_t width) {
        test.input<std::int32_t>({4}, {1, 1, width, 1})
            .input<std::int8_t>({1, 1, 3, 1}, {1, 10, 100}, true, 1.f, 0)
            .input<std::int8_t>({1, 1, 2, 1}, {1, 2}, false, 1.f, 0);
    };
    auto valid = make("VALID");
    add(valid, 5);
    EXPECT_EQ(valid.run<std::int8_t>({1, 1, 5, 1}, 2.f, 0), (s8s{1, 5, 51, 10, 100})); // 0.5 goes up
    auto same = make("SAME");
    add(same, 4);
    EXPECT_EQ(same.run<std::int8_t>({1, 1, 4, 1}, 2.f, 0), (s8s{1, 5, 51, 10}));
}

TEST(TfliteOperator, PreluScalesNegativeValuesByATensor) {
    auto test = tflite("PRELU");
    test.input<std::int8_t>({1, 2, 2}, {9, -7, -3, 5}, false, 0.5f, 1)
        .input<std::int8_t>({2}, {4, 8}, true, 0.25f, 0);
    // d = 8 -8 -4 4; alpha 1 and 2; real 4, -8, -2, 2; in quarters
    EXPECT_EQ(test.run<std::int8_t>({1, 2, 2}, 0.25f, 0), (s8s{16, -32, -8, 8}));
}

TEST(TfliteOperator, SubtractionAndProductBroadcast) {
    auto sub = tflite("SUB");
    sub.set("activation", std::string("NONE"));
    sub.input<std::int8_t>({2, 1}, {10, 20}, false, 1.f, 0).input<std::int8_t>({3}, {1, 2, 3}, false, 1.f, 0);
    EXPECT_EQ(sub.run<std::int8_t>({2, 3}, 1.f, -1), (s8s{8, 7, 6, 18, 17, 16}));
    auto mul = tflite("MUL");
    mul.set("activation", std::string("RELU"));
    mul.input<std::uint8_t>({2, 1}, {12, 8}, false, 1.f, 10)
        .input<std::uint8_t>({3}, {1, 2, 3}, false, 1.f, 0);
    EXPECT_EQ(mul.run<std::uint8_t>({2, 3}, 1.f, 5), (u8s{7, 9, 11, 5, 5, 5}));
}

/// Values of TensorFlow Lite Micro's kernels.
TEST(TfliteOperator, OfCoarseCodesOnlyTheEndsAreLeft) {
    const s8s x = {-128, -5, 1, 2, 3, 4, 5, 5};
    for (const float scale : {16.f, 1e6f}) {
        auto softmax = tflite("SOFTMAX");
        softmax.set("beta", 1.f).input<std::int8_t>({8}, x, false, scale, 3);
        EXPECT_EQ(softmax.run<std::int8_t>({8}, 1.f / 256, -128),
                  (s8s{-128, -128, -128, -128, -128, -128, 0, 0}));
        const s8s ends = {-128, -128, -128, -128, -128, 127, 127, 127};
        auto logistic = tflite("LOGISTIC"), tanh = tflite("TANH");
        logistic.input<std::int8_t>({8}, x, false, scale, 3);
        EXPECT_EQ(logistic.run<std::int8_t>({8}, 1.f / 256, -128), ends);
        tanh.input<std::int8_t>({8}, x, false, scale, 3);
        EXPECT_EQ(tanh.run<std::int8_t>({8}, 1.f / 128, 0), ends);
    }
}

/// The operators' own tests have other scales.
TEST(TfliteOperator, ScalesOfLogisticAndTanhPlayNoPart) {
    const s8s x = {-128, -20, 0, 20, 127};
    const auto codes = [&](const char *op, float scale, std::int32_t zero_point) {
        auto test = tflite(op);
        test.input<std::int8_t>({5}, x, false, 0.05f, 0);
        return test.run<std::int8_t>({5}, scale, zero_point);
    };
    EXPECT_EQ(codes("LOGISTIC", 1.f / 255, -128), codes("LOGISTIC", 1.f / 256, -128));
    EXPECT_EQ(codes("TANH", 1.99999955f / 256, 0), codes("TANH", 1.f / 128, 0));
}

// ---- ONNX

node_test conv(const u8s &x, const dims &x_dims) {
    auto test = onnx("QLinearConv");
    test.input<std::uint8_t>(x_dims, x, false).parameters<std::uint8_t>(1.f, 1);
    test.input<std::int8_t>({1, 2, 2, 2}, {1, 2, 3, 4, -1, 0, 1, 0}).parameters<std::int8_t>(1.f, 0);
    test.parameters<std::uint8_t>(1.f, 50);
    return test;
}

TEST(OnnxOperator, ChannelsLastConvolutionsAreTransposed) {
    const u8s nchw = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    u8s nhwc;
    for (std::size_t p = 0; p < 9; p++)
        nhwc.insert(nhwc.end(), {nchw[p], nchw[p + 9]});
    const auto expected = conv(nchw, {1, 2, 3, 3}).run<std::uint8_t>({1, 1, 2, 2});
    EXPECT_EQ(conv(nhwc, {1, 3, 3, 2}).set("channels_last", std::int64_t{1}).run<std::uint8_t>({1, 2, 2, 1}),
              expected);
}

TEST(OnnxOperator, AutoPadIsAWordForPads) {
    const u8s x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    const auto run = [&](const char *auto_pad, const dims &pads) {
        auto test = conv(x, {1, 2, 3, 3});
        if (auto_pad)
            test.set("auto_pad", std::string(auto_pad));
        else
            test.set("pads", pads);
        return test.run<std::uint8_t>({1, 1, 3, 3});
    };
    EXPECT_EQ(run("SAME_UPPER", {}), run(nullptr, {0, 0, 1, 1}));
    EXPECT_EQ(run("SAME_LOWER", {}), run(nullptr, {1, 1, 0, 0}));
}

TEST(OnnxOperator, CeilModeLetsTheLastWindowIn) {
    const auto make = [] {
        auto test = onnx("MaxPool");
        test.set("kernel_shape", dims{2})
            .set("strides", dims{2})
            .input<std::int8_t>({1, 1, 5}, {1, 5, 3, -4, -2}, false);
        return test;
    };
    EXPECT_EQ(make().run<std::int8_t>({1, 1, 2}), (s8s{5, 3}));
    EXPECT_EQ(make().set("ceil_mode", std::int64_t{1}).run<std::int8_t>({1, 1, 3}), (s8s{5, 3, -2}));
}

TEST(OnnxOperator, AveragesCountPaddingOrNot) {
    const auto run = [](std::int64_t count_include_pad) {
        auto test = onnx("QLinearAveragePool");
        test.set("kernel_shape", dims{2}).set("pads", dims{1, 0}).set("count_include_pad", count_include_pad);
        test.input<std::uint8_t>({1, 1, 2}, {13, 17}, false).parameters<std::uint8_t>(1.f, 10);
        test.parameters<std::uint8_t>(1.f, 100);
        return test.run<std::uint8_t>({1, 1, 2});
    };
    EXPECT_EQ(run(0), (u8s{103, 105})); // 3; (3 + 7) / 2
    EXPECT_EQ(run(1), (u8s{102, 105})); // 3 / 2 = 1.5: 101.5 to even
}

TEST(OnnxOperator, SoftmaxBeforeOpset13SpansAllDimensionsFromItsAxis) {
    const auto run = [](const dims &d, std::int64_t opset, std::int64_t axis) {
        auto test = onnx("QLinearSoftmax");
        test.set("axis", axis).set("opset", opset);
        test.input<std::uint8_t>(d, {1, 20, 30, 4, 50, 6, 70, 8}, false).parameters<std::uint8_t>(0.1f, 0);
        test.parameters<std::uint8_t>(1.f / 256, 0);
        return test.run<std::uint8_t>(d);
    };
    EXPECT_EQ(run({2, 2, 2}, 12, 1), run({2, 4}, 13, 1));
    EXPECT_EQ(run({2, 2, 2}, 12, -1), run({4, 2}, 13, 1));
    EXPECT_NE(run({2, 2, 2}, 13, 1), run({2, 4}, 13, 1));
}

TEST(OnnxOperator, ConcatRequantizesWhatDiffers) {
    auto test = onnx("QLinearConcat");
    test.set("axis", std::int64_t{-1}).parameters<std::uint8_t>(1.f, 10);
    test.input<std::uint8_t>({1, 2}, {12, 9}, false).parameters<std::uint8_t>(0.5f, 9); // 1.5 to even, 0
    test.input<std::uint8_t>({1, 1}, {200}, false).parameters<std::uint8_t>(1.f, 10);
    EXPECT_EQ(test.run<std::uint8_t>({1, 3}), (u8s{12, 10, 200}));
}

TEST(OperatorsOfOnnx, TellWhatTheySumUp) {
    for (const char *op : {"QLinearConv", "ConvInteger", "QGemm", "MatMulIntegerToFloat", "MatMulNBits"})
        EXPECT_EQ(model::onnx_products(op), model::summed_products::of_codes) << op;
    for (const char *op : {"MatMul", "FusedMatMul", "Gemm"})
        EXPECT_EQ(model::onnx_products(op), model::summed_products::of_floats) << op;
    for (const char *op : {"Conv", "QLinearAdd", "nosuch"})
        EXPECT_EQ(model::onnx_products(op), model::summed_products::none) << op;
}

} // namespace
} // namespace octet::tests
