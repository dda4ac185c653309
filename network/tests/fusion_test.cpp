// Joined operators: which ones join, and that the bytes are those of the operators by themselves.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/graph_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
using rule = requantization_rule;

bytes contents(const memory &m) {
    return {m.map_data<std::uint8_t>(), m.map_data<std::uint8_t>() + m.get_desc().get_size()};
}

/// All outputs of two runs on different inputs: a second run must not see traces of the first.
std::vector<bytes> run(const model::graph &g, bool fusion, rule r = rule::automatic) {
    network net(g, {r, fusion});
    std::vector<bytes> results;
    for (const std::uint8_t seed : {3, 101}) {
        for (const int t : g.inputs) {
            const memory m = net.get_memory(t);
            for (std::size_t i = 0; i < m.get_desc().get_size(); i++)
                m.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 89 + i / 7 + seed);
        }
        net.run();
        for (const int t : g.outputs)
            results.push_back(contents(net.get_memory(t)));
    }
    return results;
}

std::string operators(const model::graph &g, rule r = rule::automatic) {
    const network net(g, {r, true});
    std::string text;
    for (const model::node &n : net.get_graph().nodes)
        text += (text.empty() ? "" : ", ") + model::operator_text(n);
    return text;
}

void expect_joined(const model::graph &g, const std::string &expected, rule r = rule::automatic) {
    EXPECT_EQ(operators(g, r), expected);
    EXPECT_EQ(run(g, true, r), run(g, false, r)) << expected;
}

// ---- TFLite

struct tflite_network : graph_builder {
    explicit tflite_network(data_type type = data_type::s8) : graph_builder("tflite", type) {}
    int zero() const { return g.tensors[0].type == data_type::u8 ? 128 : 0; }

    int convolution(int src, const std::string &padding = "SAME") {
        const memory::dims in = g.tensors[static_cast<std::size_t>(src)].dims;
        const dim_t lost = padding == "VALID" ? 2 : 0;
        const int w = weights({in[3], 3, 3, in[3]}, g.tensors[static_cast<std::size_t>(src)].type, 0.01f);
        const int y = tensor({in[0], in[1] - lost, in[2] - lost, in[3]}, 0.08f, zero() - 9);
        node("CONV_2D", {src, w, weights({in[3]}, data_type::s32, 1.f, 2000)}, y,
             {{"padding", padding}, {"stride_h", std::int64_t{1}}, {"stride_w", std::int64_t{1}}});
        return y;
    }
    int unary(const std::string &op, int x, float scale, std::int32_t zero_point) {
        const int y = tensor(g.tensors[static_cast<std::size_t>(x)].dims, scale, zero_point);
        node(op, {x}, y,
             op == "LEAKY_RELU" ? std::map<std::string, model::attribute>{{"alpha", 0.3f}}
                                : std::map<std::string, model::attribute>{});
        return y;
    }
    int pad(int x, const std::vector<std::int32_t> &before_after) {
        memory::dims dims = g.tensors[static_cast<std::size_t>(x)].dims;
        for (std::size_t d = 0; d < dims.size(); d++)
            dims[d] += before_after[2 * d] + before_after[2 * d + 1];
        const auto q = g.tensors[static_cast<std::size_t>(x)].quant;
        const int y = tensor(dims, q.scales[0], q.zero_points[0]);
        node("PAD", {x, integers({4, 2}, before_after)}, y);
        return y;
    }
};

tflite_network with_input(data_type type = data_type::s8) {
    tflite_network n(type);
    n.g.inputs = {n.tensor({2, 7, 6, 5}, 0.03f, type == data_type::u8 ? 131 : 3)};
    return n;
}

