// Networks in QDQ form against the same networks written with ONNX Runtime's operators on codes: the same
// operators must remain, and the same bytes come out. That these operators give ONNX Runtime's bytes is what
// `octet check` shows; that ONNX Runtime fuses in these cases was seen in the graphs that it optimizes (with
// s8 on machines where it keeps s8; doc/onnx.md).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "network/onnx/tests/qdq_builder.hpp"

namespace octet::tests {
namespace {

template <typename Code> class Qdq : public testing::Test {};
using code_types = testing::Types<std::uint8_t, std::int8_t>;
TYPED_TEST_SUITE(Qdq, code_types);
/// Kernels of ONNX Runtime on x86 take activations of u8 alone, so what is between codes of s8 stays on floats there.
template <typename Code> struct QdqUnsigned : testing::Test {};
TYPED_TEST_SUITE(QdqUnsigned, testing::Types<std::uint8_t>);

std::vector<std::int8_t> weight_codes(std::size_t n) {
    std::vector<std::int8_t> w(n);
    for (std::size_t i = 0; i < n; i++)
        w[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
    return w;
}

enum class bias_kind { none, codes, floats };
enum class weights_kind { per_tensor, per_channel, floats };
struct conv_case {
    bias_kind bias = bias_kind::codes;
    weights_kind weights = weights_kind::per_channel;
    const char *limit = nullptr; ///< Relu or Clip in front of QuantizeLinear
    std::int64_t group = 1;
};

/// {codes, scale, zero point} of 6 x 4/group x 3 x 3 weights.
template <typename Builder> b::names add_weights(Builder &m, const conv_case &c) {
    const b::dims shape = {6, 4 / c.group, 3, 3};
    const auto codes = weight_codes(static_cast<std::size_t>(6 * 4 / c.group * 9));
    m.constant("w", shape, codes);
    if (c.weights == weights_kind::per_channel) {
        m.template constant<float>("w_scale", {6}, {.001f, .002f, .003f, .004f, .005f, .006f});
        m.template constant<std::int8_t>("w_zp", {6}, {0, 0, 0, 0, 0, 0});
    } else {
        m.template scalar<float>("w_scale", 0.0078125f);
        m.template scalar<std::int8_t>("w_zp", 0);
    }
    return {"w", "w_scale", "w_zp"};
}

/// 0.02 * the weights' scale * codes: what the floats of `bias_kind::floats` round to.
std::vector<std::int32_t> bias_codes(const conv_case &c) {
    if (c.weights == weights_kind::per_channel)
        return {1000, -500, 40, 3, -2, 7};
    return {100, -200, 300, -400, 500, -600};
}

template <typename Code> onnx_builder convolution_on_codes(const conv_case &c) {
    qdq_builder<Code> m;
    b::names inputs =
        m.code_input(image) + add_weights(m, c) + m.parameters("y", 0.03f, c.limit ? lowest<Code> : 7);
    if (c.bias != bias_kind::none)
        inputs.push_back(m.template constant<std::int32_t>("bias", {6}, bias_codes(c)));
    b::set(m.node("QLinearConv", inputs, {"y"}), "group", c.group);
    m.output("y");
    return m;
}

template <typename Code> onnx_builder convolution_in_floats(const conv_case &c) {
    qdq_builder<Code> m;
    b::names inputs = {m.dequantize(m.code_input(image), "x_real")};
    b::names w = add_weights(m, c);
    if (c.weights == weights_kind::floats) { // quantized by the network
        std::vector<float> real;
        for (const std::int8_t code : weight_codes(static_cast<std::size_t>(6 * 4 / c.group * 9)))
            real.push_back(0.0078125f * code);
        m.template constant<float>("w_float", {6, 4 / c.group, 3, 3}, real);
        m.node("QuantizeLinear", {"w_float", w[1], w[2]}, {"w_codes"});
        w[0] = "w_codes";
    }
    auto &dequantize = m.node("DequantizeLinear", w, {"w_real"});
    if (c.weights == weights_kind::per_channel)
        b::set(dequantize, "axis", std::int64_t{0});
    inputs.push_back("w_real");
    if (c.bias == bias_kind::codes) {
        m.template constant<std::int32_t>("bias", {6}, bias_codes(c));
        // Scales of the sums: with others ONNX Runtime leaves the operator on floats.
        std::vector<float> scales;
        for (std::size_t i = 0; i < 6; i++)
            scales.push_back(0.02f * (c.weights == weights_kind::per_channel
                                          ? .001f * static_cast<float>(i + 1)
                                          : 0.0078125f));
        m.template constant<float>("bias_scale", {6}, scales);
        b::set(m.node("DequantizeLinear", {"bias", "bias_scale"}, {"bias_real"}), "axis", std::int64_t{0});
        inputs.push_back("bias_real");
    } else if (c.bias == bias_kind::floats) {
        std::vector<float> real;
        for (std::size_t i = 0; i < 6; i++)
            real.push_back(
                static_cast<float>(bias_codes(c)[i]) * 0.02f *
                (c.weights == weights_kind::per_channel ? .001f * static_cast<float>(i + 1) : 0.0078125f));
        inputs.push_back(m.template constant<float>("bias_real", {6}, real));
    }
    b::set(m.node("Conv", inputs, {"y_real"}), "group", c.group);
    std::string last = "y_real";
    if (c.limit) {
        b::names limit = {"y_real"};
        if (std::string(c.limit) == "Clip")
            limit = limit +
                    b::names{m.template scalar<float>("low", 0.f), m.template scalar<float>("high", 7.65f)};
        m.node(c.limit, limit, {"limited"});
        last = "limited";
    }
    m.quantize(last, m.parameters("y", 0.03f, c.limit ? lowest<Code> : 7), "y");
    return m;
}

TYPED_TEST(QdqUnsigned, Convolution) {
    const conv_case cases[] = {
        {},
        {bias_kind::none},
        {bias_kind::floats},
        {bias_kind::floats, weights_kind::per_tensor},
        {bias_kind::codes, weights_kind::per_tensor, nullptr, 2},
        {bias_kind::codes, weights_kind::floats},
        {bias_kind::codes, weights_kind::per_channel, "Relu"},
        {bias_kind::codes, weights_kind::per_channel, "Clip"}, // 0.03 * 255 = 7.65
    };
    for (const conv_case &c : cases) {
        SCOPED_TRACE(static_cast<int>(&c - cases));
        const onnx_builder floats = convolution_in_floats<TypeParam>(c);
        EXPECT_EQ(operators(floats), "QLinearConv");
        EXPECT_EQ(run(floats), run(convolution_on_codes<TypeParam>(c)));
    }
}

/// x, x2 and their dequantized forms.
template <typename Code> struct operands {
    qdq_builder<Code> floats, codes;
    b::names x, x2, y;
    operands(const b::dims &shape = {3, 8}) {
        for (qdq_builder<Code> *m : {&floats, &codes}) {
            x = m->code_input(shape);
            x2 = b::names{"x"} + m->parameters("x2", 0.05f, 9);
            y = m->parameters("y", 0.07f, 3);
        }
        floats.dequantize(x, "x_real");
        floats.dequantize(x2, "x2_real");
    }
    /// One float operator and the one on codes, with the same attributes.
    void nodes(const std::string &op, const b::names &float_inputs, const std::string &code_op,
               const b::names &code_inputs, const std::function<void(onnx::NodeProto &)> &prepare = {}) {
        onnx::NodeProto &f = floats.node(op, float_inputs, {"y_real"});
        const bool is_standard = code_op == "MaxPool" || code_op == "QLinearMatMul";
        onnx::NodeProto &c = codes.node(code_op, code_inputs, {"y"}, is_standard ? "" : b::microsoft);
        if (prepare)
            prepare(f), prepare(c);
        floats.quantize("y_real", y, "y");
        codes.output("y");
    }
    void expect_fused() {
        EXPECT_EQ(operators(floats), operators(codes));
        EXPECT_EQ(operators(codes).find(' '), std::string::npos);
        EXPECT_EQ(run(floats), run(codes));
    }
};

TYPED_TEST(Qdq, Binary) {
    for (const std::string op : {"Add", "Mul"}) {
        operands<TypeParam> o;
        o.nodes(op, {"x_real", "x2_real"}, "QLinear" + op, o.x + o.x2 + o.y);
        o.expect_fused();
    }
}

TYPED_TEST(Qdq, Tables) {
    operands<TypeParam> sigmoid, leaky;
    sigmoid.nodes("Sigmoid", {"x_real"}, "QLinearSigmoid", sigmoid.x + sigmoid.y);
    sigmoid.expect_fused();
    leaky.nodes("LeakyRelu", {"x_real"}, "QLinearLeakyRelu", leaky.x + leaky.y,
                [](onnx::NodeProto &n) { b::set(n, "alpha", 0.1f); });
    leaky.expect_fused();
}

/// 8 x 5 weights, one scale or one per column.
template <typename Builder> b::names matrix(Builder &m, bool is_per_column, bool is_transposed) {
    m.constant("b", is_transposed ? b::dims{5, 8} : b::dims{8, 5}, weight_codes(40));
    if (is_per_column) {
        m.template constant<float>("b_scale", {5}, {.01f, .02f, .03f, .04f, .05f});
        m.template constant<std::int8_t>("b_zp", {5}, {0, 0, 0, 0, 0});
    } else {
        m.template scalar<float>("b_scale", .03f);
        m.template scalar<std::int8_t>("b_zp", 0);
    }
    return {"b", "b_scale", "b_zp"};
}

TYPED_TEST(QdqUnsigned, MatrixProducts) {
    for (const bool is_per_column : {false, true}) {
        SCOPED_TRACE(is_per_column);
        operands<TypeParam> product, gemm;
        auto &dequantize =
            product.floats.node("DequantizeLinear", matrix(product.floats, is_per_column, false), {"b_real"});
        b::set(dequantize, "axis", std::int64_t{1});
        product.nodes("MatMul", {"x_real", "b_real"}, "QLinearMatMul",
                      product.x + matrix(product.codes, is_per_column, false) + product.y);
        product.expect_fused();

        const auto transposed = [](onnx::NodeProto &n) { b::set(n, "transB", std::int64_t{1}); };
        auto &dequantize_rows =
            gemm.floats.node("DequantizeLinear", matrix(gemm.floats, is_per_column, true), {"b_real"});
        b::set(dequantize_rows, "axis", std::int64_t{0});
        gemm.floats.template constant<std::int32_t>("c", {5}, {100, 200, -300, 400, -500});
        gemm.floats.template scalar<float>("c_scale", 1.f);
        gemm.floats.node("DequantizeLinear", {"c", "c_scale"}, {"c_real"});
        gemm.codes.template constant<std::int32_t>("c", {5}, {100, 200, -300, 400, -500});
        gemm.nodes("Gemm", {"x_real", "b_real", "c_real"}, "QGemm",
                   gemm.x + matrix(gemm.codes, is_per_column, true) + b::names{"c"} + gemm.y, transposed);
        gemm.expect_fused();
    }
}

TYPED_TEST(QdqUnsigned, MatrixProductsThatStayReal) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({3, 8}), "x_real");
    m.node("DequantizeLinear", matrix(m, false, false), {"b_real"});
    m.node("MatMul", {"x_real", "b_real"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators(m), "MatMulIntegerToFloat");
    const bytes got = run(m);
    std::vector<float> expected;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 5; column++) {
            std::int32_t acc = 0;
            for (int k = 0; k < 8; k++) {
                const int i = 8 * row + k;
                acc += (static_cast<TypeParam>(i * 89 + i / 7) - 5) *
                       weight_codes(40)[static_cast<std::size_t>(5 * k + column)];
            }
            expected.push_back(static_cast<float>(acc) * (0.02f * 0.03f));
        }
    std::vector<float> floats(got.size() / sizeof(float));
    std::memcpy(floats.data(), got.data(), got.size());
    EXPECT_EQ(floats, expected);
}

// ---- MatMul and Add: a Gemm, where ONNX Runtime makes one, and on floats unless C are s32 codes or become some.

/// x (dequantized codes) times a matrix of 8 x 5, plus C.
template <typename Code> struct sum_of_product : qdq_builder<Code> {
    explicit sum_of_product(const b::dims &x) {
        this->dequantize(this->code_input(x), "x_real");
        this->node("DequantizeLinear", matrix(*this, false, false), {"b_real"});
        this->node("MatMul", {"x_real", "b_real"}, {"product"});
    }
    std::string c(const b::dims &shape) {
        std::size_t count = 1;
        for (const std::int64_t d : shape)
            count *= static_cast<std::size_t>(d);
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; i++)
            values[i] = 0.3f * static_cast<float>(i) - 0.7f;
        return this->constant("c", shape, values);
    }
    std::string c_codes() {
        this->constant("c_codes", b::dims{5}, std::vector<std::int32_t>{100, 200, -300, 400, -500});
        this->template scalar<float>("c_scale", 0.02f * 0.03f);
        this->node("DequantizeLinear", {"c_codes", "c_scale"}, {"c"});
        return "c";
    }
    sum_of_product &add(const std::string &c, bool is_quantized) {
        this->node("Add", {"product", c}, {"sum"});
        if (is_quantized)
            this->quantize("sum", this->parameters("y", 0.07f, 3), "y");
        else
            this->output("sum");
        return *this;
    }
};

