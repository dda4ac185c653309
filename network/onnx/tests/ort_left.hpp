#pragma once // SPDX-License-Identifier: Apache-2.0

// Small graphs through ONNX Runtime's transformers: what is left of them, what they compute, and parts that
// tests build them of.

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/tests/onnx_builder.hpp"
#include "network/run/evaluate.hpp"
#include "octet/network.hpp"

namespace octet::tests {

/// "Tanh Neg"
inline std::string operators_left(const onnx_builder &m) {
    const std::vector<std::uint8_t> file = m.finish();
    model::graph g = model::read_onnx(file.data(), file.size(), "net.onnx");
    model::transform_as_onnx_runtime(g, model::evaluate);
    std::string names;
    for (const model::node &n : g.nodes)
        names += (names.empty() ? "" : " ") + n.op;
    return names;
}

/// Returns the operators that a network of the file keeps, sorted by name.
inline std::vector<std::string> sorted_operators(const onnx_builder &m, const network_options &options = {}) {
    const std::vector<std::uint8_t> file = m.finish();
    std::vector<std::string> all = network(file.data(), file.size(), "net.onnx", options).operators_left();
    std::sort(all.begin(), all.end());
    return all;
}

inline std::vector<float> wave(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<float>(i * 37 % 11) / 8.f - 0.5f;
    return values;
}

/// The outputs of a network whose inputs are `wave`.
inline std::vector<float> computed(const onnx_builder &m) {
    const std::vector<std::uint8_t> file = m.finish();
    network net(model::read_onnx(file.data(), file.size(), "net.onnx"));
    for (const int t : net.get_graph().inputs) {
        const memory x = net.get_memory(t);
        const std::vector<float> values = wave(x.get_desc().get_size() / sizeof(float));
        std::copy(values.begin(), values.end(), x.map_data<float>());
    }
    net.run();
    const memory y = net.get_memory(net.get_graph().outputs.at(0));
    return {y.map_data<float>(), y.map_data<float>() + y.get_desc().get_size() / sizeof(float)};
}

// ---- Codes

struct pair_of_codes {
    const char *name;
    float scale;
    std::uint8_t zero_point;
    bool is_list = false; ///< parameters of one dimension
};

inline void add_parameters(onnx_builder &m, const pair_of_codes &p) {
    const onnx_builder::dims dims = p.is_list ? onnx_builder::dims{1} : onnx_builder::dims{};
    m.constant<float>(std::string(p.name) + "_scale", dims, {p.scale});
    m.constant<std::uint8_t>(std::string(p.name) + "_zero", dims, {p.zero_point});
}
/// Codes of x, and what they stand for: the tensors NAME_codes and NAME.
inline void add_pair(onnx_builder &m, const std::string &x, const pair_of_codes &p) {
    const std::string name = p.name;
    add_parameters(m, p);
    m.node("QuantizeLinear", {x, name + "_scale", name + "_zero"}, {name + "_codes"});
    m.node("DequantizeLinear", {name + "_codes", name + "_scale", name + "_zero"}, {name});
}
/// Dequantized constants with scales along one axis, whatever it is.
inline void add_weights(onnx_builder &m, const onnx_builder::dims &dims, const std::vector<float> &scales,
                        std::int64_t axis) {
    const auto count = static_cast<std::size_t>(
        std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
    std::vector<std::int8_t> codes(count);
    for (std::size_t i = 0; i < count; i++)
        codes[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
    const auto n = static_cast<std::int64_t>(scales.size());
    m.constant<std::int8_t>("codes", dims, codes);
    m.constant<float>("w_scale", {n}, scales);
    m.constant<std::int8_t>("w_zero", {n}, std::vector<std::int8_t>(scales.size()));
    onnx_builder::set(m.node("DequantizeLinear", {"codes", "w_scale", "w_zero"}, {"w"}), "axis", axis);
}

} // namespace octet::tests
