// Networks of one or a few nodes against bytes computed by hand, and every way in which a node can be
// refused.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "network/tflite/tests/tflite_builder.hpp"
#include "octet/contract.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using bytes = std::vector<std::uint8_t>;
using codes = std::vector<std::int8_t>;
using format::BuiltinOperator;
constexpr auto NONE = format::ActivationFunctionType_NONE, RELU = format::ActivationFunctionType_RELU;
constexpr auto RELU6 = format::ActivationFunctionType_RELU6;
constexpr auto SAME = format::Padding_SAME, VALID = format::Padding_VALID;

model::graph read(const bytes &b) { return model::read_tflite(b.data(), b.size(), "net.tflite"); }

template <typename T> std::vector<T> contents(const memory &m) {
    const T *data = m.map_data<T>();
    return {data, data + m.get_desc().get_size() / sizeof(T)};
}

/// Runs on `inputs` and returns the first output. Twice: a second run must not see traces of the first.
template <typename Out, typename In>
std::vector<Out> run(const bytes &file, const std::vector<std::vector<In>> &inputs,
                     const network_options &options = {}) {
    network net(read(file), options);
    std::vector<Out> results[2];
    for (auto &result : results) {
        for (std::size_t i = 0; i < inputs.size(); i++) {
            const memory m = net.get_memory(net.get_graph().inputs.at(i));
            EXPECT_EQ(m.get_desc().get_size(), inputs[i].size() * sizeof(In));
            std::memcpy(m.get_data_handle(), inputs[i].data(), m.get_desc().get_size());
        }
        net.run();
        result = contents<Out>(net.get_memory(net.get_graph().outputs.at(0)));
    }
    EXPECT_EQ(results[0], results[1]);
    return results[0];
}
codes run_s8(const bytes &file, const std::vector<codes> &inputs, const network_options &options = {}) {
    return run<std::int8_t>(file, inputs, options);
}

std::string refusal(const bytes &file, const network_options &options = {}) {
    try {
        const network net(read(file), options);
    } catch (const error &e) {
        return e.what();
    }
    return "";
}

#define EXPECT_REFUSAL(file, fragment)                                                                       \
    do {                                                                                                     \
        const std::string text = refusal(file);                                                              \
        EXPECT_EQ(text.rfind("node 0 (", 0), 0u) << "got: " << text;                                         \
        EXPECT_NE(text.find(fragment), std::string::npos) << "got: " << text;                                \
    } while (false)

const tflite_builder::quantization unit{{1.f}, {0}, 0};

// ---- Convolutions: src - zp is 2 … 10 in a 3x3 image, the 2x2 filter 1 -1 / 2 3; accumulators 27 32 /
// 42 47.

struct conv_case {
    format::Padding padding = VALID;
    int stride = 1;
    format::ActivationFunctionType activation = NONE;
    int dst_zero_point = -10;
    tflite_builder::dims dst = {1, 2, 2, 1};
};

bytes conv_2x2(const conv_case &c) {
    tflite_builder b;
    const int in = b.s8({1, 3, 3, 1}, 0.5f, -1), out = b.s8(c.dst, 0.25f, c.dst_zero_point);
    const int filter = b.constant_s8({1, 2, 2, 1}, {1, -1, 2, 3}, {{0.25f}, {0}, 0}),
              bias = b.constant_s32({1}, {3});
    b.node(format::BuiltinOperator_CONV_2D, {in, filter, bias}, {out},
           format::CreateConv2DOptions(b.fbb, c.padding, c.stride, c.stride, c.activation));
    return b.finish({in}, {out});
}
const codes image = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(Network, Conv2D) { // M = 1/2: 15, 17.5, 22.5, 25; ties up
    EXPECT_EQ(run_s8(conv_2x2({}), {image}), (codes{5, 8, 13, 15}));
}
TEST(Network, Conv2DRelu6) { // 6 is code -10 + 24
    EXPECT_EQ(run_s8(conv_2x2({VALID, 1, RELU6}), {image}), (codes{5, 8, 13, 14}));
}
TEST(Network, Conv2DSamePutsTheOddRowAtTheEnd) { // 30, 21, 2, 13 halved
    EXPECT_EQ(run_s8(conv_2x2({SAME, 2}), {image}), (codes{5, 1, -9, -3}));
}

