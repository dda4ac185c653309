#pragma once // SPDX-License-Identifier: Apache-2.0

// Writes an encoder of one layer as exporters and quantizers do: shapes are computed, Gelu and
// LayerNormalization come in their parts.

#include <cmath>
#include <set>

#include "network/onnx/tests/onnx_builder.hpp"

namespace octet::tests {

inline std::vector<float> with_deviation(std::size_t count, float deviation, unsigned seed) {
    std::vector<float> values(count);
    for (float &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = deviation * 1.7f * (static_cast<float>(seed >> 8) / 8388608.f - 1.f);
    }
    return values;
}

inline std::vector<std::int8_t> codes(std::size_t count, unsigned seed) {
    std::vector<std::int8_t> values;
    for (const float v : with_deviation(count, 70.f, seed))
        values.push_back(static_cast<std::int8_t>(v));
    return values;
}

/// One layer with one attention of 3 heads of 8; ids {batch, sequence} of 20 words. With a `sequence` the
/// sizes are fixed and the ids come from bytes, which are all words then.
class encoder : public onnx_builder {
public:
    static constexpr std::int64_t width = 24, heads = 3, inner = 40, words = 20, bytes = 256;

    explicit encoder(bool is_dynamic, std::int64_t sequence = 0) : is_dynamic_(is_dynamic) {
        const std::int64_t count = sequence == 0 ? words : bytes;
        if (sequence == 0) {
            input<std::int64_t>("ids", {-1, -1});
            auto &shape = *graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
            shape.mutable_dim(0)->set_dim_param("batch");
            shape.mutable_dim(1)->set_dim_param("sequence");
        } else {
            input<std::uint8_t>("bytes", {1, sequence});
            set(node("Cast", {"bytes"}, {"ids"}), "to", std::int64_t{7});
        }
        for (const std::int64_t i : {0, 1})
            scalar<std::int64_t>("i" + std::to_string(i), i);
        constant<std::int64_t>("axis0", {1}, {0});
        constant<std::int64_t>("heads", {1}, {heads}), constant<std::int64_t>("head", {1}, {width / heads});
        constant<std::int64_t>("flat", {3}, {0, 0, width});
        scalar<float>("two", 2.f), scalar<float>("one", 1.f), scalar<float>("half", 0.5f),
            scalar<float>("sqrt2", 1.4142135f);
        scalar<float>("epsilon", 1e-5f), scalar<float>("root", std::sqrt(8.f));
        constant<std::int8_t>("table", {count, width}, codes(static_cast<std::size_t>(count * width), 1));
        scalar<float>("table_scale", 0.02f), scalar<std::int8_t>("table_zp", 3);
        node("Gather", {"table", "ids"}, {"word_codes"});
        node("DequantizeLinear", {"word_codes", "table_scale", "table_zp"}, {"words"});
        const std::string x = normalization("words", "first");
        const std::string y = normalization(sum(attention(x), x, "skip"), "second");
        const std::string z = product(gelu(product(y, "inner", inner, width)), "outer", width, inner);
        node("Identity", {normalization(sum(z, y, "end"), "last")}, {"out"});
        output("out");
    }

private:
    std::string sum(const std::string &a, const std::string &c, const std::string &name) {
        node("Add", {a, c}, {name});
        return name;
    }

    std::string normalization(const std::string &x, const std::string &n) {
        constant<float>(n + "_gamma", {width}, with_deviation(width, 1.f, 5)),
            constant<float>(n + "_beta", {width}, with_deviation(width, 0.2f, 6));
        set(node("ReduceMean", {x}, {n + "_mean"}), "axes", dims{-1});
        node("Sub", {x, n + "_mean"}, {n + "_centred"});
        node("Pow", {n + "_centred", "two"}, {n + "_square"});
        set(node("ReduceMean", {n + "_square"}, {n + "_variance"}), "axes", dims{-1});
        node("Add", {n + "_variance", "epsilon"}, {n + "_sum"});
        node("Sqrt", {n + "_sum"}, {n + "_deviation"});
        node("Div", {n + "_centred", n + "_deviation"}, {n + "_normal"});
        node("Mul", {n + "_normal", n + "_gamma"}, {n + "_scaled"});
        node("Add", {n + "_scaled", n + "_beta"}, {n});
        return n;
    }