TEST(Fusion, FunctionsOfCodesJoinTheConvolution) {
    struct function {
        const char *op;
        float scale;
        std::int32_t zero_point; ///< for s8
    };
    for (const data_type type : {data_type::s8, data_type::u8})
        for (const function &f : {function{"RELU", 0.05f, -20},
                                  {"RELU6", 0.08f, -9},
                                  {"LEAKY_RELU", 0.07f, 4},
                                  {"LOGISTIC", 1.f / 256, -128},
                                  {"TANH", 1.f / 128, 0},
                                  {"QUANTIZE", 0.11f, 6}}) {
            tflite_network n = with_input(type);
            const int offset = type == data_type::u8 ? 128 : 0;
            n.g.outputs = {n.unary(f.op, n.convolution(0), f.scale, f.zero_point + offset)};
            expect_joined(n.g, std::string("CONV_2D + ") + f.op);
        }
}

TEST(Fusion, SeveralFunctionsJoinInTurn) {
    tflite_network n = with_input();
    const int relu = n.unary("RELU", n.convolution(0), 0.05f, -20);
    n.g.outputs = {n.unary("TANH", n.unary("LEAKY_RELU", relu, 0.07f, 4), 1.f / 128, 0)};
    expect_joined(n.g, "CONV_2D + RELU + LEAKY_RELU + TANH");
}

TEST(Fusion, ReadersElsewhereKeepTheTensor) {
    tflite_network n = with_input();
    const int y = n.convolution(0);
    n.g.outputs = {n.unary("RELU", y, 0.05f, -20), n.unary("TANH", y, 1.f / 128, 0)};
    expect_joined(n.g, "CONV_2D, RELU, TANH");
    tflite_network output = with_input();
    const int z = output.convolution(0);
    output.g.outputs = {z, output.unary("RELU", z, 0.05f, -20)};
    expect_joined(output.g, "CONV_2D, RELU");
}

TEST(Fusion, RulesWhosePostOpsSeeNoCodesKeepFunctionsApart) {
    tflite_network n = with_input();
    n.g.outputs = {n.unary("TANH", n.convolution(0), 1.f / 128, 0)};
    expect_joined(n.g, "CONV_2D, TANH", rule::f32);
    expect_joined(n.g, "CONV_2D, TANH", rule::f32_v3);
    expect_joined(n.g, "CONV_2D, TANH", rule::onnx_f64); // ties of this rule depend on the zero point
    expect_joined(n.g, "CONV_2D + TANH", rule::ort_f32);
    expect_joined(n.g, "CONV_2D + TANH", rule::caffe_double_round);
}

TEST(Fusion, PaddingOfPixelsJoinsTheConvolution) {
    for (const data_type type : {data_type::s8, data_type::u8}) {
        tflite_network n = with_input(type);
        n.g.outputs = {n.convolution(n.pad(0, {0, 0, 1, 2, 3, 0, 0, 0}), "VALID")};
        expect_joined(n.g, "CONV_2D");
    }
}

TEST(Fusion, OtherPaddingStays) {
    for (const std::vector<std::int32_t> &p :
         {std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, 0, 1}, {1, 0, 1, 1, 1, 1, 0, 0}}) {
        tflite_network n = with_input();
        n.g.outputs = {n.convolution(n.pad(0, p), "VALID")};
        expect_joined(n.g, "PAD, CONV_2D");
    }
    tflite_network same = with_input(); // TFLite's SAME depends on the padded size
    same.g.outputs = {same.convolution(same.pad(0, {0, 0, 1, 1, 1, 1, 0, 0}))};
    expect_joined(same.g, "PAD, CONV_2D");
    tflite_network other_value = with_input(); // PADV2 with a code that is not zero
    const int y = other_value.pad(0, {0, 0, 1, 1, 1, 1, 0, 0});
    const int value = other_value.weights({1}, data_type::s8, 0.03f);
    other_value.g.tensors[static_cast<std::size_t>(value)].quant = other_value.g.tensors[0].quant;
    other_value.g.nodes[0].op = "PADV2";
    other_value.g.nodes[0].inputs.push_back(value);
    other_value.g.outputs = {other_value.convolution(y, "VALID")};
    expect_joined(other_value.g, "PADV2, CONV_2D");
}