TEST(Network, Conv2DInGroups) {
    tflite_builder b;
    const int in = b.s8({1, 1, 1, 4}, 1.f, 0), out = b.s8({1, 1, 1, 4}, 1.f, 0);
    const int filter =
        b.constant_s8({4, 1, 1, 2}, {1, 0, 0, 1, 1, 1, 1, -1}, {{1.f, 2.f, 1.f, 2.f}, {0, 0, 0, 0}, 0});
    b.node(format::BuiltinOperator_CONV_2D, {in, filter}, {out},
           format::CreateConv2DOptions(b.fbb, VALID, 1, 1));
    EXPECT_EQ(run_s8(b.finish({in}, {out}), {{1, 2, 3, 4}}), (codes{1, 4, 7, -2}));
}

TEST(Network, DepthwiseWithMultiplierTwo) {
    tflite_builder b;
    const int in = b.s8({1, 1, 1, 2}, 1.f, 2), out = b.s8({1, 1, 1, 4}, 1.f, 0);
    const int filter = b.constant_s8({1, 1, 1, 4}, {1, 2, 3, 4}, {{1.f, 1.f, .5f, .5f}, {0, 0, 0, 0}, 3});
    b.node(format::BuiltinOperator_DEPTHWISE_CONV_2D, {in, filter, -1}, {out},
           format::CreateDepthwiseConv2DOptions(b.fbb, VALID, 1, 1, 2, RELU));
    EXPECT_EQ(run_s8(b.finish({in}, {out}), {{5, 0}}), (codes{3, 6, 0, 0}));
    EXPECT_EQ(run_s8(b.finish({in}, {out}), {{0, 6}}), (codes{0, 0, 6, 8}));
}

bytes fully_connected(const tflite_builder::quantization &weights) {
    tflite_builder b;
    const int in = b.s8({1, 2, 1, 2}, 1.f, 1), out = b.s8({2, 2}, 1.f, -3),
              bias = b.constant_s32({2}, {10, -10});
    b.node(format::BuiltinOperator_FULLY_CONNECTED, {in, b.constant_s8({2, 2}, {1, 2, 3, 4}, weights), bias},
           {out}, format::CreateFullyConnectedOptions(b.fbb));
    return b.finish({in}, {out});
}

TEST(Network, FullyConnected) { // rows 2 3 and 4 5: 8 18 / 14 32, with bias 18 8 / 24 22
    EXPECT_EQ(run_s8(fully_connected({{1.f}, {0}, 0}), {{3, 4, 5, 6}}), (codes{15, 5, 21, 19}));
    EXPECT_EQ(run_s8(fully_connected({{1.f, .5f}, {0, 0}, 0}), {{3, 4, 5, 6}}), (codes{15, 1, 21, 8}));
}

TEST(Network, BatchMatmulTransposed) {
    tflite_builder b;
    const int x = b.s8({2, 1, 2}, 1.f, 1), y = b.s8({1, 3, 2}, 1.f, -1), out = b.s8({2, 1, 3}, 1.f, 0);
    b.node(format::BuiltinOperator_BATCH_MATMUL, {x, y}, {out},
           format::CreateBatchMatMulOptions(b.fbb, false, true));
    EXPECT_EQ(run_s8(b.finish({x, y}, {out}), {{2, 3, 0, 1}, {0, 0, 1, 2, -1, 4}}),
              (codes{3, 8, 10, -1, -2, 0}));
}

// ---- Single codes.