TYPED_TEST(QdqUnsigned, ProductAndSumAreAGemmWhereTheSumBroadcastsInOneDirection) {
    using net_of = sum_of_product<TypeParam>;
    const auto with = [](const b::dims &x, const b::dims &c, bool is_quantized = false) {
        net_of m(x);
        return operators(m.add(m.c(c), is_quantized));
    };
    const std::string gemm = "DequantizeLinear DequantizeLinear Gemm", sum = "MatMulIntegerToFloat Add";
    for (const b::dims &c : {b::dims{5}, {1, 5}, {3, 5}, {3, 1}})
        EXPECT_EQ(with({3, 8}, c), gemm) << c.size();
    for (const b::dims &c : {b::dims{}, {1}, {1, 1}, {1, 1, 5}})
        EXPECT_EQ(with({3, 8}, c), sum) << c.size();
    EXPECT_EQ(with({2, 3, 8}, {5}), "DequantizeLinear Reshape DequantizeLinear Gemm Reshape");
    EXPECT_EQ(with({2, 3, 8}, {1, 5}), sum);
    EXPECT_EQ(with({-1, 3, 8}, {5}), sum); // the file does not say how many rows
    EXPECT_EQ(with({-1, 8}, {5}), gemm);
    EXPECT_EQ(with({3, 8}, {5}, true), "QGemm");
    EXPECT_EQ(with({2, 3, 8}, {5}, true), "Reshape QGemm Reshape");
    EXPECT_EQ(with({3, 8}, {1, 5}, true), gemm + " QuantizeLinear");
    net_of m({2, 3, 8});
    EXPECT_EQ(operators(m.add(m.c_codes(), false)), "Reshape QGemm Reshape");
}