TEST(Fusion, TfliteSumsJoinTheLaterConvolution) {
    for (const data_type type : {data_type::s8, data_type::u8})
        for (const bool swapped : {false, true})
            for (const char *activation : {"NONE", "RELU", "RELU6"}) {
                tflite_network n = with_input(type);
                const int x = n.convolution(0), y = n.convolution(0);
                const int z = n.tensor({2, 7, 6, 5}, 0.09f, type == data_type::u8 ? 140 : 12);
                n.node("ADD", swapped ? std::vector<int>{y, x} : std::vector<int>{x, y}, z,
                       {{"activation", std::string(activation)}});
                n.g.outputs = {n.unary("TANH", z, 1.f / 128, type == data_type::u8 ? 128 : 0)};
                expect_joined(n.g, "CONV_2D, CONV_2D + ADD + TANH");
            }
}

TEST(Fusion, TfliteSumsJoinBehindTables) {
    tflite_network n = with_input();
    const int x = n.convolution(0), y = n.unary("LOGISTIC", n.convolution(0), 1.f / 256, -128);
    const int z = n.tensor({2, 7, 6, 5}, 0.09f, 12);
    n.node("ADD", {x, y}, z);
    n.g.outputs = {z};
    expect_joined(n.g, "CONV_2D, CONV_2D + LOGISTIC + ADD");
}

/// The operand of a fused sum lies in the buffer of the output, which has room for one.
TEST(Fusion, TfliteConvolutionsTakeOneSum) {
    tflite_network n = with_input();
    const int a = n.unary("LEAKY_RELU", 0, 0.07f, 4), b = n.unary("TANH", 0, 1.f / 128, 0);
    const memory::dims dims = n.g.tensors[0].dims;
    const int s = n.tensor(dims, 0.09f, 12), t = n.tensor(dims, 0.1f, 2);
    n.node("ADD", {n.convolution(0), a}, s);
    n.node("ADD", {s, b}, t);
    n.g.outputs = {t};
    expect_joined(n.g, "LEAKY_RELU, TANH, CONV_2D + ADD, ADD");
}

TEST(Fusion, TfliteSumsJoinConvolutionsWithoutBias) {
    tflite_network n = with_input();
    const int x = n.convolution(0), y = n.convolution(0), z = n.tensor({2, 7, 6, 5}, 0.09f, 12);
    n.g.nodes[1].inputs.pop_back();
    n.node("ADD", {x, y}, z);
    n.g.outputs = {z};
    expect_joined(n.g, "CONV_2D, CONV_2D + ADD");
}

// ---- ONNX

struct onnx_network : graph_builder {
    onnx_network() : graph_builder("onnx", data_type::u8) { g.inputs = {tensor({2, 5, 6, 7}, 1.f, 0)}; }

    int convolution(int src, float dst_scale, std::int32_t dst_zero_point, std::int64_t pad = 1) {
        const memory::dims in = g.tensors[static_cast<std::size_t>(src)].dims;
        const int y = tensor({in[0], 5, in[2] + 2 * pad - 2, in[3] + 2 * pad - 2}, 1.f, 0);
        node("QLinearConv",
             {src, scale(0.03f), zero_point(128), weights({5, in[1], 3, 3}, data_type::s8, 1.f), scale(0.01f),
              constant_s8_zero(), scale(dst_scale), zero_point(dst_zero_point),
              weights({5}, data_type::s32, 1.f, 2000)},
             y, {{"pads", std::vector<std::int64_t>(4, pad)}});
        return y;
    }
    int unary(const std::string &op, int x) {
        const int y = tensor(g.tensors[static_cast<std::size_t>(x)].dims, 1.f, 0);
        node(op, {x, scale(0.08f), zero_point(120), scale(0.05f), zero_point(20)}, y);
        return y;
    }
    int pad(int x, std::int32_t value) {
        memory::dims dims = g.tensors[static_cast<std::size_t>(x)].dims;
        dims[2] += 2, dims[3] += 1;
        const int y = tensor(dims, 1.f, 0);
        node("Pad", {x, -1, zero_point(value)}, y,
             {{"pads", std::vector<std::int64_t>{0, 0, 2, 0, 0, 0, 0, 1}}});
        return y;
    }