template <typename Options>
bytes unary(BuiltinOperator op, const tflite_builder::dims &src, const tflite_builder::dims &dst,
            Options options(tflite_builder &)) {
    tflite_builder b;
    const int in = b.s8(src, 1.f, 0), out = b.s8(dst, 1.f, 0);
    b.node(op, {in}, {out}, options(b));
    return b.finish({in}, {out});
}
auto pool_2x2(tflite_builder &b) { return format::CreatePool2DOptions(b.fbb, VALID, 2, 2, 2, 2, NONE); }
auto pool_2x2_relu(tflite_builder &b) { return format::CreatePool2DOptions(b.fbb, VALID, 2, 2, 2, 2, RELU); }
auto pool_3x3_same(tflite_builder &b) { return format::CreatePool2DOptions(b.fbb, SAME, 1, 1, 3, 3, NONE); }

TEST(Network, Pooling) {
    const auto average = format::BuiltinOperator_AVERAGE_POOL_2D, max = format::BuiltinOperator_MAX_POOL_2D;
    EXPECT_EQ(run_s8(unary(average, {1, 2, 4, 1}, {1, 1, 2, 1}, pool_2x2), {{1, 2, -1, -2, 3, 5, -3, -4}}),
              (codes{3, -3}));
    EXPECT_EQ(
        run_s8(unary(average, {1, 2, 4, 1}, {1, 1, 2, 1}, pool_2x2_relu), {{1, 2, -1, -2, 3, 5, -3, -4}}),
        (codes{3, 0}));
    EXPECT_EQ(run_s8(unary(max, {1, 2, 4, 1}, {1, 1, 2, 1}, pool_2x2), {{1, 2, -1, -2, 3, 5, -3, -4}}),
              (codes{5, -1}));
    EXPECT_EQ(run_s8(unary(average, {1, 2, 2, 1}, {1, 2, 2, 1}, pool_3x3_same), {{1, 2, 3, 4}}),
              (codes{3, 3, 3, 3}));
}

bytes mean(const tflite_builder::dims &src, const tflite_builder::dims &dst,
           const std::vector<std::int32_t> &axes, bool keep_dims) {
    tflite_builder b;
    const int in = b.s8(src, 1.f, 0), out = b.s8(dst, 1.f, 1),
              axis = b.constant_s32({static_cast<int>(axes.size())}, axes);
    b.node(format::BuiltinOperator_MEAN, {in, axis}, {out}, format::CreateReducerOptions(b.fbb, keep_dims));
    return b.finish({in}, {out});
}

TEST(Network, MeanOverAnyAxes) { // ties away from zero, then the zero point 1
    EXPECT_EQ(run_s8(mean({1, 2, 2, 2}, {1, 1, 1, 2}, {1, 2}, true), {{1, -1, 2, -2, 3, -3, 4, -4}}),
              (codes{4, -2}));
    EXPECT_EQ(run_s8(mean({2, 2, 2}, {2, 2}, {-1}, false), {{1, 3, 5, 7, 9, 11, 13, 15}}),
              (codes{3, 7, 11, 15}));
    EXPECT_EQ(run_s8(mean({2, 3}, {3}, {0}, false), {{1, 2, 3, 5, 6, 7}}), (codes{4, 5, 6}));
    EXPECT_EQ(run_s8(mean({2, 1, 2, 2}, {1, 1, 1, 1}, {0, 1, 2, 3}, true), {{1, 2, 3, 4, 5, 6, 7, 8}}),
              (codes{6}));
    EXPECT_EQ(run_s8(mean({2, 2, 2, 2}, {2, 2}, {0, 2}, false),
                     {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}),
              (codes{6, 7, 10, 11}));
}

TEST(Network, AddBroadcasts) {
    tflite_builder b;
    const int x = b.s8({1, 2, 2}, 1.f, 3), y = b.s8({2}, 1.f, -1), out = b.s8({1, 2, 2}, 1.f, -5);
    b.node(format::BuiltinOperator_ADD, {x, y}, {out}, format::CreateAddOptions(b.fbb, RELU));
    EXPECT_EQ(run_s8(b.finish({x, y}, {out}), {{4, 5, 6, -30}, {9, 19}}), (codes{6, 17, 8, -5}));
}