TYPED_TEST(Qdq, GemmsOfMoreDimensionsHaveTheBytesOfMatrices) {
    for (const bool is_quantized : {false, true})
        for (const bool has_codes : {false, true}) {
            sum_of_product<TypeParam> more({2, 3, 8}), matrix({6, 8});
            for (auto *m : {&more, &matrix})
                m->add(has_codes ? m->c_codes() : m->c({5}), is_quantized);
            EXPECT_EQ(run(more), run(matrix));
        }
}

// ---- Biases of floats that ONNX Runtime rounds, although floats go on

TYPED_TEST(Qdq, BiasesAreRoundedInFrontOfAQuantizationAlsoOnFloats) {
    const std::vector<float> real = {.11f, -.27f, .333f, 1.01f, -2.2f, .0777f};
    const auto convolution = [&](const std::vector<float> &bias, bool is_quantized) {
        qdq_builder<TypeParam> m;
        const b::names x = m.code_input(image),
                       w = add_weights(m, {bias_kind::floats, weights_kind::per_tensor});
        m.dequantize(x, "x_real");
        m.dequantize(w, "w_real");
        m.template constant<float>("bias", {6}, bias);
        m.node("Conv", {"x_real", "w_real", "bias"}, {"y_real"});
        m.output("y_real");
        if (is_quantized)
            m.quantize("y_real", m.parameters("y", 0.03f, 7), "y");
        return m;
    };
    std::vector<float> rounded;
    const float scale = 0.02f * 0.0078125f;
    for (const float v : real)
        rounded.push_back(std::nearbyint(v / scale) * scale);
    EXPECT_EQ(operators(convolution(real, true)),
              "DequantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear");
    EXPECT_EQ(run(convolution(real, true)), run(convolution(rounded, false)));
    EXPECT_NE(run(convolution(real, true)), run(convolution(real, false)));
}

