#pragma once // SPDX-License-Identifier: Apache-2.0

// A small quantized model in pairs of QuantizeLinear and DequantizeLinear, and sessions on Octet, for tests
// of what a session does besides computing.

#include <string>
#include <utility>
#include <vector>

#include "interop/onnxruntime/tests/host.hpp"
#include "network/onnx/tests/onnx_builder.hpp"

namespace octet::tests {

inline session_options with_octet(options provider = {}, options entries = {}) {
    session_options o;
    o.who = by::octet;
    o.provider = std::move(provider);
    o.entries = std::move(entries);
    return o;
}

inline ort_tensor reals(std::vector<std::int64_t> dims, unsigned seed) {
    return random_reals(std::move(dims), seed, 3.f);
}

/// Pairs of QuantizeLinear and DequantizeLinear around products, with more in the middle.
class pairs : public onnx_builder {
public:
    explicit pairs(const std::string &middle = "", std::int64_t batch = 2) {
        input<float>("x", {batch, 3, 8, 8});
        scalar<float>("s", 0.03f), scalar<float>("ws", 0.01f);
        scalar<std::uint8_t>("z", 0), scalar<std::int8_t>("wz", 0);
        std::string t = convolution(quantized("x", "x"), "first", 3, 8);
        if (!middle.empty()) {
            node(middle, {t + "_real"}, {"middle"});
            t = quantized("middle", "middle");
        }
        t = convolution(t, "second", 8, 4);
        node("Identity", {t + "_real"}, {"y"});
        output<float>("y", {batch, 4, 8, 8});
    }

private:
    /// Codes of `real`, and "NAME_real" again.
    std::string quantized(const std::string &real, const std::string &name) {
        node("QuantizeLinear", {real, "s", "z"}, {name + "_q"});
        node("DequantizeLinear", {name + "_q", "s", "z"}, {name + "_real"});
        return name;
    }
    std::string convolution(const std::string &x, const std::string &name, std::int64_t from,
                            std::int64_t to) {
        std::vector<std::int8_t> w(static_cast<std::size_t>(to * from * 9));
        for (std::size_t i = 0; i < w.size(); i++)
            w[i] = static_cast<std::int8_t>(i * 37 % 129 - 64); // sums of two products fit 16 bits
        constant<std::int8_t>(name + "_w", {to, from, 3, 3}, w);
        node("DequantizeLinear", {name + "_w", "ws", "wz"}, {name + "_w_real"});
        set(node("Conv", {x + "_real", name + "_w_real"}, {name + "_sum"}), "pads", dims{1, 1, 1, 1});
        node("Relu", {name + "_sum"}, {name + "_relu"});
        return quantized(name + "_relu", name);
    }
};

} // namespace octet::tests