TEST(Network, SoftmaxOfEqualCodesIsUniform) {
    tflite_builder b;
    const int in = b.s8({2, 4}, 0.1f, 7), out = b.s8({2, 4}, 1.f / 256, -128);
    b.node(format::BuiltinOperator_SOFTMAX, {in}, {out}, format::CreateSoftmaxOptions(b.fbb, 1.f));
    EXPECT_EQ(run_s8(b.finish({in}, {out}), {{5, 5, 5, 5, 127, -128, -128, -128}}),
              (codes{-64, -64, -64, -64, 127, -128, -128, -128}));
}

TEST(Network, QuantizeAndDequantize) {
    tflite_builder b;
    const int in = b.tensor({7}, format::TensorType_FLOAT32), mid = b.s8({7}, 1.f, 1),
              half = b.s8({7}, .5f, -1);
    const int out = b.tensor({7}, format::TensorType_FLOAT32);
    b.node(format::BuiltinOperator_QUANTIZE, {in}, {mid}, format::CreateQuantizeOptions(b.fbb));
    b.node(format::BuiltinOperator_QUANTIZE, {mid}, {half});
    b.node(format::BuiltinOperator_DEQUANTIZE, {half}, {out});
    const std::vector<float> x = {0.f, .5f, -.5f, 2.5f, -2.5f, 300.f, -300.f};
    EXPECT_EQ(run<std::int8_t>(b.finish({in}, {mid}), std::vector<std::vector<float>>{x}),
              (codes{1, 2, 0, 4, -2, 127, -128}));
    EXPECT_EQ(run<float>(b.finish({in}, {out}), std::vector<std::vector<float>>{x}),
              (std::vector<float>{0.f, 1.f, -1.f, 3.f, -3.f, 64.f, -63.5f}));
}

// ---- Moving codes.

bytes pad(BuiltinOperator op) {
    tflite_builder b;
    const int in = b.s8({2, 1}, 1.f, -7), out = b.s8({3, 4}, 1.f, -7),
              paddings = b.constant_s32({2, 2}, {1, 0, 1, 2});
    std::vector<int> inputs = {in, paddings};
    if (op == format::BuiltinOperator_PADV2)
        inputs.push_back(b.constant_s8({1}, {9}, {{1.f}, {-7}, 0}));
    b.node(op, inputs, {out});
    return b.finish({in}, {out});
}

TEST(Network, Pad) {
    EXPECT_EQ(run_s8(pad(format::BuiltinOperator_PAD), {{1, 2}}),
              (codes{-7, -7, -7, -7, -7, 1, -7, -7, -7, 2, -7, -7}));
    EXPECT_EQ(run_s8(pad(format::BuiltinOperator_PADV2), {{1, 2}}),
              (codes{9, 9, 9, 9, 9, 1, 9, 9, 9, 2, 9, 9}));
}

TEST(Network, PadKeepsLargeIntegersAndFloats) {
    tflite_builder b;
    const int in = b.tensor({1}, format::TensorType_INT32), out = b.tensor({2}, format::TensorType_INT32);
    b.node(format::BuiltinOperator_PAD, {in, b.constant_s32({1, 2}, {0, 1})}, {out});
    using s32 = std::vector<std::int32_t>;
    EXPECT_EQ(run<std::int32_t>(b.finish({in}, {out}), std::vector<s32>{{2147483647}}), (s32{2147483647, 0}));
}

TEST(Network, Transpose) {
    tflite_builder b;
    const int in = b.s8({2, 1, 3}, 1.f, 0), out = b.s8({3, 2, 1}, 1.f, 0);
    b.node(format::BuiltinOperator_TRANSPOSE, {in, b.constant_s32({3}, {2, 0, 1})}, {out});
    EXPECT_EQ(run_s8(b.finish({in}, {out}), {{1, 2, 3, 4, 5, 6}}), (codes{1, 4, 2, 5, 3, 6}));
}

TEST(Network, Concatenation) {
    tflite_builder b;
    const int x = b.s8({2, 1}, 1.f, 5), y = b.s8({2, 2}, 1.f, 5), out = b.s8({2, 3}, 1.f, 5);
    b.node(format::BuiltinOperator_CONCATENATION, {x, y}, {out},
           format::CreateConcatenationOptions(b.fbb, -1));
    EXPECT_EQ(run_s8(b.finish({x, y}, {out}), {{1, 2}, {3, 4, 5, 6}}), (codes{1, 3, 4, 2, 5, 6}));
}