TYPED_TEST(Qdq, OnlyOneDimensionOfFloatsIsRoundedForAGemm) {
    for (const b::dims &c : {b::dims{5}, {1, 5}, {3, 1}, {}}) {
        sum_of_product<TypeParam> m({3, 8});
        m.node("Gemm", {"x_real", "b_real", m.c(c)}, {"sum"});
        m.quantize("sum", m.parameters("y", 0.07f, 3), "y");
        EXPECT_EQ(operators(m),
                  c.size() == 1 ? "QGemm" : "DequantizeLinear DequantizeLinear Gemm QuantizeLinear");
    }
}

// ---- Operators between that only move elements.

TYPED_TEST(Qdq, CodesMoveInsteadOfFloats) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({1, 4, 3, 3}), "x_real");
    m.template constant<std::int64_t>("pads", {8}, {0, 0, 1, 0, 0, 0, 0, 2});
    m.template scalar<float>("zero", 0.f);
    m.node("Pad", {"x_real", "pads", "zero"}, {"padded"});
    b::set(m.node("Transpose", {"padded"}, {"turned"}), "perm", b::dims{0, 2, 3, 1});
    m.node("Flatten", {"turned"}, {"flat"});
    m.quantize("flat", {"x_scale", "x_zp"}, "y");
    EXPECT_EQ(joined_operators(m), "Pad Transpose Flatten");
    const bytes y = run(m);
    ASSERT_EQ(y.size(), 4u * 4 * 5);
    EXPECT_EQ(y[0], 5); // padding: the zero point
    EXPECT_EQ(y[5 * 4 + 1],
              static_cast<std::uint8_t>(9 * 89 + 9 / 7)); // channel 1, pixel 0 under the padded row
}

TYPED_TEST(QdqUnsigned, QuantizationMovesUpToTheOperatorThatComputes) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({1, 2, 3, 3}), "x_real");
    m.node("LeakyRelu", {"x_real"}, {"y_real"});
    b::set(m.node("Transpose", {"y_real"}, {"turned"}), "perm", b::dims{0, 2, 3, 1});
    m.quantize("turned", m.parameters("y", 0.03f, 4), "y");
    EXPECT_EQ(operators(m), "QLinearLeakyRelu Transpose");
}

TYPED_TEST(QdqUnsigned, SharedFloatsServeEveryReader) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({2, 3}), "x_real");
    const b::names y = m.parameters("y", 0.05f, 1);
    m.node("Sigmoid", {"x_real"}, {"s_real"});
    m.node("QuantizeLinear", {"s_real", y[0], y[1]}, {"s"});
    m.dequantize({"s", y[0], y[1]}, "s_again");
    m.node("Add", {"s_again", "x_real"}, {"sum"});
    m.quantize("sum", y, "y");
    m.output("x_real"); // a reader that wants the floats
    EXPECT_EQ(operators(m), "DequantizeLinear QLinearSigmoid QLinearAdd");
}

} // namespace
} // namespace octet::tests
