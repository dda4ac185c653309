// An int8 convolution with groups and a scale for each output channel, as oneDNN's page "Primitive
// Attributes: Quantization" sets it up. The primitive chooses all layouts (`any`); the calls are
// oneDNN 2.x's; only the line after the includes is new.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "octet/octet.hpp"

namespace dnnl = octet;

namespace {

const int BATCH = 2, G = 2, IC = 6, OC = 8, IH = 7, IW = 7, KH = 3, KW = 3, OH = 4, OW = 4;
const int stride = 2, padding = 1;

/// Codes in [-128, 127] without a pattern that a wrong index could survive.
std::vector<std::int8_t> some_codes(std::size_t count, std::uint32_t seed) {
    std::vector<std::int8_t> codes(count);
    for (std::int8_t &code : codes) {
        seed = seed * 1664525u + 1013904223u;
        code = static_cast<std::int8_t>(seed >> 24);
    }
    return codes;
}

/// Accumulator of one output in plain C++.
std::int32_t accumulate(const std::vector<std::int8_t> &src, const std::vector<std::int8_t> &weights, int n,
                        int oc, int oh, int ow) {
    const int g = oc / (OC / G);
    std::int32_t acc = 0;
    for (int ic = 0; ic < IC / G; ic++)
        for (int kh = 0; kh < KH; kh++)
            for (int kw = 0; kw < KW; kw++) {
                const int ih = oh * stride - padding + kh, iw = ow * stride - padding + kw;
                if (ih < 0 || ih >= IH || iw < 0 || iw >= IW)
                    continue;
                const int s = src[((n * IC + g * (IC / G) + ic) * IH + ih) * IW + iw];
                const int w = weights[((oc * (IC / G) + ic) * KH + kh) * KW + kw];
                acc += s * w;
            }
    return acc;
}

} // namespace

int main() {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);

    const float src_scale = 0.02f; // real = scale * code, for each tensor
    const float dst_scale = 0.15f;
    std::vector<float> wei_scales(G * OC / G); // one for each group and output channel
    for (int g_oc = 0; g_oc < G * OC / G; ++g_oc)
        wei_scales[g_oc] = 0.01f + 0.002f * static_cast<float>(g_oc);

    const dnnl::memory::dims strides{stride, stride}, padding_l{padding, padding},
        padding_r{padding, padding};

    // `any`: the convolution chooses the layouts.
    dnnl::memory::desc src_conv_s8_any_md({BATCH, IC, IH, IW}, dnnl::memory::data_type::s8,
                                          dnnl::memory::format_tag::any);
    dnnl::memory::desc wei_conv_s8_any_md({G, OC / G, IC / G, KH, KW}, dnnl::memory::data_type::s8,
                                          dnnl::memory::format_tag::any);
    dnnl::memory::desc dst_conv_s8_any_md({BATCH, OC, OH, OW}, dnnl::memory::data_type::s8,
                                          dnnl::memory::format_tag::any);

    dnnl::convolution_forward::desc conv_d(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src_conv_s8_any_md,
        wei_conv_s8_any_md, dst_conv_s8_any_md, strides, padding_l, padding_r, dnnl::padding_kind::zero);

    // dst code = acc * src_scale * weights_scale(channel) / dst_scale; the channel is dimension 1 of dst.
    dnnl::primitive_attr attr;
    const int mask = 0 | (1 << 1);
    std::vector<float> conv_output_scales(G * OC / G);
    for (int g_oc = 0; g_oc < G * OC / G; ++g_oc)
        conv_output_scales[g_oc] = src_scale * wei_scales[g_oc] / dst_scale;
    attr.set_output_scales(mask, conv_output_scales);

    auto conv_pd = dnnl::convolution_forward::primitive_desc(conv_d, // the operation
                                                             attr,   // its scales
                                                             engine);
    auto conv = dnnl::convolution_forward(conv_pd);

    // The user's tensors in plain layouts, reordered into the chosen ones.
    std::vector<std::int8_t> src = some_codes(BATCH * IC * IH * IW, 1),
                             weights = some_codes(OC * (IC / G) * KH * KW, 2);
    std::vector<std::int8_t> dst(BATCH * OC * OH * OW);
    const auto s8 = dnnl::memory::data_type::s8;
    dnnl::memory user_src({{BATCH, IC, IH, IW}, s8, dnnl::memory::format_tag::nchw}, engine, src.data());
    dnnl::memory user_weights({{G, OC / G, IC / G, KH, KW}, s8, dnnl::memory::format_tag::goihw}, engine,
                              weights.data());
    dnnl::memory user_dst({{BATCH, OC, OH, OW}, s8, dnnl::memory::format_tag::nchw}, engine, dst.data());
    dnnl::memory conv_src(conv_pd.src_desc(), engine), conv_weights(conv_pd.weights_desc(), engine),
        conv_dst(conv_pd.dst_desc(), engine);

    dnnl::reorder(user_src, conv_src).execute(stream, user_src, conv_src);
    dnnl::reorder(user_weights, conv_weights).execute(stream, user_weights, conv_weights);
    conv.execute(stream,
                 {{OCTET_ARG_SRC, conv_src}, {OCTET_ARG_WEIGHTS, conv_weights}, {OCTET_ARG_DST, conv_dst}});
    dnnl::reorder(conv_dst, user_dst).execute(stream, conv_dst, user_dst);
    stream.wait();

    std::printf("%s\n", conv_pd.problem_str().c_str());
    std::printf("channel     scale  accumulator -> code, first outputs\n");
    int wrong = 0, saturated = 0;
    for (int n = 0; n < BATCH; n++)
        for (int oc = 0; oc < OC; oc++) {
            if (n == 0)
                std::printf("%7d  %.6f ", oc, static_cast<double>(conv_output_scales[oc]));
            for (int oh = 0; oh < OH; oh++)
                for (int ow = 0; ow < OW; ow++) {
                    const std::int32_t acc = accumulate(src, weights, n, oc, oh, ow);
                    const float scaled = static_cast<float>(acc) * conv_output_scales[oc];
                    const float expected = std::nearbyint(std::min(std::max(scaled, -128.f), 127.f));
                    const int code = dst[((n * OC + oc) * OH + oh) * OW + ow];
                    wrong += static_cast<float>(code) != expected;
                    saturated += scaled < -128.f || scaled > 127.f;
                    if (n == 0 && oh == 0 && ow < 3)
                        std::printf("  %7d -> %4d", acc, code);
                }
            if (n == 0)
                std::printf("\n");
        }
    std::printf("%zu codes (%d saturated), %d differ from a plain loop\n", dst.size(), saturated, wrong);
    return wrong == 0 ? 0 : 1;
}
