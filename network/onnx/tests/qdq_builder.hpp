#pragma once // SPDX-License-Identifier: Apache-2.0

// Networks in QDQ form for tests: a builder that names the parameters of tensors, the operators that ONNX
// Runtime and Octet make of a network, and its bytes.

#include <limits>

#include "network/onnx/layouts/octet_operators.hpp"
#include "network/onnx/rewrites/transformers.hpp"
#include "network/onnx/tests/onnx_builder.hpp"
#include "network/run/evaluate.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {

using bytes = std::vector<std::uint8_t>;
using b = onnx_builder;

inline model::graph read(const onnx_builder &m) {
    const bytes file = m.finish();
    return model::read_onnx(file.data(), file.size(), "net.onnx");
}

/// "QuantizeLinear QLinearConv"
inline std::string names_of(const model::graph &g) {
    std::string names;
    for (const model::node &n : g.nodes)
        if (n.op != "Identity") // leaves out a pair that cancelled
            names += (names.empty() ? "" : " ") + n.op;
    return names;
}

/// Operators that ONNX Runtime would run.
inline std::string operators(const onnx_builder &m) {
    model::graph g = read(m);
    model::transform_as_onnx_runtime(g, model::evaluate);
    return names_of(g);
}

/// Octet's own.
inline std::string joined_operators(const onnx_builder &m) {
    model::graph g = read(m);
    model::transform_as_onnx_runtime(g, model::evaluate);
    model::use_octet_operators(g, model::evaluate);
    return names_of(g);
}

inline bytes run(const onnx_builder &m) {
    network net(read(m));
    const memory x = net.get_memory(net.get_graph().inputs.at(0)),
                 y = net.get_memory(net.get_graph().outputs.at(0));
    for (std::size_t i = 0; i < x.get_desc().get_size(); i++)
        x.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 89 + i / 7);
    net.run();
    return {y.map_data<std::uint8_t>(), y.map_data<std::uint8_t>() + y.get_desc().get_size()};
}

/// A network from codes u8 or s8 to codes, with helpers that name the parameters of a tensor "t": t_scale,
/// t_zp.
template <typename Code> struct qdq_builder : onnx_builder {
    using onnx_builder::onnx_builder;
    b::names parameters(const std::string &t, float scale, int zero_point) {
        if (!is_known(t)) {
            scalar<float>(t + "_scale", scale);
            scalar<Code>(t + "_zp", static_cast<Code>(zero_point));
        }
        return {t + "_scale", t + "_zp"};
    }
    b::names code_input(const b::dims &shape, float scale = 0.02f, int zero_point = 5) {
        input<Code>("x", shape);
        const b::names q = parameters("x", scale, zero_point);
        return {"x", q[0], q[1]};
    }
    std::string dequantize(const b::names &q, const std::string &real) {
        node("DequantizeLinear", q, {real});
        return real;
    }
    void quantize(const std::string &real, const b::names &q, const std::string &codes) {
        node("QuantizeLinear", {real, q[0], q[1]}, {codes});
        output(codes);
    }

private:
    bool is_known(const std::string &t) {
        for (const auto &c : graph().initializer())
            if (c.name() == t + "_scale")
                return true;
        return false;
    }
};

inline b::names operator+(b::names a, const b::names &more) {
    a.insert(a.end(), more.begin(), more.end());
    return a;
}

inline const b::dims image = {2, 4, 5, 6};

template <typename T> inline constexpr int lowest = std::numeric_limits<T>::min();

} // namespace octet::tests