TEST(Network, ReshapesAreViews) {
    tflite_builder b;
    const int in = b.s8({1, 4}, 1.f, 0), square = b.s8({2, 2}, 1.f, 0), deep = b.s8({1, 2, 2}, 1.f, 0),
              out = b.s8({2, 2}, 1.f, 0);
    b.node(format::BuiltinOperator_RESHAPE, {in, b.constant_s32({2}, {2, -1})}, {square});
    b.node(format::BuiltinOperator_EXPAND_DIMS, {square, b.constant_s32({}, {0})}, {deep});
    b.node(format::BuiltinOperator_SQUEEZE, {deep}, {out});
    const bytes file = b.finish({in}, {out});
    EXPECT_EQ(run_s8(file, {{1, 2, 3, 4}}), (codes{1, 2, 3, 4}));
    const network net(read(file));
    for (std::size_t i = 0; i < 3; i++)
        EXPECT_EQ(net.implementation(i), "view");
    EXPECT_EQ(net.get_memory(in).get_data_handle(), net.get_memory(out).get_data_handle());
}

TEST(Network, OutputsMayBeInputs) {
    tflite_builder b;
    const int in = b.s8({2}, 1.f, 0);
    EXPECT_EQ(run_s8(b.finish({in}, {in}), {{3, 4}}), (codes{3, 4}));
}

TEST(Network, TellsTheObserverAfterEachNode) {
    network net(read(conv_2x2({})));
    std::vector<std::size_t> nodes;
    net.run([&](std::size_t node, double seconds) {
        nodes.push_back(node);
        EXPECT_GE(seconds, 0);
    });
    EXPECT_EQ(nodes, std::vector<std::size_t>{0});
    const std::string explanation = net.explain(0), implementation = net.implementation(0);
    EXPECT_NE(explanation.find("runs on " + implementation), std::string::npos);
    EXPECT_EQ(explanation.find("plan: tiles of ") != std::string::npos, implementation != "ref")
        << explanation;
}

// ---- Other contracts for the same network.

codes with_rule(requantization_rule rule, const conv_case &c) { return run_s8(conv_2x2(c), {image}, {rule}); }

TEST(NetworkRules,
     F32RulesRoundTiesToEven) { // 17.5 and 22.5; f32 rounds after the zero point, ort_f32 before
    const conv_case c{VALID, 1, RELU6, -9, {1, 2, 2, 1}};
    EXPECT_EQ(with_rule(requantization_rule::f32, c), (codes{6, 8, 14, 15}));
    EXPECT_EQ(with_rule(requantization_rule::f32_v3, c), (codes{6, 8, 14, 15}));
    EXPECT_EQ(with_rule(requantization_rule::ort_f32, c), (codes{6, 9, 13, 15}));
}

TEST(NetworkRules, EveryRuleStaysWithinOneCode) {
    const codes expected = run_s8(conv_2x2({}), {image});
    for (const requantization_rule rule : all_requantization_rules()) {
        if (rule == requantization_rule::none || rule == requantization_rule::ev_rte15)
            continue;
        const codes got = with_rule(rule, {});
        for (std::size_t i = 0; i < expected.size(); i++)
            EXPECT_LE(std::abs(got[i] - expected[i]), 1) << to_string(rule);
    }
}

TEST(NetworkRules, RefuseWhatTheyCannotRepresent) {
    EXPECT_NE(refusal(conv_2x2({}), {requantization_rule::none}).find("node 0 (CONV_2D): rule none"),
              std::string::npos);
    EXPECT_NE(refusal(conv_2x2({}), {requantization_rule::ev_rte15}).find("node 0 (CONV_2D): "),
              std::string::npos); // M = 1/2
}

