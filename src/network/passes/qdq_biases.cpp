// Biases of floats that ONNX Runtime rounds to s32 codes before it looks for operators on codes
// (WeightBiasQuantization), so that operators that stay on floats, too, add rounded ones.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "network/passes/qdq_passes.hpp"

namespace octet::model {
namespace {

/// Whether one QuantizeLinear reads a tensor, after a Relu or Clip at most. The network's outputs do not matter.
bool is_quantized(const qdq_graph &g, int t) {
    int reader = -1;
    for (const int i : g.consumers(t))
        if (i >= 0) {
            if (reader >= 0)
                return false;
            reader = i;
        }
    if (g.is(reader, "Relu") || g.is(reader, "Clip"))
        return is_quantized(g, g.at(reader).outputs[0]);
    return g.is(reader, "QuantizeLinear");
}

void quantize_bias(qdq_graph &g, int i) {
    const bool is_gemm = g.is(i, "Gemm");
    if (!is_gemm && !g.is(i, "Conv") && !g.is(i, "ConvTranspose"))
        return;
    const auto x = g.dequantized(g.input(i, 0)), w = g.dequantized(g.input(i, 1));
    const int bias = g.input(i, 2);
    if (!x || !w || !g.has_one_scale(*x) || !g.is_constant(bias) || g.type(bias) != data_type::f32 ||
        g.tensor_at(bias).dims.size() != 1 || !is_quantized(g, g.at(i).outputs[0]))
        return;
    const std::vector<float> real = values_of<float>(g.tensor_at(bias));
    std::vector<float> scales = values_of<float>(g.tensor_at(w->scale));
    if (!g.has_one_scale(*w)) {
        const std::int64_t channels =
            is_gemm && attribute_or<std::int64_t>(g.at(i), "transB", 0) == 0 ? 1 : 0;
        const auto rank = static_cast<std::int64_t>(g.tensor_at(w->codes).dims.size());
        if (scales.size() != real.size() || (w->axis < 0 ? w->axis + rank : w->axis) != channels)
            return;
    }
    for (float &scale : scales)
        scale *= g.scale_of(*x);
    std::vector<std::uint8_t> bytes(real.size() * sizeof(std::int32_t)),
        scale_bytes(scales.size() * sizeof(float));
    for (std::size_t c = 0; c < real.size(); c++) {
        const auto code = static_cast<std::int32_t>(
            std::clamp(std::nearbyint(static_cast<double>(real[c] / scales[scales.size() == 1 ? 0 : c])),
                       -2147483648., 2147483647.));
        std::memcpy(bytes.data() + c * sizeof code, &code, sizeof code);
    }
    std::memcpy(scale_bytes.data(), scales.data(), scale_bytes.size());
    const int dequantized = g.add_tensor([&] {
        tensor t = g.tensor_at(bias);
        t.is_constant = false;
        t.data = {};
        return t;
    }());
    const memory::dims all = g.tensor_at(bias).dims, one;
    const int codes = g.add_constant("quantized bias", data_type::s32, all, std::move(bytes)),
              scale = g.add_constant("scale of the bias", data_type::f32, scales.size() == 1 ? one : all,
                                     std::move(scale_bytes));
    g.insert_before(i, {"DequantizeLinear", {codes, scale}, {dequantized}, {{"axis", std::int64_t{0}}}});
    node n = g.at(i);
    n.inputs[2] = dequantized;
    g.replace(i, std::move(n));
}

} // namespace

void quantize_biases(qdq_graph &g) {
    for (int i = 0; i < g.count(); i++)
        quantize_bias(g, i);
}

} // namespace octet::model
