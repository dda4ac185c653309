// Quantizes f32 convolution weights with one scale per group and output channel, into the layout that the convolution asks
// for. The statements are those of oneDNN 2.x's page "Primitive Attributes: Quantization"; only the namespace is another.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "octet/octet.hpp"

namespace dnnl = octet;

int main() {
    const int G = 2, OC = 6, IC = 4, KH = 3, KW = 3; // OC and IC of a group
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);

    // Weights as a framework keeps them: f32, height and width outermost.
    const dnnl::memory::desc wei_plain_f32_md({G, OC, IC, KH, KW}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::hwigo);
    dnnl::memory wei_plain_f32(wei_plain_f32_md, engine);
    auto *weights = static_cast<float *>(wei_plain_f32.get_data_handle());
    const auto plain_index = [&](int g, int oc, int ic, int kh, int kw) { return (((kh * KW + kw) * IC + ic) * G + g) * OC + oc; };
    for (int i = 0; i < G * OC * IC * KH * KW; i++) weights[i] = std::sin(0.37f * static_cast<float>(i)) * static_cast<float>(1 + i % OC);

    // A factor per (group, output channel) that brings the largest weight to 127. Output scales multiply.
    std::vector<float> wei_scales(G * OC);
    for (int g = 0; g < G; g++)
        for (int oc = 0; oc < OC; oc++) {
            float largest = 0;
            for (int ic = 0; ic < IC; ic++)
                for (int k = 0; k < KH * KW; k++) largest = std::max(largest, std::fabs(weights[plain_index(g, oc, ic, k / KW, k % KW)]));
            wei_scales[g * OC + oc] = 127.f / largest;
        }

    // The convolution chooses the layout of its weights.
    const dnnl::memory::desc src_any_md({1, G * IC, 8, 8}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::any);
    const dnnl::memory::desc wei_any_md({G, OC, IC, KH, KW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::any);
    const dnnl::memory::desc dst_any_md({1, G * OC, 8, 8}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::any);
    const dnnl::convolution_forward::primitive_desc conv_pd(
        dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src_any_md, wei_any_md,
                                        dst_any_md, {1, 1}, {1, 1}, {1, 1}),
        engine);
    const dnnl::memory::desc wei_conv_s8_md = conv_pd.weights_desc();

    dnnl::primitive_attr attr;
    const int quantization_mask = 0 | (1 << 0)  // scale per group, dimension 0
                                  | (1 << 1);   // scale per output channel, dimension 1
    attr.set_output_scales(quantization_mask, wei_scales);
    auto wei_reorder_pd = dnnl::reorder::primitive_desc(engine, wei_plain_f32_md, engine, wei_conv_s8_md, attr);
    auto wei_reorder = dnnl::reorder(wei_reorder_pd);

    dnnl::memory wei_conv_s8(wei_conv_s8_md, engine);
    wei_reorder.execute(stream, wei_plain_f32, wei_conv_s8);
    stream.wait();

    // Check: back to a plain layout, against the formula.
    const dnnl::memory::desc check_md({G, OC, IC, KH, KW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::goihw);
    dnnl::memory check(check_md, engine);
    dnnl::reorder(wei_conv_s8, check).execute(stream, wei_conv_s8, check);
    const auto *codes = static_cast<const std::int8_t *>(check.get_data_handle());
    int wrong = 0, index = 0;
    for (int g = 0; g < G; g++)
        for (int oc = 0; oc < OC; oc++)
            for (int ic = 0; ic < IC; ic++)
                for (int k = 0; k < KH * KW; k++, index++)
                    wrong += codes[index] != static_cast<int>(std::nearbyint(weights[plain_index(g, oc, ic, k / KW, k % KW)] * wei_scales[g * OC + oc]));
    std::printf("quantized %d weights into %zu bytes (%s), %d differ from the formula\n", index, wei_conv_s8_md.get_size(), wei_conv_s8_md.to_string().c_str(), wrong);
    return wrong == 0 ? 0 : 1;
}