    int add(int a, int b) {
        const int y = tensor(g.tensors[static_cast<std::size_t>(a)].dims, 1.f, 0);
        node("QLinearAdd",
             {a, scale(0.08f), zero_point(120), b, scale(0.031f), zero_point(100), scale(0.07f),
              zero_point(90)},
             y);
        return y;
    }

private:
    int constant_s8_zero() {
        const int t = zero_point(0);
        g.tensors[static_cast<std::size_t>(t)].type = data_type::s8;
        return t;
    }
};

TEST(Fusion, OnnxFunctionsJoinTheConvolution) {
    for (const char *op : {"QLinearLeakyRelu", "QLinearSigmoid"}) {
        onnx_network n;
        n.g.outputs = {n.unary(op, n.convolution(0, 0.08f, 120))};
        const std::string joined = operators(n.g);
        EXPECT_NE(joined.find(std::string("QLinearConv + ") + op), std::string::npos) << joined;
        EXPECT_EQ(run(n.g, true), run(n.g, false)) << op;
    }
}

TEST(Fusion, OnnxPaddingWithTheZeroPointJoinsTheConvolution) {
    onnx_network zero, other;
    zero.g.outputs = {zero.convolution(zero.pad(0, 128), 0.08f, 120)};
    other.g.outputs = {other.convolution(other.pad(0, 127), 0.08f, 120)};
    EXPECT_EQ(operators(zero.g).find("Pad"), std::string::npos) << operators(zero.g);
    EXPECT_NE(operators(other.g).find("Pad"), std::string::npos) << operators(other.g);
    EXPECT_EQ(run(zero.g, true), run(zero.g, false));
    EXPECT_EQ(run(other.g, true), run(other.g, false));
    EXPECT_NE(run(zero.g, true), run(other.g, true));
}

/// Two convolutions and their sum; either may be operand a, and the later one takes in the sum.
TEST(Fusion, SumsJoinTheLaterConvolution) {
    for (const bool swapped : {false, true})
        for (const std::int32_t zero_point : {0, 120}) {
            onnx_network n;
            const int x = n.convolution(0, 0.08f, zero_point), y = n.convolution(0, 0.05f, zero_point);
            n.g.outputs = {swapped ? n.add(y, x) : n.add(x, y)};
            EXPECT_NE(operators(n.g).find("QLinearConv, QLinearConv + QLinearAdd"), std::string::npos)
                << operators(n.g);
            EXPECT_EQ(run(n.g, true), run(n.g, false));
        }
}

TEST(Fusion, ConvolutionsTakeOneSum) {
    for (const bool swapped : {false, true}) {
        onnx_network n;
        const int a = n.unary("QLinearSigmoid", n.convolution(0, 0.08f, 120)),
                  b = n.unary("QLinearLeakyRelu", a), y = n.convolution(0, 0.05f, 120),
                  s = swapped ? n.add(a, y) : n.add(y, a);
        n.g.outputs = {swapped ? n.add(b, s) : n.add(s, b)};
        EXPECT_EQ(run(n.g, true), run(n.g, false)) << operators(n.g);
    }
}

TEST(Fusion, SumsJoinConvolutionsWithoutBias) {
    onnx_network n;
    const int x = n.convolution(0, 0.08f, 120), y = n.convolution(0, 0.05f, 120);
    n.g.nodes[1].inputs.pop_back();
    n.g.outputs = {n.add(x, y)};
    EXPECT_NE(operators(n.g).find("QLinearConv + QLinearAdd"), std::string::npos) << operators(n.g);
    EXPECT_EQ(run(n.g, true), run(n.g, false));
}

