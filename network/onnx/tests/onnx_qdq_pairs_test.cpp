// ONNX Runtime's treatment of single DequantizeLinear and QuantizeLinear: activations of s8 become u8, two
// pairs in a row become one, and some nodes stay on floats. The operators that remain are compared by name,
// and bytes with those of the same network written otherwise.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/onnx/tests/qdq_builder.hpp"

namespace octet::tests {
namespace {

template <typename Code> struct QdqCodes : testing::Test {};
using code_types = testing::Types<std::uint8_t, std::int8_t>;
TYPED_TEST_SUITE(QdqCodes, code_types);

// ---- Activations in s8 that ONNX Runtime turns into u8.

/// Floats in, an average and a sum on codes, floats out.
template <typename Code> qdq_builder<Code> between_floats(bool sum_reads_twice) {
    qdq_builder<Code> m;
    const auto pair = [&](const std::string &from, const std::string &name, float scale, int distance) {
        const b::names q = m.parameters(name, scale, lowest<Code> + distance);
        m.node("QuantizeLinear", {from, q[0], q[1]}, {name});
        return m.dequantize({name, q[0], q[1]}, name + "_real");
    };
    m.template input<float>("in", {2, 4, 6, 6});
    onnx::NodeProto &pool = m.node("AveragePool", {pair("in", "x", 0.02f, 130)}, {"mean"});
    b::set(pool, "kernel_shape", b::dims{2, 2});
    const std::string mean = pair("mean", "m", 0.017f, 120);
    const std::string other = sum_reads_twice ? mean : pair("in2", "x2", 0.03f, 117);
    if (!sum_reads_twice)
        m.template input<float>("in2", {2, 4, 5, 5});
    m.node("Add", {mean, other}, {"sum"});
    m.output(pair("sum", "y", 0.041f, 131));
    return m;
}

std::vector<float> run_on_floats(const onnx_builder &m) {
    network net(read(m));
    for (const int t : net.get_graph().inputs) {
        const memory x = net.get_memory(t);
        for (std::size_t i = 0; i < x.get_desc().get_size() / sizeof(float); i++)
            x.map_data<float>()[i] = static_cast<float>(i * 89 % 509) * 0.01f - 2.5f;
    }
    net.run();
    const memory y = net.get_memory(net.get_graph().outputs.at(0));
    return {y.map_data<float>(), y.map_data<float>() + y.get_desc().get_size() / sizeof(float)};
}

TEST(QdqSigned, ActivationsWithOneReaderBecomeUnsigned) {
    EXPECT_EQ(run_on_floats(between_floats<std::int8_t>(false)),
              run_on_floats(between_floats<std::uint8_t>(false)));
    model::graph g = read(between_floats<std::int8_t>(false));
    model::transform_as_onnx_runtime(g, model::evaluate);
    for (const model::node &n : g.nodes)
        for (const int t : n.outputs)
            EXPECT_NE(g.tensors[static_cast<std::size_t>(t)].type, data_type::s8) << n.op;
}

/// Each pair is decided by itself: codes that two read stay signed, and what is between them and others on floats.
TEST(QdqSigned, AnotherReaderKeepsOnePairSigned) {
    model::graph g = read(between_floats<std::int8_t>(true));
    model::transform_as_onnx_runtime(g, model::evaluate);
    int signed_tensors = 0, unsigned_tensors = 0;
    for (const model::node &n : g.nodes)
        for (const int t : n.outputs) {
            signed_tensors += g.tensors[static_cast<std::size_t>(t)].type == data_type::s8;
            unsigned_tensors += g.tensors[static_cast<std::size_t>(t)].type == data_type::u8;
        }
    EXPECT_EQ(signed_tensors, 1);
    EXPECT_GT(unsigned_tensors, 0);
}

// ---- Two pairs in a row, which ONNX Runtime makes one.

struct pair_of_test {
    float scale;
    int distance; ///< distance of the zero point from the lowest code
};

/// Floats through pairs, with `between` behind each but the last.
template <typename Code>
qdq_builder<Code> pairs_in_a_row(const std::vector<pair_of_test> &pairs, const char *between = nullptr) {
    qdq_builder<Code> m;
    m.template input<float>("in", {4, 120});
    std::string real = "in";
    for (std::size_t i = 0; i < pairs.size(); i++) {
        const std::string name = "x" + std::to_string(i);
        const b::names q = m.parameters(name, pairs[i].scale, lowest<Code> + pairs[i].distance);
        m.node("QuantizeLinear", {real, q[0], q[1]}, {name});
        real = m.dequantize({name, q[0], q[1]}, name + "_real");
        if (between && i + 1 < pairs.size()) {
            m.node(between, {real}, {name + "_same"});
            real = name + "_same";
        }
    }
    m.output(real);
    return m;
}

TYPED_TEST(QdqCodes, TwoPairsInARowRoundOnce) {
    // From -1.28 to 1.27 and from -0.4 to 4.7: from -0.4 to 1.27. ONNX Runtime writes these numbers into its graph.
    const pair_of_test wide{0.01f, 128}, high{0.02f, 20}, both{0.0065490194f, 61};
    const std::vector<float> expected = run_on_floats(pairs_in_a_row<TypeParam>({both}));
    for (const char *between : {static_cast<const char *>(nullptr), "Identity", "Dropout"}) {
        const auto m = pairs_in_a_row<TypeParam>({wide, high}, between);
        EXPECT_EQ(operators(m), "QuantizeLinear DequantizeLinear");
        EXPECT_EQ(run_on_floats(m), expected);
    }
    EXPECT_EQ(run_on_floats(pairs_in_a_row<TypeParam>({wide, wide, high})), expected);
}

TEST(QdqPairs, StayWhereOneReaderMore) {
    const auto m = [](const std::string &output) {
        auto result = pairs_in_a_row<std::uint8_t>({{0.01f, 128}, {0.02f, 20}});
        result.output(output);
        return operators(result);
    };
    const std::string both = "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear";
    for (const char *output : {"x0", "x1"})
        EXPECT_EQ(m(output), both) << output;
    EXPECT_EQ(m("x0_real"), // the reader has a DequantizeLinear of its own
              "QuantizeLinear DequantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear");
}

TEST(QdqPairs, StayWhereTypesDiffer) {
    const std::string both = "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear";
    onnx_builder m;
    m.input<float>("in", {2, 3});
    m.scalar<float>("scale", 0.02f);
    m.scalar<std::uint8_t>("u8", 100);
    m.scalar<std::int8_t>("s8", 3);
    m.node("QuantizeLinear", {"in", "scale", "u8"}, {"x"});
    m.node("DequantizeLinear", {"x", "scale", "u8"}, {"x_real"});
    m.node("QuantizeLinear", {"x_real", "scale", "s8"}, {"y"});
    m.node("DequantizeLinear", {"y", "scale", "s8"}, {"y_real"});
    m.output("y_real");
    EXPECT_EQ(operators(m), both);
}

TEST(QdqPairs, AllReadersOfTheSecondFollow) {
    auto m = pairs_in_a_row<std::uint8_t>({{0.01f, 128}, {0.02f, 20}});
    m.node("DequantizeLinear", {"x1", "x1_scale", "x1_zp"}, {"again"});
    m.output("again");
    EXPECT_EQ(operators(m), "QuantizeLinear DequantizeLinear DequantizeLinear");
    m.scalar<std::uint8_t>("other_zp", 21);
    m.node("DequantizeLinear", {"x1", "x1_scale", "other_zp"}, {"shifted"});
    m.output("shifted");
    EXPECT_EQ(
        operators(m),
        "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear");
}

// ---- An operator on codes whose products overflow.

TEST(QdqSoftmax, RowsOfOneCodeOverflowAsOnnxRuntimes) {
    for (const int zero_point : {-128, -1, 0, 100}) {
        qdq_builder<std::int8_t> m;
        m.code_input({3, 1});
        const b::names y = m.parameters("y", 1.f / 256, zero_point);
        auto &n = m.node("QLinearSoftmax", {"x", "x_scale", "x_zp", y[0], y[1]}, {"y"}, b::microsoft);
        b::set(n, "axis", std::int64_t{-1});
        b::set(n, "opset", std::int64_t{13});
        m.output("y");
        EXPECT_EQ(run(m), bytes(3, zero_point < 0 ? 127 : 128)) << zero_point; // 128: -128
    }
}

// ---- What ONNX Runtime leaves in floats.

TYPED_TEST(QdqCodes, ALimitInsideTheRangeStays) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({2, 3}), "x_real");
    m.node("Sigmoid", {"x_real"}, {"s"});
    m.node("Relu", {"s"}, {"r"});
    m.quantize("r", m.parameters("y", 0.05f, lowest<TypeParam> + 1), "y");
    EXPECT_EQ(operators(m), "DequantizeLinear Sigmoid Relu QuantizeLinear");
}