TEST(NetworkRules, LegacyScaleKeepsTheProductInside32Bits) {
    for (const double real : {0.9, 0.01, 1e-4})
        for (const std::int64_t magnitude : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 20}) {
            const auto m = model::legacy_scale_multiplier(real, magnitude);
            EXPECT_LE(m.multiplier * magnitude, 2147483647);
            EXPECT_LE(m.multiplier, 65535);
            EXPECT_NEAR(std::ldexp(m.multiplier, -m.shift), real, std::ldexp(0.5, -m.shift));
        }
    EXPECT_THROW(model::legacy_scale_multiplier(1e-12, 1), error);
}

// ---- Refusals.

TEST(NetworkRefuses, ConvolutionsThatDoNotFit) {
    EXPECT_REFUSAL(conv_2x2({VALID, 1, NONE, 0, {1, 3, 3, 1}}),
                   "1x3x3x1, but the inputs and attributes give 1x2x2x1");
    EXPECT_REFUSAL(conv_2x2({VALID, 0}), "'stride_h' is 0");
    EXPECT_REFUSAL(conv_2x2({static_cast<format::Padding>(7), 1}),
                   "'padding' is 'PADDING(7)', allowed: SAME, VALID");
    EXPECT_REFUSAL(conv_2x2({VALID, 1, format::ActivationFunctionType_TANH}), "fused activation TANH");
}

/// CONV_2D of a 1x4x4x4 image with the given filter, bias and types.
bytes conv(const tflite_builder::dims &filter, const tflite_builder::quantization &q, int bias_length,
           format::TensorType src_type = format::TensorType_INT8, bool has_options = true) {
    tflite_builder b;
    const int in = b.tensor({1, 4, 4, 4}, src_type, unit), out = b.s8({1, 4, 4, filter[0]}, 1.f, 0);
    std::size_t size = 1;
    for (const int d : filter)
        size *= static_cast<std::size_t>(d);
    const int weights = b.constant_s8(filter, codes(size, 1), q);
    const int bias =
        b.constant_s32({bias_length}, std::vector<std::int32_t>(static_cast<std::size_t>(bias_length)));
    if (has_options)
        b.node(format::BuiltinOperator_CONV_2D, {in, weights, bias}, {out},
               format::CreateConv2DOptions(b.fbb, SAME, 1, 1));
    else
        b.node(format::BuiltinOperator_CONV_2D, {in, weights, bias}, {out});
    return b.finish({in}, {out});
}

TEST(NetworkRefuses, ConvolutionsWithWrongTensors) {
    EXPECT_EQ(refusal(conv({2, 1, 1, 4}, unit, 2)), "");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, unit, 3), "the bias ('t3') has dimensions 3, allowed is 2");
    EXPECT_REFUSAL(conv({2, 1, 1, 3}, unit, 2), "weights 2x1x1x3 do not fit input 1x4x4x4");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, {{1.f, 1.f, 1.f, 1.f}, {}, 3}, 2),
                   "4 scales along dimension 3, allowed are 1 or 2");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, {{1.f, 1.f}, {0, 1}, 0}, 2),
                   "zero point of 1 with one scale per channel");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, {}, 2), "0 scales");
    EXPECT_REFUSAL(
        conv({2, 1, 1, 4}, unit, 2, format::TensorType_FLOAT32),
        "TensorFlow Lite Micro does not quantize within a product; profiles with one: litert-2026.08-x86, ");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, unit, 2, format::TensorType_INT4),
                   "input 0 ('t0') is s4, allowed: s8, u8");
    EXPECT_REFUSAL(conv({2, 1, 1, 4}, unit, 2, format::TensorType_INT8, false),
                   "attribute 'stride_h' is missing");
}

/// One node from s8 tensors of the given dimensions, scale 1, and constants behind them.
bytes generic(BuiltinOperator op, const tflite_builder::dims &src, const tflite_builder::dims &dst,
              const std::vector<std::vector<std::int32_t>> &constants = {}, float dst_scale = 1.f) {
    tflite_builder b;
    std::vector<int> inputs = {b.s8(src, 1.f, 0)};
    const int out = b.s8(dst, dst_scale, 0);
    for (const auto &values : constants)
        inputs.push_back(b.constant_s32({static_cast<int>(values.size())}, values));
    b.node(op, inputs, {out});
    return b.finish({0}, {out});
}

