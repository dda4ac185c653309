// Quantizing weights, as oneDNN's page "Primitive Attributes: Quantization" does it: a reorder turns f32
// weights in the layout of a framework (hwigo) into s8 weights in the layout of a convolution, with a scale
// for each group and output channel. The calls are oneDNN 2.x's; only the line after the includes is new.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "octet/octet.hpp"

namespace dnnl = octet;

namespace {

const int G = 2, OC = 8, IC = 6, KH = 3, KW = 3;

/// An int8 convolution that chooses its weights layout; quantization_convolution.cpp shows how to set one up.
dnnl::convolution_forward::primitive_desc make_convolution(const dnnl::engine &engine) {
    const auto s8 = dnnl::memory::data_type::s8;
    const auto any = dnnl::memory::format_tag::any;
    const dnnl::convolution_forward::desc conv_d(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, {{1, IC, 7, 7}, s8, any},
        {{G, OC / G, IC / G, KH, KW}, s8, any}, {{1, OC, 7, 7}, s8, any}, {1, 1}, {1, 1}, {1, 1});
    return dnnl::convolution_forward::primitive_desc(conv_d, engine);
}

/// Index of weight (g, o, i, h, w) in memory order h, w, i, g, o.
int hwigo(int g, int o, int i, int h, int w) {
    return (((h * KW + w) * (IC / G) + i) * G + g) * (OC / G) + o;
}

} // namespace

int main() {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);

    // Weights as a framework hands them over, each channel with its own magnitude.
    std::vector<float> weights(G * (OC / G) * (IC / G) * KH * KW);
    for (std::size_t n = 0; n < weights.size(); n++) {
        const float channel = static_cast<float>(n % OC + 1);
        weights[n] = 0.1f * channel * std::sin(0.7f * static_cast<float>(n));
    }
    dnnl::memory::desc wei_user_f32_md({G, OC / G, IC / G, KH, KW},    // dims
                                       dnnl::memory::data_type::f32,   // elements
                                       dnnl::memory::format_tag::hwigo // layout
    );

    // One scale per group and output channel: the channel's largest weight becomes 127.
    std::vector<float> wei_scales(G * OC / G);
    for (int g = 0; g < G; g++)
        for (int o = 0; o < OC / G; o++) {
            float largest = 0.f;
            for (int i = 0; i < IC / G; i++)
                for (int h = 0; h < KH; h++)
                    for (int w = 0; w < KW; w++)
                        largest = std::max(largest, std::abs(weights[hwigo(g, o, i, h, w)]));
            wei_scales[g * (OC / G) + o] = largest / 127.f;
        }

    // The layout that the convolution wants.
    dnnl::convolution_forward::primitive_desc conv_pd(make_convolution(engine));
    dnnl::memory::desc wei_conv_s8_md = conv_pd.weights_desc();

    // real = scale * code, so the reorder multiplies by the inverse.
    std::vector<float> inv_wei_scales(wei_scales.size());
    for (size_t i = 0; i < wei_scales.size(); ++i)
        inv_wei_scales[i] = 1.f / wei_scales[i];

    dnnl::primitive_attr attr;
    const int mask = 0 | (1 << 0) // dimension 0: the group
                     | (1 << 1);  // dimension 1: the output channel within it
    attr.set_output_scales(mask, inv_wei_scales);

    // Quantization and change of layout in one step.
    auto wei_reorder_pd = dnnl::reorder::primitive_desc(wei_user_f32_md, engine, // source
                                                        wei_conv_s8_md, engine,  // destination
                                                        attr);
    auto wei_reorder = dnnl::reorder(wei_reorder_pd);

    dnnl::memory wei_user_f32(wei_user_f32_md, engine, weights.data());
    dnnl::memory wei_conv_s8(wei_conv_s8_md, engine);
    wei_reorder.execute(stream, wei_user_f32, wei_conv_s8);
    stream.wait();

    // The convolution's layout is opaque; read the codes back in a plain one and compare them with a plain
    // loop.
    std::vector<std::int8_t> codes(weights.size());
    dnnl::memory plain(
        {{G, OC / G, IC / G, KH, KW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::goihw}, engine,
        codes.data());
    dnnl::reorder(wei_conv_s8, plain).execute(stream, wei_conv_s8, plain);
    stream.wait();

    std::printf("%d x %d x %d x %d x %d weights, f32 hwigo -> s8 %s by '%s'\n", G, OC / G, IC / G, KH, KW,
                wei_conv_s8_md == plain.get_desc() ? "goihw" : "packed", wei_reorder_pd.impl_info_str());
    std::printf("group channel    scale  first codes\n");
    int wrong = 0;
    for (int g = 0, n = 0; g < G; g++)
        for (int o = 0; o < OC / G; o++) {
            std::printf("%5d %7d %.6f ", g, o, static_cast<double>(wei_scales[g * (OC / G) + o]));
            for (int k = 0; k < 8; k++)
                std::printf(" %4d", codes[n + k]);
            std::printf("\n");
            for (int i = 0; i < IC / G; i++)
                for (int h = 0; h < KH; h++)
                    for (int w = 0; w < KW; w++, n++) {
                        const float scaled = weights[hwigo(g, o, i, h, w)] * inv_wei_scales[g * (OC / G) + o];
                        const float expected = std::nearbyint(std::min(std::max(scaled, -128.f), 127.f));
                        wrong += static_cast<float>(codes[n]) != expected;
                    }
        }
    std::printf("%zu codes, %d differ from a plain loop\n", codes.size(), wrong);
    return wrong == 0 ? 0 : 1;
}