    std::string gelu(const std::string &x) {
        node("Div", {x, "sqrt2"}, {"quotient"});
        node("Erf", {"quotient"}, {"erf"});
        node("Add", {"erf", "one"}, {"shifted"});
        node("Mul", {x, "shifted"}, {"doubled"});
        node("Mul", {"doubled", "half"}, {"gelu"});
        return "gelu";
    }

    std::string real(const std::string &x) {
        const names q = {x + "_scale", x + "_zp"};
        if (quantized_.insert(x).second) {
            scalar<float>(q[0], 0.03f), scalar<std::uint8_t>(q[1], 128);
            node("QuantizeLinear", {x, q[0], q[1]}, {x + "_codes"});
        }
        const std::string y = x + "_real" + std::to_string(graph().node_size());
        node("DequantizeLinear", {x + "_codes", q[0], q[1]}, {y});
        return y;
    }

    std::string product(const std::string &x, const std::string &n, std::int64_t columns, std::int64_t rows) {
        constant<std::int8_t>(n + "_w", {rows, columns}, codes(static_cast<std::size_t>(rows * columns), 9));
        constant<float>(n + "_bias", {columns}, with_deviation(static_cast<std::size_t>(columns), 0.1f, 11));
        const std::vector<float> scales(static_cast<std::size_t>(columns), 0.004f);
        constant<float>(n + "_w_scale", {columns}, scales);
        constant<std::int8_t>(n + "_w_zp", {columns},
                              std::vector<std::int8_t>(static_cast<std::size_t>(columns), 0));
        if (is_dynamic_) {
            if (quantized_.insert(x).second)
                node("DynamicQuantizeLinear", {x}, {x + "_codes", x + "_scale", x + "_zp"});
            node("MatMulInteger", {x + "_codes", n + "_w", x + "_zp", n + "_w_zp"}, {n + "_integers"});
            set(node("Cast", {n + "_integers"}, {n + "_cast"}), "to", std::int64_t{1});
            node("Mul", {x + "_scale", n + "_w_scale"}, {n + "_factor"});
            node("Mul", {n + "_cast", n + "_factor"}, {n + "_product"});
        } else {
            set(node("DequantizeLinear", {n + "_w", n + "_w_scale", n + "_w_zp"}, {n + "_w_real"}), "axis",
                std::int64_t{1});
            node("MatMul", {real(x), n + "_w_real"}, {n + "_product"});
        }
        return sum(n + "_bias", n + "_product", n);
    }

    std::string split(const std::string &x, const dims &permutation) {
        node("Shape", {x}, {x + "_shape"});
        for (const std::string i : {"i0", "i1"}) {
            node("Gather", {x + "_shape", i}, {x + i});
            node("Unsqueeze", {x + i, "axis0"}, {x + i + "_list"});
        }
        set(node("Concat", {x + "i0_list", x + "i1_list", "heads", "head"}, {x + "_new"}), "axis",
            std::int64_t{0});
        node("Reshape", {x, x + "_new"}, {x + "_split"});
        set(node("Transpose", {x + "_split"}, {x + "_heads"}), "perm", permutation);
        return is_dynamic_ ? x + "_heads" : real(x + "_heads");
    }

    std::string attention(const std::string &x) {
        const std::string q = split(product(x, "q", width, width), {0, 2, 1, 3}),
                          k = split(product(x, "k", width, width), {0, 2, 3, 1}),
                          v = split(product(x, "v", width, width), {0, 2, 1, 3});
        node("MatMul", {q, k}, {"products"});
        node("Div", {"products", "root"}, {"scores"});
        set(node("Softmax", {"scores"}, {"weights"}), "axis", std::int64_t{-1});
        node("MatMul", {is_dynamic_ ? "weights" : real("weights"), v}, {"sums"});
        set(node("Transpose", {"sums"}, {"turned"}), "perm", dims{0, 2, 1, 3});
        node("Reshape", {"turned", "flat"}, {"context"});
        return product("context", "o", width, width);
    }

    bool is_dynamic_;
    std::set<std::string> quantized_;
};

} // namespace octet::tests
