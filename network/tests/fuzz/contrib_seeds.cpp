// Seeds of ONNX Runtime's own operators, of functions and rows of floats, and of Resize: each once as it
// should be, and with sizes, factors and indices that are not.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>

#include "network/onnx/tests/onnx_encoder.hpp"
#include "network/tests/fuzz/seeds.hpp"

namespace octet::tests {
namespace {

using b = onnx_builder;
using change = std::function<void(onnx::NodeProto &)>;

constexpr std::int64_t width = 8, length = 4, words = 256, huge = std::int64_t{1} << 40;
constexpr auto ran = fuzz_outcome::ran, refused = fuzz_outcome::refused;

/// A model whose operator computes "y".
struct model : b {
    explicit model(std::int64_t opset = 17) : b(opset) { output("y"); }

    std::string floats(const std::string &name, const dims &shape, unsigned seed = 1) {
        std::size_t count = 1;
        for (const std::int64_t d : shape)
            count *= static_cast<std::size_t>(d);
        return constant(name, shape, with_deviation(count, 0.4f, seed));
    }
    /// Any bytes as indices.
    std::string indices(const std::string &name, const dims &shape) {
        input<std::uint8_t>(name, shape);
        set(node("Cast", {name}, {name + "_s32"}), "to", std::int64_t{onnx::TensorProto::INT32});
        return name + "_s32";
    }
};

/// A function or normalization of x {1, length, width}, then `parameters` of `width` elements.
fuzz_seed rows(const char *name, fuzz_outcome expected, const char *op, const char *domain,
               std::size_t parameters, const change &with = {}) {
    model m;
    m.input<float>("x", {1, length, width});
    b::names inputs = {"x"};
    for (std::size_t i = 0; i < parameters; i++)
        inputs.push_back(m.floats("p" + std::to_string(i), {width}, static_cast<unsigned>(i)));
    onnx::NodeProto &n = m.node(op, inputs, {"y"}, domain);
    if (with)
        with(n);
    return {name, m.finish(), expected};
}

change attribute(const char *name, std::int64_t value) {
    return [=](onnx::NodeProto &n) { b::set(n, name, value); };
}
change attribute(const char *name, float value) {
    return [=](onnx::NodeProto &n) { b::set(n, name, value); };
}

/// x {1, 2, 3, 5} resized by `factors`, or to `sizes` where there are some.
fuzz_seed resize(const char *name, fuzz_outcome expected, const char *mode, const char *coordinates,
                 const std::vector<float> &factors, const b::dims &sizes = {}) {
    model m;
    m.input<float>("x", {1, 2, 3, 5});
    b::names inputs = {"x", "", ""};
    if (sizes.empty())
        inputs[2] = m.constant<float>("factors", {static_cast<std::int64_t>(factors.size())}, factors);
    else
        inputs.push_back(m.constant<std::int64_t>("sizes", {static_cast<std::int64_t>(sizes.size())}, sizes));
    onnx::NodeProto &n = m.node("Resize", inputs, {"y"});
    b::set(n, "mode", mode);
    b::set(n, "coordinate_transformation_mode", coordinates);
    return {name, m.finish(), expected};
}

fuzz_seed product(const char *name, fuzz_outcome expected, float alpha, std::int64_t rows_of_b) {
    model m;
    m.input<float>("x", {2, length, width});
    m.floats("w", {rows_of_b, width});
    onnx::NodeProto &n = m.node("FusedMatMul", {"x", "w"}, {"y"}, b::microsoft);
    b::set(n, "alpha", alpha);
    b::set(n, "transB", std::int64_t{1});
    return {name, m.finish(), expected};
}

fuzz_seed dynamic_product(const char *name, fuzz_outcome expected, std::int64_t scales) {
    model m;
    m.input<float>("x", {length, width});
    m.constant("w", {width, 5}, codes(static_cast<std::size_t>(width * 5), 3));
    m.floats("scale", {scales});
    m.node("DynamicQuantizeMatMul", {"x", "w", "scale"}, {"y"}, b::microsoft);
    return {name, m.finish(), expected};
}

/// An Attention of 2 heads, unless `with` says otherwise.
fuzz_seed attention(const char *name, fuzz_outcome expected, std::int64_t heads, std::int64_t mask_length,
                    const change &with = {}) {
    model m;
    m.input<float>("x", {1, length, width});
    m.floats("w", {width, 3 * width});
    m.floats("bias", {3 * width});
    onnx::NodeProto &n =
        m.node("Attention", {"x", "w", "bias", m.indices("mask", {1, mask_length})}, {"y"}, b::microsoft);
    b::set(n, "num_heads", heads);
    if (with)
        with(n);
    return {name, m.finish(), expected};
}

fuzz_seed quantized_attention(const char *name, fuzz_outcome expected, float x_scale) {
    model m;
    m.input<std::uint8_t>("x", {1, length, width});
    m.constant("w", {width, 3 * width}, codes(static_cast<std::size_t>(3 * width * width), 3));
    m.floats("bias", {3 * width});
    m.scalar("x_scale", x_scale), m.scalar("w_scale", 0.003f), m.scalar<std::uint8_t>("x_zero", 120);
    b::set(m.node("QAttention", {"x", "w", "bias", "x_scale", "w_scale", "", "x_zero"}, {"y"}, b::microsoft),
           "num_heads", std::int64_t{2});
    return {name, m.finish(), expected};
}

/// `rows_of_words` below 256 leaves indices without a row.
fuzz_seed embedding(const char *name, fuzz_outcome expected, std::int64_t rows_of_words,
                    std::int64_t places) {
    model m;
    b::names inputs = {m.indices("ids", {1, length}), ""};
    inputs.push_back(m.floats("word", {rows_of_words, width}));
    inputs.push_back(m.floats("place", {places, width}));
    inputs.insert(inputs.end(), {"", m.floats("scale", {width}), m.floats("shift", {width})});
    m.node("EmbedLayerNormalization", inputs, {"y", "counted"}, b::microsoft);
    return {name, m.finish(), expected};
}

} // namespace

std::vector<fuzz_seed> contrib_seeds() {
    constexpr const char *own = b::microsoft, *standard = "";
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    return {
        rows("softmax", ran, "Softmax", standard, 0),
        rows("softmax_axis", refused, "Softmax", standard, 0, attribute("axis", -huge)),
        rows("layer_normalization", ran, "LayerNormalization", standard, 2),
        rows("layer_normalization_axis", refused, "LayerNormalization", standard, 2, attribute("axis", huge)),
        rows("layer_normalization_epsilon", refused, "LayerNormalization", standard, 2,
             attribute("epsilon", nan)),
        rows("gelu", ran, "Gelu", own, 0),
        rows("bias_gelu", ran, "BiasGelu", own, 1),
        rows("bias_gelu_without", refused, "BiasGelu", own, 0),
        rows("fast_gelu", ran, "FastGelu", own, 1),
        rows("quick_gelu", ran, "QuickGelu", own, 0, attribute("alpha", 1.702f)),
        rows("erf", ran, "Erf", standard, 0),
        rows("skip_layer_normalization", ran, "SkipLayerNormalization", own, 4,
             [](onnx::NodeProto &n) { n.set_input(1, "x"); }),
        rows("skip_layer_normalization_short", refused, "SkipLayerNormalization", own, 1),
        resize("resize_nearest", ran, "nearest", "asymmetric", {1, 1, 2, 2}),
        resize("resize_linear", ran, "linear", "half_pixel", {1, 1, 1.7f, 0.6f}),
        resize("resize_cubic", ran, "cubic", "half_pixel", {1, 1, 1.7f, 0.6f}),
        resize("resize_cubic_tiny", ran, "cubic", "align_corners", {1, 1, 0.4f, 0.3f}),
        resize("resize_cubic_channels", refused, "cubic", "half_pixel", {1, 2, 2, 2}),
        resize("resize_sizes", ran, "nearest", "align_corners", {}, {1, 2, 1, 9}),
        resize("resize_huge", refused, "linear", "half_pixel", {1, 1, 1e30f, 1e30f}),
        resize("resize_infinite", refused, "nearest", "half_pixel", {1, 1, infinity, 1}),
        resize("resize_nan", refused, "nearest", "half_pixel", {1, 1, nan, 1}),
        resize("resize_negative", refused, "nearest", "half_pixel", {1, 1, -1, 1}),
        resize("resize_few_factors", refused, "linear", "half_pixel", {2}),
        resize("resize_no_size", refused, "nearest", "asymmetric", {}, {1, 2, 0, 5}),
        resize("resize_huge_sizes", refused, "nearest", "asymmetric", {}, {1, 2, huge, huge}),
        product("fused_product", ran, 0.3f, 5),
        product("fused_product_infinite", refused, infinity, 5),
        dynamic_product("dynamic_product", ran, 1),
        dynamic_product("dynamic_product_scales", refused, 3),
        attention("attention", ran, 2, length),
        attention("attention_heads", refused, 3, length),
        attention("attention_no_heads", refused, 0, length),
        attention("attention_negative_heads", refused, -huge, length),
        attention("attention_mask", refused, 2, length + 1),
        quantized_attention("quantized_attention", ran, 0.01f),
        quantized_attention("quantized_attention_scale", refused, nan),
        embedding("embedding", ran, words, length),
        embedding("embedding_outside", refused, words / 2, length),
        embedding("embedding_few_places", refused, words, length - 1),
    };
}

} // namespace octet::tests
