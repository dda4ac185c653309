// Conditions of ONNX Runtime's transformers that its documentation does not tell, each found with the runtime
// itself: which passes change a graph, and the arithmetic of what they make.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"

namespace octet::tests {
namespace {

const std::string units = "L2.1 QDQSelectorActionTransformer";

bool has_fired(const onnx_builder &m, const std::string &pass, const network_options &options = {}) {
    const std::vector<std::uint8_t> file = m.finish();
    const network net(file.data(), file.size(), "passes.onnx", options);
    return std::count(net.passes().begin(), net.passes().end(), pass) != 0;
}

/// Codes 0, 1, 2 … of constants.
std::vector<std::int8_t> steps(std::size_t count) {
    std::vector<std::int8_t> codes(count);
    for (std::size_t i = 0; i < count; i++)
        codes[i] = static_cast<std::int8_t>(i % 100);
    return codes;
}

/// x between codes; w {4, 3} or {3, 4, 1, 1} of s8 with scale 0.02, with a zero point or not.
struct quantized_operands : onnx_builder {
    explicit quantized_operands(const dims &x_dims, const dims &w_dims, bool has_zero_point = true) {
        input<float>("x", x_dims);
        scalar<float>("x_scale", 0.03f), scalar<std::uint8_t>("x_zp", 10);
        node("QuantizeLinear", {"x", "x_scale", "x_zp"}, {"x_codes"});
        node("DequantizeLinear", {"x_codes", "x_scale", "x_zp"}, {"x_real"});
        constant<std::int8_t>("w", w_dims, steps(12));
        scalar<float>("w_scale", 0.02f), scalar<std::int8_t>("w_zp", 0);
        node("DequantizeLinear", has_zero_point ? names{"w", "w_scale", "w_zp"} : names{"w", "w_scale"},
             {"w_real"});
    }
    void quantize(const std::string &y) {
        scalar<float>("y_scale", 0.05f), scalar<std::uint8_t>("y_zp", 20);
        node("QuantizeLinear", {y, "y_scale", "y_zp"}, {"y_codes"});
        node("DequantizeLinear", {"y_codes", "y_scale", "y_zp"}, {"out"});
        output("out");
    }
};

TEST(OrtPasses, ConvolutionTakesABiasOfItsSumsScaleAlone) {
    const float sums = 0.03f * 0.02f;
    for (const auto &[scale, zero_point, is_taken] :
         {std::make_tuple(sums, 0, true), std::make_tuple(sums * 1.009f, 0, true),
          std::make_tuple(sums * 1.02f, 0, false), std::make_tuple(sums, 5, false)}) {
        quantized_operands m({1, 4, 5, 5}, {3, 4, 1, 1});
        m.constant<std::int32_t>("b", {3}, {-14, 71, 43});
        m.scalar<float>("b_scale", scale), m.scalar<std::int32_t>("b_zp", zero_point);
        m.node("DequantizeLinear", {"b", "b_scale", "b_zp"}, {"b_real"});
        m.node("Conv", {"x_real", "w_real", "b_real"}, {"y"});
        m.quantize("y");
        EXPECT_EQ(has_fired(m, units), is_taken) << scale << ", " << zero_point;
    }
}

TEST(OrtPasses, GemmWantsZeroPointsThatMatMulDoesNot) {
    for (const bool has_zero_point : {true, false})
        for (const char *const op : {"Gemm", "MatMul"}) {
            quantized_operands m({3, 4}, {4, 3}, has_zero_point);
            m.node(op, {"x_real", "w_real"}, {"y"});
            m.quantize("y");
            EXPECT_EQ(has_fired(m, units), has_zero_point || std::string(op) == "MatMul") << op;
        }
}

TEST(OrtPasses, ALimitThatOneNodeReadsKeepsAProductOnFloats) {
    for (const bool has_reader : {true, false}) {
        quantized_operands m({3, 4}, {4, 3});
        m.node("MatMul", {"x_real", "w_real"}, {"y"});
        m.node("Relu", {"y"}, {"limited"});
        if (has_reader)
            m.node("Neg", {"limited"}, {"out"});
        m.output(has_reader ? "out" : "limited");
        EXPECT_NE(has_fired(m, units), has_reader);
    }
}

TEST(OrtPasses, AConstantInFrontOfAConvolutionsResultIsNoPartOfIt) {
    for (const bool comes_first : {true, false})
        for (const char *const op : {"Add", "Mul"}) {
            onnx_builder m;
            m.input<float>("x", {1, 4, 5, 5});
            m.constant<float>("w", {3, 4, 1, 1}, std::vector<float>(12, 0.5f));
            m.constant<float>("c", {3, 1, 1}, {1.f, 2.f, 3.f});
            m.node("Conv", {"x", "w"}, {"y"});
            m.node(op, comes_first ? onnx_builder::names{"c", "y"} : onnx_builder::names{"y", "c"}, {"out"});
            m.output("out");
            EXPECT_NE(has_fired(m, "L1.1 Level1_RuleBasedTransformer"), comes_first) << op;
        }
}

TEST(OrtPasses, AlphaAndCOfGemmAreJoinedByFma) {
    constexpr std::size_t k = 300, block = 256; // sizes of a constant matrix
    std::vector<float> x(k), w(k);
    for (std::size_t i = 0; i < k; i++) {
        x[i] = std::sin(static_cast<float>(i) * 1.7f);
        w[i] = std::cos(static_cast<float>(i) * 0.9f);
    }
    for (const bool has_c : {false, true}) {
        onnx_builder m;
        m.input<float>("x", {1, k});
        m.constant<float>("w", {k, 1}, w);
        m.constant<float>("c", {1}, {0.7f});
        const onnx_builder::names inputs =
            has_c ? onnx_builder::names{"x", "w", "c"} : onnx_builder::names{"x", "w"};
        m.set(m.node("Gemm", inputs, {"y"}), "alpha", 1.3f);
        m.output("y");
        const std::vector<std::uint8_t> file = m.finish();
        network net(file.data(), file.size(), "gemm.onnx");
        net.input(0).copy_from(x);
        net.run();
        float expected = 0;
        for (std::size_t first = 0; first < k; first += block) {
            float sum = 0;
            for (std::size_t i = first; i < std::min(k, first + block); i++)
                sum = std::fma(x[i], w[i], sum);
            expected = first == 0 && !has_c ? 1.3f * sum : std::fma(1.3f, sum, first == 0 ? 0.7f : expected);
        }
        EXPECT_EQ(net.output(0).as<float>().at(0), expected) << has_c;
    }
}

// ---- Weights alone in codes

/// One block: codes of x by max / 127, products in fours.
float product_of_block(const std::vector<float> &x, const std::vector<std::int8_t> &w, std::size_t column,
                       std::size_t columns, float w_scale) {
    float highest = 0;
    for (const float v : x)
        highest = std::max(highest, std::abs(v));
    const float scale = highest / 127.f, factor = 127.f / highest;
    float lanes[8];
    std::int32_t all = 0;
    for (std::size_t l = 0; l < 8; l++) {
        std::int32_t sum = 0;
        for (std::size_t k = 4 * l; k < 4 * l + 4; k++) {
            const auto code = static_cast<std::int32_t>(std::nearbyint(x[k] * factor));
            sum += code * (w[k * columns + column] + 128);
            all += code;
        }
        lanes[l] = static_cast<float>(sum) * (scale * w_scale);
    }
    const float products =
        (((lanes[0] + lanes[1]) + lanes[2]) + lanes[3]) + (((lanes[4] + lanes[5]) + lanes[6]) + lanes[7]);
    return products + (scale * static_cast<float>(all)) * -(w_scale * 128.f);
}

/// ids {2, n} choose rows; rows of positions 0 to n are added, and n is a size that the network computes or
/// that the file has. Then x + x * w is normalized.
onnx_builder sum_of_embeddings(bool is_computed) {
    onnx_builder m(17);
    m.input<std::int64_t>("ids", {2, -1});
    m.constant<float>("words", {8, 4}, std::vector<float>(32, 0.5f));
    m.constant<float>("places", {8, 4}, std::vector<float>(32, 0.25f));
    m.constant<std::int64_t>("positions", {1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
    m.constant<std::int64_t>("zero", {1}, {0}), m.constant<std::int64_t>("one", {1}, {1});
    m.constant<std::int64_t>("four", {1}, {4});
    m.node("Shape", {"ids"}, {"shape"});
    m.node("Gather", {"shape", "one"}, {"end"});
    m.node("Slice", {"positions", "zero", is_computed ? "end" : "four", "one"}, {"used"});
    m.node("Gather", {"words", "ids"}, {"word"});
    m.node("Gather", {"places", "used"}, {"place"});
    m.node("Add", {"word", is_computed ? "place" : "word"}, {"x"});
    m.constant<float>("w", {4, 4}, std::vector<float>(16, 0.1f)), m.constant<float>("row", {4}, {1, 2, 3, 4});
    m.node("MatMul", {"x", "w"}, {"p"});
    m.node("Add", {"p", "x"}, {"sum"});
    m.node("LayerNormalization", {"sum", "row", "row"}, {"y"});
    m.output("y");
    return m;
}

TEST(OrtPasses, DimensionsThatFollowComputedValuesAreUnknown) {
    network_options options;
    options.dimensions = {{"n", 4}};
    const std::string skip = "L2.1 SkipLayerNormFusion";
    EXPECT_FALSE(has_fired(sum_of_embeddings(true), skip, options));
    EXPECT_TRUE(has_fired(sum_of_embeddings(false), skip, options));
}

TEST(OrtPasses, WeightsAloneInCodesLetTheSourceBeRounded) {
    constexpr std::size_t k = 32, n = 8;
    onnx_builder m;
    m.input<float>("x", {1, k});
    m.constant<std::int8_t>("w", {k, n}, steps(k * n));
    m.scalar<float>("scale", 0.013f);
    m.node("DequantizeLinear", {"w", "scale"}, {"real"});
    m.node("MatMul", {"x", "real"}, {"y"});
    m.output("y");
    const std::vector<std::uint8_t> file = m.finish();
    network net(file.data(), file.size(), "weights.onnx");
    EXPECT_EQ(net.passes(), std::vector<std::string>{units});
    std::vector<float> x(k);
    for (std::size_t i = 0; i < k; i++)
        x[i] = std::sin(static_cast<float>(i) * 1.7f);
    net.input(0).copy_bytes_from(x.data(), k * sizeof(float));
    net.run();
    const auto *y = static_cast<const float *>(net.output(0).get_memory().get_data_handle());
    for (std::size_t c = 0; c < n; c++)
        EXPECT_EQ(y[c], product_of_block(x, steps(k * n), c, n, 0.013f)) << c;
}

TEST(OrtPasses, OneScaleInAListOrTheLastAxisKeepsThemOnFloats) {
    struct {
        onnx_builder::dims shape;
        std::int64_t axis;
        bool is_taken;
    } const cases[] = {{{}, 1, true}, {{1}, 1, false}, {{3}, 1, true}, {{3}, -1, false}};
    for (const auto &c : cases) {
        onnx_builder m;
        m.input<float>("x", {2, 4});
        m.constant<std::int8_t>("w", {4, 3}, steps(12));
        m.constant<float>(
            "scale", c.shape,
            std::vector<float>(c.shape.empty() ? 1 : static_cast<std::size_t>(c.shape[0]), 0.1f));
        m.set(m.node("DequantizeLinear", {"w", "scale"}, {"real"}), "axis", c.axis);
        m.node("MatMul", {"x", "real"}, {"y"});
        m.output("y");
        EXPECT_EQ(has_fired(m, units), c.is_taken) << c.shape.size() << ", " << c.axis;
    }
}

} // namespace
} // namespace octet::tests