TYPED_TEST(QdqCodes, TwoQuantizationsOfOneTensorStay) {
    qdq_builder<TypeParam> m;
    m.dequantize(m.code_input({2, 3}), "x_real");
    m.node("Sigmoid", {"x_real"}, {"s"});
    m.quantize("s", m.parameters("y", 0.05f, 1), "y");
    m.quantize("s", m.parameters("z", 0.06f, 1), "z");
    EXPECT_EQ(operators(m), "DequantizeLinear Sigmoid QuantizeLinear QuantizeLinear");
}

TEST(QdqRefuses, MixedTypesStay) {
    qdq_builder<std::uint8_t> m;
    m.dequantize(m.code_input({2, 3}), "x_real");
    m.node("Sigmoid", {"x_real"}, {"s"});
    m.scalar<float>("s_scale", 0.5f), m.scalar<std::int8_t>("s_zp", 3);
    m.quantize("s", {"s_scale", "s_zp"}, "y");
    EXPECT_EQ(operators(m), "DequantizeLinear Sigmoid QuantizeLinear");
}

/// Operators that stay on floats run as they are.
TEST(QdqRefuses, FloatWeightsStayFloats) {
    qdq_builder<std::uint8_t> m;
    m.dequantize(m.code_input({1, 2, 2, 2}, 0.5f, 5), "x_real");
    m.constant<float>("w", {1, 2, 1, 1}, {2.f, -3.f});
    m.node("Conv", {"x_real", "w"}, {"y"});
    m.output("y");
    EXPECT_EQ(operators(m), "DequantizeLinear Conv");
    network net(read(m));
    net.input().copy_from(std::vector<std::uint8_t>{5, 7, 9, 0, 5, 6, 255, 1});
    net.run();
    EXPECT_EQ(net.output().as<float>(), (std::vector<float>{0.f, 0.5f, -371.f, 1.f}));
}

