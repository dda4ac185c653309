// As `weight_bias_quantization.cc` of ONNX Runtime 1.30, level 1: weights and biases of floats are rounded to
// codes before quantized operators are looked for, so that operators that stay on floats, too, have rounded
// ones.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "network/onnx/rewrites/ort_graph.hpp"
#include "network/onnx/rewrites/transformers.hpp"

namespace octet::model::ort {
namespace {

/// Whether one QuantizeLinear reads a tensor, after a Relu or Clip at most. The network's outputs do not matter.
bool is_quantized(const ort_graph &g, tensor_id t) {
    for (;;) {
        const node_id reader = g.only_edge(t);
        if (!g.is(reader, "Relu") && !g.is(reader, "Clip"))
            return g.is(reader, "QuantizeLinear");
        t = g.output(reader);
    }
}

/// Lets node i read what `dequantize` makes of constant codes instead of the floats that they are made of.
void read_dequantized(ort_graph &g, node_id i, std::size_t input, node dequantize) {
    const tensor_id t = g.add_like(g.input(i, input));
    dequantize.outputs = {t};
    g.insert_before(i, std::move(dequantize));
    g.set_input(i, input, t);
}

/// Whoever runs the network may give another value.
bool is_float_initializer(const ort_graph &g, tensor_id t) {
    return g.is_float(t) && g.tensor_at(t).is_constant;
}

/// To s8, over the range from the smallest element to the largest and 0, by the operator itself. Whether it was done.
bool quantize_weights(ort_graph &g, node_id i) {
    const tensor_id w = g.input(i, 1), bias = g.input(i, 2);
    if (!is_float_initializer(g, w) ||
        (bias && (!g.tensor_at(bias).is_constant || g.tensor_at(bias).dims.size() != 1)))
        return false;
    float low = 0, high = 0;
    for (const float x : values_of<float>(g.tensor_at(w)))
        low = std::min(low, x), high = std::max(high, x);
    const float scale = low == high ? 1.f : (high - low) / 255.f;
    if (!std::isfinite(scale))
        return false;
    const auto zero_point =
        static_cast<std::int8_t>(std::nearbyint(std::clamp(-128.f - low / scale, -128.f, 127.f)));
    const tensor_id scale_tensor =
                        g.add_constant("scale of the weights", data_type::f32, {}, bytes_of<float>({scale})),
                    zero_tensor = g.add_constant("zero point of the weights", data_type::s8, {},
                                                 bytes_of<std::int8_t>({zero_point})),
                    codes = g.add_like(w, data_type::s8);
    g.insert_before(i, {"QuantizeLinear", {w, scale_tensor, zero_tensor}, {codes}, {}});
    read_dequantized(g, i, 1, {"DequantizeLinear", {codes, scale_tensor, zero_tensor}, {}, {}});
    return true;
}

/// The codes of the bias in a scale that is the product of those of x and w. They are folded in the next
/// step, as a rule: what gives another number of dimensions than ONNX Runtime has noted is not, unless
/// another transformer changes the graph before.
void compute_bias(ort_graph &g, node_id i, const quantized &x, const quantized &w, bool is_noted) {
    constexpr std::int64_t as_s32 = 6;
    constexpr int changes = 2;
    const tensor_id bias = g.input(i, 2), scale = g.add_like(g.rank(w.scale) > 0 ? w.scale : x.scale),
                    quotient = g.add_like(bias), rounded = g.add_like(bias),
                    codes = g.add_like(rounded, data_type::s32);
    const auto insert = [&](const char *op, tensor_numbers inputs, tensor_id y,
                            std::map<std::string, attribute> attributes = {}) {
        node n{op, std::move(inputs), {y}, std::move(attributes)};
        if (!is_noted)
            set_mark(n, &node_marks::not_folded, changes);
        g.insert_before(i, std::move(n));
    };
    insert("Mul", {x.scale, w.scale}, scale);
    insert("Div", {bias, scale}, quotient);
    insert("Round", {quotient}, rounded);
    insert("Cast", {rounded}, codes, {{"to", as_s32}});
    read_dequantized(g, i, 2, {"DequantizeLinear", {codes, scale}, {}, {{"axis", std::int64_t{0}}}});
}

void quantize_bias(ort_graph &g, node_id i, bool has_new_weights) {
    const auto x = g.dequantized(g.input(i, 0)), w = g.dequantized(g.input(i, 1));
    const tensor_id bias = g.input(i, 2);
    if (!w || !is_float_initializer(g, bias) || g.rank(bias) != 1)
        return;
    if (!g.has_one_scale(*w)) {
        const bool is_second =
            g.is(i, "ConvTranspose") || (g.is(i, "Gemm") && g.attribute<std::int64_t>(i, "transB", 0) == 0);
        const std::int64_t channels = is_second ? 1 : 0, rank = static_cast<std::int64_t>(g.rank(w->codes));
        if (element_count(g.dims(w->scale)) != g.size(bias, 0) ||
            (w->axis < 0 ? w->axis + rank : w->axis) != channels)
            return;
    }
    compute_bias(g, i, *x, *w, g.rank(x->scale) == 0 || g.rank(w->scale) > 0 || has_new_weights);
}

} // namespace

void quantize_weights_and_biases(ort_graph &g) {
    g.for_each([&](node_id i) {
        if (!g.is(i, "Gemm") && !g.is(i, "Conv") && !g.is(i, "ConvTranspose"))
            return;
        const auto x = g.dequantized(g.input(i, 0));
        if (!x || !g.has_one_scale(*x) || !is_quantized(g, g.output(i)))
            return;
        quantize_bias(g, i, quantize_weights(g, i));
    });
}

} // namespace octet::model::ort
