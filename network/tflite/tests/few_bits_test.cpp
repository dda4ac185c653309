// Static products with weights of 4 bits give what the same codes give in bytes, under the rule that the runtime has
// for them. tests/litert compares with LiteRT itself.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using codes = std::vector<std::int8_t>;

struct product_case {
    const char *op;
    dims x, w;
    int axis; ///< of the weights' scales
};
const product_case conv{"CONV_2D", {1, 6, 5, 4}, {6, 3, 3, 4}, 0},
    depthwise{"DEPTHWISE_CONV_2D", {1, 6, 5, 4}, {1, 3, 3, 4}, 3},
    fully_connected{"FULLY_CONNECTED", {16, 8}, {6, 8}, 0};

codes random_codes(const dims &shape, int range, unsigned seed) {
    std::int64_t count = 1;
    for (const dim_t d : shape)
        count *= d;
    codes all;
    for (const float v : numbers(static_cast<std::size_t>(count), static_cast<float>(range), seed))
        all.push_back(static_cast<std::int8_t>(v));
    return all;
}

/// Scales are powers of two, so that rules meet ties.
one_node product_node(const product_case &c, bool has_4_bits, const char *profile) {
    one_node n(c.op, "tflite");
    n.options.profile = profile;
    n.set("activation", std::string("NONE")).set("padding", std::string("SAME"));
    for (const char *one : {"stride_h", "stride_w", "dilation_h", "dilation_w"})
        n.set(one, std::int64_t{1});
    const codes w = random_codes(c.w, 8, 7);
    n.input(c.x, random_codes(c.x, 127, 3)).constant(c.w, w);
    n.graph.tensors[0].quant = {{0.5f}, {3}, 0};
    const dim_t channels = c.w[static_cast<std::size_t>(c.axis)];
    std::vector<float> scales, bias_scales;
    for (dim_t i = 0; i < channels; i++)
        scales.push_back(0.25f / static_cast<float>(1 << i % 3));
    for (const float s : scales)
        bias_scales.push_back(0.5f * s);
    model::tensor &weights = n.graph.tensors[1];
    weights.quant = {scales, std::vector<std::int32_t>(scales.size()), c.axis};
    if (has_4_bits) {
        std::vector<std::uint8_t> pairs((w.size() + 1) / 2);
        for (std::size_t i = 0; i < w.size(); i++)
            pairs[i / 2] = static_cast<std::uint8_t>(pairs[i / 2] | (w[i] & 15) << i % 2 * 4);
        weights.type = data_type::s4;
        weights.data = pairs;
    }
    std::vector<std::int32_t> bias;
    for (dim_t i = 0; i < channels; i++)
        bias.push_back(static_cast<std::int32_t>(100 * i - 211));
    n.constant({channels}, bias);
    n.graph.tensors[2].quant = {bias_scales, std::vector<std::int32_t>(bias_scales.size()), 0};
    n.output(data_type::s8);
    n.graph.tensors.back().quant = {{2.f}, {-4}, 0};
    return n;
}

codes results_of(const product_case &c, bool has_4_bits, const char *profile) {
    return product_node(c, has_4_bits, profile).run<std::int8_t>();
}

TEST(FewBits, GiveTheBytesOfTheRuntimesRule) {
    const struct {
        const product_case &product;
        const char *profile, *of_bytes; ///< the profile that has this rule for codes in bytes
    } all[] = {
        {fully_connected, "", ""},
        {conv, "", ""},
        {depthwise, "", ""},
        {fully_connected, "litert-builtin-ref", "litert-builtin-ref"},
        {conv, "litert-builtin-ref", "litert-builtin-ref"},
        {fully_connected, "litert-2026.08-x86", "litert-2026.08-x86"}, // XNNPACK takes it
        {fully_connected, "litert-2026.08-wasm", "litert-2026.08-wasm"},
        {conv, "litert-2026.08-x86", "litert-2026.08-x86-builtin"}, // it does not take these
        {depthwise, "litert-2026.08-x86", "litert-2026.08-x86-builtin"},
        {conv, "litert-2026.08-wasm", "litert-2026.08-arm64-builtin"}, // ruy's plain code
        {depthwise, "litert-2026.08-wasm", "litert-2026.08-x86-builtin"},
    };
    for (const auto &c : all)
        EXPECT_EQ(results_of(c.product, true, c.profile), results_of(c.product, false, c.of_bytes))
            << c.product.op << ", " << c.profile;
    // The rules differ here.
    EXPECT_NE(results_of(conv, false, "litert-2026.08-x86"),
              results_of(conv, false, "litert-2026.08-x86-builtin"));
    EXPECT_NE(results_of(conv, false, "litert-2026.08-arm64-builtin"),
              results_of(conv, false, "litert-2026.08-x86-builtin"));
}

/// Rows of an odd length begin in the middle of a byte.
TEST(FewBits, RowsMayHaveAnOddLength) {
    const product_case odd{"FULLY_CONNECTED", {5, 7}, {3, 7}, 0},
        image{"CONV_2D", {1, 5, 5, 3}, {5, 3, 1, 3}, 0};
    for (const product_case &c : {odd, image})
        EXPECT_EQ(results_of(c, true, ""), results_of(c, false, "")) << c.op;
}

TEST(FewBits, WhatNoRuntimeIsKnownToComputeIsRefused) {
    const auto refusal = [](one_node n) {
        try {
            n.run_once<std::int8_t>();
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto expect = [&](one_node n, const char *part) {
        const std::string sentence = refusal(std::move(n));
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    };
    const char *unknown = "no arithmetic of weights of 4 bits is recorded for it";
    expect(product_node(conv, true, "litert-2026.08-arm64"), unknown);
    expect(product_node({"FULLY_CONNECTED", {5, 7}, {3, 7}, 0}, true, "litert-2026.08-x86"), unknown);
    one_node short_of_bytes = product_node(conv, true, "");
    short_of_bytes.graph.tensors[1].data = std::vector<std::uint8_t>(7);
    expect(std::move(short_of_bytes), "holds 7 bytes of constant data, but s4 6x3x3x4 takes 108");
}

} // namespace
} // namespace octet::tests