TEST(Fusion, ChainsOfResidualBlocksJoin) {
    onnx_network n;
    int x = n.convolution(0, 0.08f, 120);
    for (int block = 0; block < 3; block++) {
        const int y = n.convolution(n.convolution(x, 0.08f, 120), 0.06f, 120);
        x = n.unary("QLinearLeakyRelu", block == 1 ? n.add(x, y) : n.add(y, x));
    }
    n.g.outputs = {x};
    const std::string joined = operators(n.g),
                      block = "QLinearConv, QLinearConv + QLinearAdd + QLinearLeakyRelu";
    EXPECT_NE(joined.find(block + ", " + block + ", " + block), std::string::npos) << joined;
    EXPECT_EQ(run(n.g, true), run(n.g, false));
}

TEST(Fusion, SumsLeaveTensorsThatAreReadLater) {
    onnx_network later; // x is read after the sum
    const int x = later.convolution(0, 0.08f, 120), y = later.convolution(0, 0.05f, 120);
    const int z = later.add(y, x);
    later.g.outputs = {later.add(z, x)};
    EXPECT_EQ(operators(later.g).find("QLinearConv + QLinearAdd"),
              operators(later.g).rfind("QLinearConv + QLinearAdd"));
    EXPECT_EQ(run(later.g, true), run(later.g, false));

    onnx_network output; // x is an output
    const int a = output.convolution(0, 0.08f, 120), b = output.convolution(a, 0.05f, 120);
    output.g.outputs = {output.add(b, a), a};
    EXPECT_EQ(operators(output.g).find("+"), std::string::npos) << operators(output.g);
    EXPECT_EQ(run(output.g, true), run(output.g, false));

    onnx_network source; // the convolution reads what it would overwrite
    const int p = source.convolution(0, 0.08f, 120), q = source.convolution(p, 0.05f, 120);
    source.g.outputs = {source.add(q, p)};
    EXPECT_EQ(operators(source.g).find("+"), std::string::npos) << operators(source.g);
    EXPECT_EQ(run(source.g, true), run(source.g, false));

    onnx_network view; // another name of x is read later
    const int u = view.convolution(0, 0.08f, 120),
              v = view.tensor(view.g.tensors[static_cast<std::size_t>(u)].dims, 1.f, 0);
    view.node("Identity", {u}, v);
    const int w = view.convolution(0, 0.05f, 120), s = view.add(w, u);
    view.g.outputs = {view.add(s, v)};
    EXPECT_EQ(run(view.g, true), run(view.g, false));

    onnx_network border; // the border of a padded tensor is written once
    const int c = border.convolution(0, 0.08f, 120, 0), d = border.tensor({2, 5, 6, 7}, 1.f, 0);
    border.node("Pad", {c, -1, border.zero_point(3)}, d,
                {{"pads", std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1}}});
    border.g.outputs = {border.add(border.convolution(0, 0.05f, 120), d)};
    EXPECT_EQ(run(border.g, true), run(border.g, false));
}

/// A convolution that a sum moves behind the place where another sum takes its source's buffer.
TEST(Fusion, ConvolutionsMoveOnlyWhileTheirSourcesLive) {
    onnx_network n;
    const int x = n.convolution(0, 0.08f, 120);
    const int first = n.convolution(x, 0.06f, 120), second = n.convolution(0, 0.05f, 120);
    const int sum = n.add(second, x); // takes the buffer of x
    const int late = n.unary("QLinearSigmoid", n.add(sum, sum));
    n.g.outputs = {n.add(first, late)}; // would take `first` with it, which reads x
    EXPECT_EQ(run(n.g, true), run(n.g, false)) << operators(n.g);
}

} // namespace
} // namespace octet::tests
