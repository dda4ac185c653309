// Small encoders as exporters and quantizers write them: patterns become the operators that they are parts
// of, joined nodes keep every byte, and bytes depend on neither threads nor instruction set, nor, quantized
// statically, on the batch.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "network/onnx/tests/onnx_encoder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;

network make(const encoder &e, dim_t batch, dim_t sequence, bool fusion = true) {
    const std::vector<std::uint8_t> file = e.finish();
    network_options options;
    options.fusion = fusion;
    options.dimensions = {{"batch", batch}, {"sequence", sequence}};
    return {file.data(), file.size(), "encoder.onnx", options};
}

std::vector<float> run(network net) {
    std::vector<std::int32_t> ids(net.input().element_count());
    for (std::size_t i = 0; i < ids.size(); i++)
        ids[i] = static_cast<std::int32_t>(i * 7 % encoder::words);
    net.input().copy_from(ids);
    net.run();
    return net.output().as<float>();
}

std::string operators(const network &net) {
    std::string text;
    for (const model::node &n : net.get_graph().nodes)
        text += (text.empty() ? "" : ", ") + operator_text(n);
    return text;
}

class Encoder : public testing::TestWithParam<bool> {};

TEST_P(Encoder, DependsNotOnThreadsLevelsOrJoining) {
    const encoder e(GetParam());
    const int usual = get_num_threads();
    for (const dim_t sequence : {1, 5, 33}) {
        const std::vector<float> expected = run(make(e, 2, sequence));
        EXPECT_EQ(run(make(e, 2, sequence, false)), expected);
        for (const float y : expected)
            ASSERT_TRUE(std::isfinite(y));
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 2, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                EXPECT_EQ(run(make(e, 2, sequence)), expected)
                    << to_string(level) << ", " << threads << " threads";
            }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(usual);
    }
}

TEST_P(Encoder, ComesBackFromASavedPlan) {
    const std::string path = (std::filesystem::temp_directory_path() / "octet_encoder_test.octet").string();
    const std::vector<float> expected = run(make(encoder(GetParam()), 2, 5));
    make(encoder(GetParam()), 2, 5).save(path);
    EXPECT_EQ(run(network(path)), expected);
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Quantization, Encoder, testing::Bool(),
                         [](const auto &run_as) { return run_as.param ? "dynamic" : "static"; });

TEST(EncoderPasses, FindTheirOperators) {
    const std::string product = "MatMulIntegerToFloat", heads = ", Reshape, Transpose, ";
    EXPECT_EQ(operators(make(encoder(true), 1, 4)),
              "Gather, DequantizeLinear, ReduceMean, Sub, SimplifiedLayerNormalization, Add, "
              "DynamicQuantizeLinear, " +
                  product + heads + product + heads + product + heads +
                  "FusedMatMul, Softmax, MatMul, Transpose, Reshape, DynamicQuantizeLinear, " + product +
                  ", SkipLayerNormalization, DynamicQuantizeLinear, " + product +
                  " + Gelu, DynamicQuantizeLinear, " + product + ", SkipLayerNormalization");
}

TEST(EncoderStatic, EachImageOfABatchIsAsAlone) {
    const encoder e(false);
    network net = make(e, 3, 6);
    std::vector<std::int32_t> ids(18);
    for (std::size_t i = 0; i < ids.size(); i++)
        ids[i] = static_cast<std::int32_t>(i * 11 % encoder::words);
    net.input().copy_from(ids);
    net.run();
    const std::vector<float> all = net.output().as<float>();
    for (std::size_t image = 0; image < 3; image++) {
        network one = make(e, 1, 6);
        one.input().copy_from(
            std::vector<std::int32_t>(ids.begin() + static_cast<std::ptrdiff_t>(image * 6),
                                      ids.begin() + static_cast<std::ptrdiff_t>(image * 6 + 6)));
        one.run();
        const std::vector<float> alone = one.output().as<float>();
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                               all.begin() + static_cast<std::ptrdiff_t>(image * alone.size())));
    }
}

/// DynamicQuantizeLinear, the exact sum, Cast, Mul, Add: the same floats as one after the other.
TEST(EncoderProducts, AreTheSequenceOfTheirOperators) {
    constexpr std::size_t rows = 5, depth = 67, columns = 19;
    b m;
    m.input<float>("x", {rows, depth});
    m.constant<std::int8_t>("w", {depth, columns}, codes(depth * columns, 3));
    m.constant<std::int8_t>("w_zp", {columns}, codes(columns, 4));
    m.constant<float>("w_scale", {columns}, with_deviation(columns, 0.01f, 5)),
        m.constant<float>("bias", {columns}, with_deviation(columns, 1.f, 6));
    m.node("DynamicQuantizeLinear", {"x"}, {"codes", "scale", "zp"});
    m.node("MatMulInteger", {"codes", "w", "zp", "w_zp"}, {"integers"});
    b::set(m.node("Cast", {"integers"}, {"cast"}), "to", std::int64_t{1});
    m.node("Mul", {"scale", "w_scale"}, {"factor"});
    m.node("Mul", {"cast", "factor"}, {"product"});
    m.node("Add", {"product", "bias"}, {"y"});
    m.output("y");
    const std::vector<std::uint8_t> file = m.finish();
    network net(file.data(), file.size(), "product.onnx");
    EXPECT_EQ(operators(net), "DynamicQuantizeLinear, MatMulIntegerToFloat");
    const std::vector<float> x = with_deviation(rows * depth, 2.f, 8);
    net.input().copy_from(x);
    net.run();

    const auto [lowest, highest] = std::minmax_element(x.begin(), x.end());
    const dynamic_quantization q = dynamic_quantization_of(*lowest, *highest);
    const std::vector<std::int8_t> w = codes(depth * columns, 3), w_zp = codes(columns, 4);
    const std::vector<float> w_scale = with_deviation(columns, 0.01f, 5),
                             bias = with_deviation(columns, 1.f, 6);
    std::vector<float> expected;
    for (std::size_t r = 0; r < rows; r++)
        for (std::size_t c = 0; c < columns; c++) {
            std::int32_t sum = 0;
            for (std::size_t k = 0; k < depth; k++) {
                const float code =
                    std::nearbyint(x[r * depth + k] / q.scale) + static_cast<float>(q.zero_point);
                sum += (static_cast<std::int32_t>(std::clamp(code, 0.f, 255.f)) - q.zero_point) *
                       (w[k * columns + c] - w_zp[c]);
            }
            const float factor = q.scale * w_scale[c], product = static_cast<float>(sum) * factor;
            expected.push_back(product + bias[c]);
        }
    EXPECT_EQ(net.output().as<float>(), expected);
}

} // namespace
} // namespace octet::tests
