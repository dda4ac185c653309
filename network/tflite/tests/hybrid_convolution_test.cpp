// Convolutions of floats with weights of codes, whose images are quantized as a whole, against the runtimes' formulas
// written a second time. tests/litert compares with LiteRT itself.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "network/tests/one_node.hpp"
#include "network/tflite/tests/hybrid_formulas.hpp"

namespace octet::tests {
namespace {

struct image_case {
    dims x = {2, 6, 5, 3}, w = {4, 3, 3, 3}; ///< DEPTHWISE_CONV_2D: {1, height, width, channels}
    const char *op = "CONV_2D", *padding = "SAME", *activation = "NONE";
    dim_t stride = 1, dilation = 1;
    bool has_one_scale = false, has_4_bits = false;

    bool is_depthwise() const { return std::string(op) != "CONV_2D"; }
    dim_t channels() const { return is_depthwise() ? w[3] : w[0]; }
    floats source() const { return numbers(static_cast<std::size_t>(x[0] * x[1] * x[2] * x[3]), 4.f); }
    std::vector<std::int8_t> codes() const {
        std::vector<std::int8_t> all;
        for (const float v : numbers(static_cast<std::size_t>(w[0] * w[1] * w[2] * w[3]), 127.f, 7))
            all.push_back(static_cast<std::int8_t>(has_4_bits ? v / 16 : v));
        return all;
    }
    floats scales() const {
        floats all;
        for (dim_t c = 0; c < (has_one_scale ? 1 : channels()); c++)
            all.push_back(0.011f * static_cast<float>(1 + c % 7));
        return all;
    }
    floats bias() const { return numbers(static_cast<std::size_t>(channels()), 2.f, 5); }
};

one_node node_of_image(const image_case &c, const char *profile) {
    one_node n(c.op, "tflite");
    n.options.profile = profile;
    n.set("activation", std::string(c.activation)).set("padding", std::string(c.padding));
    for (const char *stride : {"stride_h", "stride_w"})
        n.set(stride, c.stride);
    for (const char *dilation : {"dilation_h", "dilation_w"})
        n.set(dilation, c.dilation);
    std::vector<std::int8_t> codes = c.codes();
    n.input(c.x, c.source()).constant(c.w, codes);
    const floats scales = c.scales();
    model::tensor &w = n.graph.tensors[1];
    w.quant = {scales, std::vector<std::int32_t>(scales.size()), c.is_depthwise() ? 3 : 0};
    if (c.has_4_bits) {
        std::vector<std::uint8_t> pairs;
        for (std::size_t i = 0; i < codes.size(); i += 2)
            pairs.push_back(static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 1] & 15) << 4));
        w.type = data_type::s4;
        w.data = pairs;
    }
    n.constant<float>({c.channels()}, c.bias());
    n.output(data_type::f32);
    return n;
}

/// Along one dimension: results, and what is padded in front.
struct side {
    dim_t out, before;
};
side side_of(const image_case &c, dim_t size, dim_t kernel) {
    const dim_t reach = (kernel - 1) * c.dilation + 1;
    if (std::string(c.padding) == "VALID")
        return {(size - reach) / c.stride + 1, 0};
    const dim_t out = (size + c.stride - 1) / c.stride;
    return {out, std::max<dim_t>((out - 1) * c.stride + reach - size, 0) / 2};
}

floats expected_images(const image_case &c, source_quantizer_formula quantize, scaling_order combine) {
    const floats x = c.source(), scales = c.scales(), bias = c.bias();
    const std::vector<std::int8_t> w = c.codes();
    const dim_t h = c.x[1], width = c.x[2], ic = c.x[3], kh = c.w[1], kw = c.w[2], oc = c.channels();
    const side rows = side_of(c, h, kh), columns = side_of(c, width, kw);
    const bool is_depthwise = c.is_depthwise();
    floats result;
    for (dim_t n = 0; n < c.x[0]; n++) {
        const dim_t size = h * width * ic;
        const quantized_source image = quantize(x.data() + n * size, static_cast<std::size_t>(size));
        const auto product = [&](dim_t oh, dim_t ow, dim_t i, dim_t o, dim_t a, dim_t b) {
            const dim_t y = oh * c.stride - rows.before + a * c.dilation,
                        z = ow * c.stride - columns.before + b * c.dilation;
            if (y < 0 || y >= h || z < 0 || z >= width)
                return 0;
            const dim_t tap = is_depthwise ? (a * kw + b) * oc + o : ((o * kh + a) * kw + b) * ic + i;
            return image.centred[static_cast<std::size_t>((y * width + z) * ic + i)] *
                   w[static_cast<std::size_t>(tap)];
        };
        for (dim_t oh = 0; oh < rows.out; oh++)
            for (dim_t ow = 0; ow < columns.out; ow++)
                for (dim_t o = 0; o < oc; o++) {
                    int sum = 0;
                    const dim_t first = is_depthwise ? o / (oc / ic) : 0,
                                last = is_depthwise ? first + 1 : ic;
                    for (dim_t i = first; i < last; i++)
                        for (dim_t a = 0; a < kh; a++)
                            for (dim_t b = 0; b < kw; b++)
                                sum += product(oh, ow, i, o, a, b);
                    const auto channel = static_cast<std::size_t>(o);
                    result.push_back(combine(static_cast<float>(sum), image.scale,
                                             scales[c.has_one_scale ? 0 : channel], bias[channel]));
                }
    }
    return result;
}

