// Products of floats with weights of codes, against the runtimes' formulas written a second time; what the profiles
// refuse. tests/litert compares with LiteRT itself.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"
#include "network/tflite/tests/hybrid_formulas.hpp"

namespace octet::tests {
namespace {

struct hybrid_case {
    dims x = {3, 6}, w = {5, 6};
    floats source = numbers(18, 4.f), scales = {0.02f, 0.5f, 0.011f, 0.03f, 0.7f};
    floats bias = {0.1f, -3.f, 2.f, 0.f, -0.25f};
    std::vector<std::int8_t> codes = [] {
        std::vector<std::int8_t> c;
        for (const float v : numbers(30, 127.f, 7))
            c.push_back(static_cast<std::int8_t>(v));
        return c;
    }();
    std::string activation = "NONE";
    bool is_asymmetric = false;
};

one_node node_of(const hybrid_case &c, const char *profile, const char *op = "FULLY_CONNECTED") {
    one_node n(op, "tflite");
    n.options.profile = profile;
    n.set("activation", c.activation).set("asymmetric_quantize_inputs", std::int64_t{c.is_asymmetric});
    n.input(c.x, c.source).constant(c.w, c.codes);
    n.graph.tensors[1].quant = {c.scales, std::vector<std::int32_t>(c.scales.size()), 0};
    if (!c.bias.empty())
        n.constant<float>({static_cast<dim_t>(c.bias.size())}, c.bias);
    n.output(data_type::f32);
    return n;
}

floats expected(const hybrid_case &c, source_quantizer_formula by, scaling_order combine) {
    const auto k = static_cast<std::size_t>(c.w[1]), columns = static_cast<std::size_t>(c.w[0]);
    floats result;
    for (std::size_t m = 0; m < c.source.size() / k; m++) {
        const quantized_source row = by(c.source.data() + m * k, k);
        for (std::size_t n = 0; n < columns; n++) {
            int sum = 0;
            for (std::size_t i = 0; i < k; i++)
                sum += row.centred[i] * c.codes[n * k + i];
            result.push_back(combine(static_cast<float>(sum), row.scale,
                                     c.scales[c.scales.size() == 1 ? 0 : n],
                                     c.bias.empty() ? 0.f : c.bias[n]));
        }
    }
    return result;
}

const struct {
    const char *profile;
    source_quantizer_formula by;
    scaling_order combine;
} runtimes[] = {{"litert-2026.08-x86", by_xnnpack, fused},
                {"litert-2026.08-arm64", by_xnnpack, fused},
                {"litert-2026.08-wasm", by_xnnpack, unfused},
                {"litert-2026.08-x86-builtin", by_litert_symmetric, scales_first},
                {"litert-builtin-ref", by_litert_symmetric, scales_first}};

TEST(Hybrid, EachRuntimeHasItsQuantizerAndItsOrder) {
    hybrid_case one_scale, without_bias;
    one_scale.scales = {0.03f};
    without_bias.bias.clear();
    for (const hybrid_case &c : {hybrid_case{}, one_scale, without_bias})
        for (const auto &r : runtimes)
            EXPECT_EQ(node_of(c, r.profile).run<float>(), expected(c, r.by, r.combine)) << r.profile;
    // The case tells the orders apart.
    EXPECT_NE(expected({}, by_xnnpack, fused), expected({}, by_xnnpack, unfused));
    EXPECT_NE(expected({}, by_litert_symmetric, scales_first), expected({}, by_litert_symmetric, unfused));
}

TEST(Hybrid, ActivationsLimitTheResult) {
    hybrid_case c;
    c.activation = "RELU6";
    floats limited = expected(c, by_xnnpack, fused);
    for (float &y : limited)
        y = std::min(std::max(y, 0.f), 6.f);
    EXPECT_EQ(node_of(c, "litert-2026.08-x86").run<float>(), limited);
}

/// A matrix of weights {k, columns}, and single pixels of an image.
TEST(Hybrid, OtherOperatorsAreTheSameProduct) {
    hybrid_case c;
    c.bias.clear();
    const floats product = expected(c, by_xnnpack, fused);
    EXPECT_EQ(node_of(c, "litert-2026.08-x86", "BATCH_MATMUL").set("adj_y", std::int64_t{1}).run<float>(),
              product);

    hybrid_case transposed = c;
    for (std::size_t n = 0; n < 5; n++)
        for (std::size_t i = 0; i < 6; i++)
            transposed.codes[i * 5 + n] = c.codes[n * 6 + i];
    transposed.w = {6, 5};
    one_node matrices = node_of(transposed, "litert-2026.08-x86", "BATCH_MATMUL");
    matrices.graph.tensors[1].quant.axis = 1;
    EXPECT_EQ(matrices.run<float>(), product);

    hybrid_case image;
    image.x = {1, 3, 1, 6};
    image.w = {5, 1, 1, 6};
    one_node conv = node_of(image, "litert-2026.08-x86", "CONV_2D");
    conv.set("padding", std::string("VALID"));
    for (const char *one : {"stride_h", "stride_w", "dilation_h", "dilation_w"})
        conv.set(one, std::int64_t{1});
    image.w = {5, 6};
    EXPECT_EQ(conv.run<float>(), expected(image, by_xnnpack, fused));
}

/// Codes of 4 bits are read from pairs, the first in the low half.
TEST(Hybrid, WeightsHave4Bits) {
    hybrid_case c;
    for (std::int8_t &code : c.codes)
        code = static_cast<std::int8_t>(code / 16);
    one_node n = node_of(c, "litert-2026.08-x86");
    model::tensor &w = n.graph.tensors[1];
    std::vector<std::uint8_t> pairs;
    for (std::size_t i = 0; i < c.codes.size(); i += 2)
        pairs.push_back(static_cast<std::uint8_t>((c.codes[i] & 15) | (c.codes[i + 1] & 15) << 4));
    w.type = data_type::s4;
    w.data = pairs;
    EXPECT_EQ(n.run<float>(), expected(c, by_xnnpack, fused));
}

TEST(Hybrid, WhatNoRuntimeIsKnownToComputeIsRefused) {
    const auto refusal = [](one_node n) {
        try {
            n.run_once<float>();
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto has = [](const std::string &text, const char *part) {
        return text.find(part) != std::string::npos;
    };
    const std::string micro = refusal(node_of({}, "tflm-90b983c")), by_default = refusal(node_of({}, "")),
                      arm = refusal(node_of({}, "litert-2026.08-arm64-builtin"));
    EXPECT_TRUE(has(micro, "TensorFlow Lite Micro does not quantize within a product")) << micro;
    EXPECT_TRUE(has(by_default, "profiles with one: litert-2026.08-x86, ")) << by_default;
    EXPECT_TRUE(has(arm, "an fma is the compiler's choice")) << arm;
    hybrid_case c;
    c.scales = {0.1f, 0.2f};
    const std::string scales = refusal(node_of(c, "litert-2026.08-x86"));
    EXPECT_TRUE(has(scales, "has 2 scales along dimension 0 of 5x6; allowed are 1 or 5")) << scales;
}

} // namespace
} // namespace octet::tests