/// Weights of floats in front of a QuantizeLinear become codes from -128 to 127 of their range, as ONNX
/// Runtime 1.30 has it: 1.5 / 255 is the scale here, -43 the zero point, and 0.302 becomes 51 of them, 0.3.
TEST(QdqWeights, OfFloatsAreQuantizedInFrontOfAQuantizer) {
    for (const bool has_constant_bias : {true, false}) { // ONNX Runtime leaves weights beside a computed one
        qdq_builder<std::uint8_t> m;
        m.dequantize(m.code_input({1, 3}, 0.5f, 5), "x_real");
        m.constant<float>("w", {3, 1}, {1.f, -0.5f, 0.302f});
        m.constant<float>("constant", {1}, {0.f});
        m.node("ReduceMin", {"x_real"}, {"computed"});
        m.node("Gemm", {"x_real", "w", has_constant_bias ? "constant" : "computed"}, {"product"});
        m.quantize("product", m.parameters("y", 0.02f, 0), "y");
        EXPECT_EQ(operators(m).find("QGemm") != std::string::npos, has_constant_bias) << operators(m);
        network net(read(m));
        net.input().copy_from(std::vector<std::uint8_t>{5, 5, 25});
        net.run();
        EXPECT_EQ(net.output().as<std::uint8_t>().at(0), has_constant_bias ? 150 : 151);
    }
}