constexpr const char *x86 = "litert-2026.08-x86", *wasm = "litert-2026.08-wasm";

TEST(HybridConvolution, XnnpackQuantizesWholeImages) {
    image_case strided, dilated, one_scale, single, pixels;
    strided.stride = 2; // the last column is read by no window, and belongs to the range all the same
    strided.padding = "VALID";
    dilated.dilation = 2;
    one_scale.has_one_scale = true;
    single.x = {3, 6, 5, 1};
    single.w = {1, 1, 1, 1};
    pixels.w = {4, 1, 1, 3};
    pixels.stride = 2;
    for (const image_case &c : {image_case{}, strided, dilated, one_scale, single, pixels}) {
        EXPECT_EQ(node_of_image(c, x86).run<float>(), expected_images(c, by_xnnpack, fused));
        EXPECT_EQ(node_of_image(c, wasm).run<float>(), expected_images(c, by_xnnpack, unfused));
    }
    // The case tells the orders and the quantizers apart.
    const floats right = expected_images({}, by_xnnpack, fused);
    EXPECT_NE(right, expected_images({}, by_xnnpack, unfused));
    EXPECT_NE(right, expected_images({}, by_litert_symmetric, fused));
}

TEST(HybridConvolution, ActivationsLimitImages) {
    image_case c;
    c.activation = "RELU_N1_TO_1";
    floats limited = expected_images(c, by_xnnpack, fused);
    for (float &y : limited)
        y = std::min(std::max(y, -1.f), 1.f);
    EXPECT_EQ(node_of_image(c, x86).run<float>(), limited);
}

/// Each pixel is spread over the result: {1, 2, 2, 1} with a kernel of 2x2 and strides of 2 overlaps nowhere.
TEST(HybridConvolution, TransposedImagesAreQuantizedAsAWhole) {
    const floats x = {1.f, -0.3f, 0.71f, 2.5f}, bias = {0.25f};
    const std::vector<std::int8_t> codes = {3, -50, 127, 77};
    one_node n("TRANSPOSE_CONV", "tflite");
    n.options.profile = x86;
    n.set("padding", std::string("VALID")).set("stride_h", dim_t{2}).set("stride_w", dim_t{2});
    n.constant<std::int32_t>({4}, {1, 4, 4, 1}).constant({1, 2, 2, 1}, codes).input({1, 2, 2, 1}, x);
    n.constant<float>({1}, bias).output(data_type::f32);
    n.graph.tensors[1].quant = {{0.02f}, {0}, 0};
    const quantized_source image = by_xnnpack(x.data(), x.size());
    floats expected;
    for (std::size_t h = 0; h < 4; h++)
        for (std::size_t w = 0; w < 4; w++)
            expected.push_back(
                fused(static_cast<float>(image.centred[h / 2 * 2 + w / 2] * codes[h % 2 * 2 + w % 2]),
                      image.scale, 0.02f, 0.25f));
    EXPECT_EQ(n.run<float>(), expected);
}

/// XNNPACK takes neither; LiteRT's kernels do.
TEST(HybridConvolution, BuiltInKernelsHaveOtherQuantizersAndOrders) {
    image_case depthwise, multiplied;
    depthwise.op = multiplied.op = "DEPTHWISE_CONV_2D";
    depthwise.w = {1, 3, 3, 3};
    multiplied.w = {1, 3, 2, 6};
    for (const image_case &c : {depthwise, multiplied})
        EXPECT_EQ(node_of_image(c, wasm).run<float>(), expected_images(c, by_litert, unfused));
    image_case few_bits, of_one_scale;
    few_bits.has_4_bits = of_one_scale.has_4_bits = of_one_scale.has_one_scale = true;
    EXPECT_EQ(node_of_image(few_bits, wasm).run<float>(), expected_images(few_bits, by_litert, scales_first));
    EXPECT_EQ(node_of_image(of_one_scale, wasm).run<float>(),
              expected_images(of_one_scale, by_litert_symmetric, scales_first));
}

TEST(HybridConvolution, WhatWasNotRecordedIsRefused) {
    image_case depthwise, few_bits, wrong_scales;
    depthwise.op = "DEPTHWISE_CONV_2D";
    depthwise.w = {1, 3, 3, 3};
    few_bits.has_4_bits = true;
    const auto refusal = [](one_node n) {
        try {
            n.run<float>();
        } catch (const error &e) {
            return std::string(e.what());
        }
        return std::string();
    };
    for (const image_case &c : {depthwise, few_bits}) {
        const std::string sentence = refusal(node_of_image(c, x86));
        EXPECT_NE(sentence.find("no arithmetic of built-in kernels is recorded for it"), std::string::npos)
            << sentence;
    }
    one_node computed = node_of_image({}, wasm);
    computed.graph.tensors[1].is_constant = false;
    computed.graph.tensors[1].data = std::vector<std::uint8_t>();
    computed.graph.inputs.push_back(1);
    EXPECT_NE(refusal(computed).find("that are computed, allowed: constant weights"), std::string::npos)
        << refusal(computed);
    one_node short_bias = node_of_image({}, x86);
    short_bias.graph.tensors[2].dims = {3};
    short_bias.graph.tensors[2].data = std::vector<std::uint8_t>(12);
    EXPECT_NE(refusal(short_bias).find("allowed is 4"), std::string::npos) << refusal(short_bias);
}

} // namespace
} // namespace octet::tests
