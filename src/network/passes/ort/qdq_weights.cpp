// Weights and biases of floats that ONNX Runtime rounds to codes before it looks for operators on codes
// (WeightBiasQuantization), so that operators that stay on floats, too, have rounded ones.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/passes/ort/ort_graph.hpp"
#include "network/passes/ort/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Whether one QuantizeLinear reads a tensor, after a Relu or Clip at most. The network's outputs do not matter.
bool is_quantized(const ort_graph &g, int t) {
    for (;;) {
        int reader = -1;
        for (const int i : g.consumers(t))
            if (i >= 0) {
                if (reader >= 0)
                    return false;
                reader = i;
            }
        if (!g.is(reader, "Relu") && !g.is(reader, "Clip"))
            return g.is(reader, "QuantizeLinear");
        t = g.output(reader);
    }
}

/// Lets node i read what `dequantize` makes of constant codes instead of the floats that they are made of.
void read_dequantized(ort_graph &g, int i, std::size_t input, node dequantize) {
    const int t = g.add_like(g.input(i, input));
    dequantize.outputs = {t};
    g.insert_before(i, std::move(dequantize));
    g.set_input(i, input, t);
}

/// To s8, over the range from the smallest element to the largest and 0, by the operator itself. Whether it was done.
bool quantize_weights(ort_graph &g, int i) {
    const int w = g.input(i, 1), bias = g.input(i, 2);
    if (!g.is_float_constant(w) ||
        (bias >= 0 && (!g.is_constant(bias) || g.tensor_at(bias).dims.size() != 1)))
        return false;
    const shared_bytes real = g.tensor_at(w).data;
    float low = 0, high = 0;
    for (const float x : values_of<float>(g.tensor_at(w)))
        low = std::min(low, x), high = std::max(high, x);
    const float scale = low == high ? 1.f : (high - low) / 255.f;
    if (!std::isfinite(scale))
        return false;
    const auto zero_point =
        static_cast<std::int8_t>(std::nearbyint(std::clamp(-128.f - low / scale, -128.f, 127.f)));
    const int scale_tensor =
                  g.add_constant("scale of the weights", data_type::f32, {}, bytes_of<float>({scale})),
              zero_tensor = g.add_constant("zero point of the weights", data_type::s8, {},
                                           bytes_of<std::int8_t>({zero_point})),
              codes = g.add_constant("quantized weights", data_type::s8, g.tensor_at(w).dims, {});
    graph &all = g.get_graph();
    tensor &y = all.tensors[static_cast<std::size_t>(codes)];
    y.is_constant = false; // not yet
    y.data = g.evaluate(all, {"QuantizeLinear", {w, scale_tensor, zero_tensor}, {codes}, {}}, 0, real, {});
    y.is_constant = true;
    read_dequantized(g, i, 1, {"DequantizeLinear", {codes, scale_tensor, zero_tensor}, {}, {}});
    return true;
}

/// The bias is quantized each time that the network runs, unless another transformer changes the graph before constants are folded
/// again: ONNX Runtime does not fold what gives another number of dimensions than it has noted.
void compute_bias(ort_graph &g, int i, const quantized &x, const quantized &w) {
    constexpr std::int64_t as_s32 = 6, changes = 2;
    const int bias = g.input(i, 2), scale = g.add_like(x.scale), quotient = g.add_like(bias),
              rounded = g.add_like(bias);
    tensor t = g.tensor_at(rounded);
    t.type = data_type::s32;
    const int codes = g.add_tensor(std::move(t));
    const auto insert = [&](const char *op, std::vector<int> inputs, int y) {
        node n{op, std::move(inputs), {y}, {{not_folded, changes}}};
        if (n.op == std::string("Cast"))
            n.attributes["to"] = as_s32;
        g.insert_before(i, std::move(n));
    };
    insert("Mul", {x.scale, w.scale}, scale);
    insert("Div", {bias, scale}, quotient);
    insert("Round", {quotient}, rounded);
    insert("Cast", {rounded}, codes);
    read_dequantized(g, i, 2, {"DequantizeLinear", {codes, scale}, {}, {}});
}

void quantize_bias(ort_graph &g, int i, bool has_new_weights) {
    const auto x = g.dequantized(g.input(i, 0)), w = g.dequantized(g.input(i, 1));
    const int bias = g.input(i, 2);
    if (!w || !g.is_float_constant(bias) || g.tensor_at(bias).dims.size() != 1)
        return;
    const std::vector<float> real = values_of<float>(g.tensor_at(bias));
    std::vector<float> scales = values_of<float>(g.tensor_at(w->scale));
    if (!g.has_one_scale(*w)) {
        const std::int64_t channels =
            g.is(i, "Gemm") && attribute_or<std::int64_t>(g.at(i), "transB", 0) == 0 ? 1 : 0;
        const auto rank = static_cast<std::int64_t>(g.tensor_at(w->codes).dims.size());
        if (scales.size() != real.size() || (w->axis < 0 ? w->axis + rank : w->axis) != channels)
            return;
    }
    if (g.rank(x->scale) > 0 && g.rank(w->scale) == 0 && !has_new_weights)
        return compute_bias(g, i, *x, *w);
    for (float &scale : scales)
        scale *= g.scale_of(*x);
    std::vector<std::int32_t> rounded;
    for (std::size_t c = 0; c < real.size(); c++)
        rounded.push_back(static_cast<std::int32_t>(
            std::clamp(std::nearbyint(static_cast<double>(real[c] / scales[scales.size() == 1 ? 0 : c])),
                       -2147483648., 2147483647.)));
    const memory::dims all = g.tensor_at(bias).dims, one;
    const int codes = g.add_constant("quantized bias", data_type::s32, all, bytes_of(rounded)),
              scale = g.add_constant("scale of the bias", data_type::f32, scales.size() == 1 ? one : all,
                                     bytes_of(scales));
    read_dequantized(g, i, 2, {"DequantizeLinear", {codes, scale}, {}, {{"axis", std::int64_t{0}}}});
}

} // namespace

void quantize_weights_and_biases(ort_graph &g) {
    g.for_each([&](int i) {
        if (!g.is(i, "Gemm") && !g.is(i, "Conv") && !g.is(i, "ConvTranspose"))
            return;
        const auto x = g.dequantized(g.input(i, 0));
        if (!x || !g.has_one_scale(*x) || !is_quantized(g, g.output(i)))
            return;
        quantize_bias(g, i, quantize_weights(g, i));
    });
}

} // namespace octet::model::ort