TEST(NetworkRefuses, MalformedNodes) {
    EXPECT_REFUSAL(generic(format::BuiltinOperator_RESHAPE, {2, 3}, {5}),
                   "differ in their number of elements");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_PAD, {0}, {1}, {{0, 1}}), "no elements");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_TRANSPOSE, {2, 3}, {3, 2}, {{0, 0}}), "not a permutation");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_TRANSPOSE, {2, 3}, {3, 2}, {{1, 2}}), "not a permutation");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_TRANSPOSE, {2, 3}, {3, 2}), "has 1 inputs, allowed: 2");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_PAD, {2}, {3}, {{-1, 2}}), "a padding is -1");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_PAD, {2}, {3}, {{1}}), "1 values");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_PAD, {2}, {4}, {{1, 0}}), "give 3");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_PAD, {2}, {3}, {{1, 0}}, 2.f),
                   "differ in scale or zero point");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_MEAN, {2, 3}, {2}, {{2}}),
                   "axis 2 is outside the 2 dimensions");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_MEAN, {2, 2, 2, 2, 2}, {2, 2, 2}, {{1, 3}}),
                   "3 separate kept");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_ADD, {2, 3}, {2, 3}, {{1, 2}}), "is s32, allowed: s8");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_SOFTMAX, {2, 3}, {2, 3}), "1/256 and -128");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_CONCATENATION, {2}, {2}), "attribute 'axis' is missing");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_FULLY_CONNECTED, {2}, {2}),
                   "has 1 inputs, allowed: 2 to 3");
    EXPECT_REFUSAL(generic(format::BuiltinOperator_QUANTIZE, {2, 3}, {3, 2}), "give 2x3");
}

bytes add(const tflite_builder::dims &x, const tflite_builder::dims &y, const tflite_builder::dims &dst) {
    tflite_builder b;
    const int a = b.s8(x, 1.f, 0), c = b.s8(y, 1.f, 0), out = b.s8(dst, 1.f, 0);
    b.node(format::BuiltinOperator_ADD, {a, c}, {out}, format::CreateAddOptions(b.fbb));
    return b.finish({a, c}, {out});
}

bytes concatenation(int axis, const tflite_builder::dims &dst) {
    tflite_builder b;
    const int a = b.s8({2, 3}, 1.f, 0), c = b.s8({2, 3}, 1.f, 0), out = b.s8(dst, 1.f, 0);
    b.node(format::BuiltinOperator_CONCATENATION, {a, c}, {out},
           format::CreateConcatenationOptions(b.fbb, axis));
    return b.finish({a, c}, {out});
}

auto giant_pool(tflite_builder &b) {
    return format::CreatePool2DOptions(b.fbb, SAME, 1, 1, 2147483647, 2147483647, NONE);
}

TEST(NetworkRefuses, ShapesThatDisagree) {
    EXPECT_REFUSAL(add({2, 3}, {2, 2}, {2, 3}), "inputs 2x3 and 2x2 do not broadcast");
    EXPECT_REFUSAL(add({2, 3}, {3}, {3, 3}), "3x3, but the inputs and attributes give 2x3");
    EXPECT_REFUSAL(concatenation(2, {2, 6}), "axis 2 is outside");
    EXPECT_REFUSAL(concatenation(1, {2, 7}), "fill 6 of the output's 7");
    EXPECT_REFUSAL(concatenation(1, {2, 5}), "does not fit into output 2x5 at 3");
    EXPECT_REFUSAL(concatenation(0, {4, 4}), "does not fit into output 4x4 at 0");
    EXPECT_REFUSAL(unary(format::BuiltinOperator_AVERAGE_POOL_2D, {1, 2, 2, 1}, {1, 2, 2, 1}, giant_pool),
                   "a window of 2147483647");
    EXPECT_REFUSAL(unary(format::BuiltinOperator_MAX_POOL_2D, {1, 1, 4, 1}, {1, 1, 2, 1}, pool_2x2),
                   "does not fit into 1");
}

} // namespace
} // namespace octet::tests