/// QGemm's alpha scales the bias as well, Gemm's does not.
TEST(QdqRefuses, GemmWithAlphaAndBiasStaysOnFloats) {
    for (const bool has_bias : {false, true}) {
        qdq_builder<std::uint8_t> m;
        m.dequantize(m.code_input({1, 2}, 0.5f, 5), "x_real");
        m.constant<std::int8_t>("w", {2, 1}, {4, -3}), m.scalar<float>("w_scale", 0.25f);
        m.scalar<std::int8_t>("w_zp", 0);
        m.node("DequantizeLinear", {"w", "w_scale", "w_zp"}, {"w_real"});
        m.constant<std::int32_t>("c", {1}, {160}), m.scalar<float>("c_scale", 0.125f);
        m.node("DequantizeLinear", {"c", "c_scale"}, {"c_real"});
        b::names inputs{"x_real", "w_real"};
        if (has_bias)
            inputs.push_back("c_real");
        b::set(m.node("Gemm", inputs, {"product"}), "alpha", 0.5f);
        m.quantize("product", m.parameters("y", 0.5f, 3), "y");
        EXPECT_EQ(operators(m).find("QGemm") == std::string::npos, has_bias) << operators(m);
        network net(read(m));
        net.input().copy_from(std::vector<std::uint8_t>{25, 1});
        net.run();
        // 0.5 (10 * 1 + -2 * -0.75) = 5.75, and 20: 11.5 and 51.5 halves, to even, plus 3
        EXPECT_EQ(net.output().as<std::uint8_t>().at(0), has_bias ? 55 : 15);
    }
}

/// From operator set 21 on the codes' type may be an attribute.
TEST(QdqTypes, AttributeInsteadOfZeroPoint) {
    constexpr std::int64_t uint8 = 2, int8 = 3, int16 = 5;
    const auto quantizer = [](std::int64_t type, int zero_point) {
        onnx_builder m(21);
        m.input<float>("x", {4});
        m.scalar<float>("scale", 0.5f), m.scalar<std::uint8_t>("zp", 7);
        b::set(m.node("QuantizeLinear", zero_point ? b::names{"x", "scale", "zp"} : b::names{"x", "scale"},
                      {"y"}),
               "output_dtype", type);
        m.node("DequantizeLinear", {"y", "scale"}, {"real"});
        m.output("real");
        return m;
    };
    const auto run = [](const onnx_builder &m) {
        network net(read(m));
        net.input().copy_from(std::vector<float>{-100.f, -1.f, 1.f, 100.f});
        net.run();
        return net.output().as<float>();
    };
    EXPECT_EQ(run(quantizer(int8, 0)), (std::vector<float>{-64.f, -1.f, 1.f, 63.5f}));
    EXPECT_EQ(run(quantizer(uint8, 0)), (std::vector<float>{0.f, 0.f, 1.f, 100.f}));
    EXPECT_EQ(run(quantizer(uint8, 7)).at(1), 2.5f);
    for (const auto &m : {quantizer(int8, 7), quantizer(int16, 0)})
        EXPECT_THROW(read(m), error);
}

/// A pass moves, joins and inserts nodes, and the reader drops constants; the file's numbers stay.
TEST(QdqNodes, KeepTheNumbersOfTheFile) {
    qdq_builder<std::uint8_t> m;
    auto &constant = m.node("Constant", {}, {"unused"});
    onnx::TensorProto &value = *b::attribute(constant, "value", onnx::AttributeProto::TENSOR).mutable_t();
    value.set_data_type(onnx::TensorProto::FLOAT);
    value.add_float_data(1);
    m.dequantize(m.code_input({2, 3}), "x_real"); // 1
    m.node("Sigmoid", {"x_real"}, {"s"});         // 2
    m.quantize("s", m.parameters("s", 0.01f, 3), "y");
    const network net(read(m));
    ASSERT_EQ(net.get_graph().nodes.size(), 1u);
    EXPECT_EQ(model::node_text(net.get_graph(), 0), "node 2 (QLinearSigmoid)");
}

} // namespace
} // namespace octet::tests
