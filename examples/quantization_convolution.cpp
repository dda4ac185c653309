// Grouped int8 convolution whose outputs are rescaled per output channel. The statements are those of oneDNN 2.x's page
// "Primitive Attributes: Quantization"; only the namespace is another.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "octet/octet.hpp"

namespace dnnl = octet;

int main() {
    const int BATCH = 1, G = 2, OC = 6, IC = 4, IH = 7, IW = 7, KH = 3, KW = 3; // OC and IC of a group
    const int OH = IH, OW = IW;
    const dnnl::memory::dims strides{1, 1}, padding_l{1, 1}, padding_r{1, 1};
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);

    // Scales of source and destination, and one per (group, output channel) of the weights.
    const float src_scale = 0.05f, dst_scale = 0.4f;
    std::vector<float> wei_scales(G * OC), conv_output_scales(G * OC);
    for (int g_oc = 0; g_oc < G * OC; g_oc++) {
        wei_scales[g_oc] = 0.01f * static_cast<float>(1 + g_oc);
        // real = scale * code on all sides, so dst = (src_scale * wei_scale / dst_scale) * accumulator
        conv_output_scales[g_oc] = src_scale * wei_scales[g_oc] / dst_scale;
    }

    dnnl::memory::desc src_conv_s8_any_md({BATCH, G * IC, IH, IW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::any);
    dnnl::memory::desc wei_conv_s8_any_md({G, OC, IC, KH, KW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::any);
    dnnl::memory::desc dst_conv_s8_any_md({BATCH, G * OC, OH, OW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::any);

    auto conv_d = dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src_conv_s8_any_md,
                                                  wei_conv_s8_any_md, dst_conv_s8_any_md, strides, padding_l, padding_r);
    dnnl::primitive_attr attr;
    const int mask = 0 | (1 << 1); // one scale per output channel, dimension 1 of dst
    attr.set_output_scales(mask, conv_output_scales);
    auto conv_pd = dnnl::convolution_forward::primitive_desc(conv_d, attr, engine);

    // Plain tensors of the user, reordered into what the convolution chose.
    const dnnl::memory::desc src_md({BATCH, G * IC, IH, IW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::nchw);
    const dnnl::memory::desc wei_md({G, OC, IC, KH, KW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::goihw);
    const dnnl::memory::desc dst_md({BATCH, G * OC, OH, OW}, dnnl::memory::data_type::s8, dnnl::memory::format_tag::nchw);
    std::vector<std::int8_t> src(src_md.get_size()), wei(wei_md.get_size()), dst(dst_md.get_size());
    for (std::size_t i = 0; i < src.size(); i++) src[i] = static_cast<std::int8_t>(i * 37 % 251);
    for (std::size_t i = 0; i < wei.size(); i++) wei[i] = static_cast<std::int8_t>(i * 101 % 253);
    dnnl::memory src_plain(src_md, engine, src.data()), wei_plain(wei_md, engine, wei.data()), dst_plain(dst_md, engine, dst.data());
    dnnl::memory src_conv(conv_pd.src_desc(), engine), wei_conv(conv_pd.weights_desc(), engine), dst_conv(conv_pd.dst_desc(), engine);
    dnnl::reorder(src_plain, src_conv).execute(stream, src_plain, src_conv);
    dnnl::reorder(wei_plain, wei_conv).execute(stream, wei_plain, wei_conv);

    dnnl::convolution_forward(conv_pd).execute(stream, {{OCTET_ARG_SRC, src_conv}, {OCTET_ARG_WEIGHTS, wei_conv}, {OCTET_ARG_DST, dst_conv}});
    dnnl::reorder(dst_conv, dst_plain).execute(stream, dst_conv, dst_plain);
    stream.wait();

    // Check against the formula.
    int wrong = 0;
    for (int c = 0; c < G * OC; c++)
        for (int oh = 0; oh < OH; oh++)
            for (int ow = 0; ow < OW; ow++) {
                int acc = 0;
                for (int ic = 0; ic < IC; ic++)
                    for (int kh = 0; kh < KH; kh++)
                        for (int kw = 0; kw < KW; kw++) {
                            const int ih = oh + kh - 1, iw = ow + kw - 1;
                            if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;
                            acc += src[((c / OC * IC + ic) * IH + ih) * IW + iw] * wei[((c * IC + ic) * KH + kh) * KW + kw];
                        }
                const float scaled = static_cast<float>(acc) * conv_output_scales[c];
                wrong += dst[(c * OH + oh) * OW + ow] != static_cast<int>(std::nearbyint(std::min(std::max(scaled, -128.f), 127.f)));
            }
    std::printf("%s: %d outputs, %d differ from the formula\n", conv_pd.impl_info_str().c_str(), G * OC * OH * OW, wrong);
    return wrong == 0 ? 0 : 1;
}
