#pragma once // SPDX-License-Identifier: Apache-2.0

// A network of one node: its results at every level and for every number of threads.

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {

using dims = memory::dims;
using model::attribute;
using list = std::vector<std::int64_t>;

/// Values between -limit and limit with nothing in common.
inline std::vector<float> numbers(std::size_t count, float limit, unsigned seed = 1) {
    std::vector<float> values(count);
    for (float &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = limit * (static_cast<float>(seed >> 8) / 8388608.f - 1.f);
    }
    return values;
}

inline std::size_t count_of(const dims &d) { return static_cast<std::size_t>(model::element_count(d)); }

/// A network of one node. Tensors with a scale have one of TFLite's.
struct one_node {
    model::graph graph;
    network_options options;
    std::vector<std::function<void(network &)>> fill;

    explicit one_node(const char *op, const char *framework = "onnx") {
        graph.framework = framework;
        graph.nodes.push_back({op, {}, {}, {}});
    }
    one_node &set(const char *name, attribute value) {
        graph.nodes[0].attributes[name] = std::move(value);
        return *this;
    }
    template <typename T> static data_type type_of() {
        return std::is_same_v<T, float>          ? data_type::f32
               : std::is_same_v<T, std::int32_t> ? data_type::s32
               : std::is_same_v<T, std::int8_t>  ? data_type::s8
                                                 : data_type::u8;
    }
    template <typename T>
    one_node &add(const dims &d, const std::vector<T> &values, bool is_constant, float scale = 0,
                  std::int32_t zero_point = 0) {
        model::tensor t;
        t.name = "x" + std::to_string(graph.tensors.size());
        t.type = type_of<T>();
        t.dims = d;
        if (scale > 0)
            t.quant = {{scale}, {zero_point}, 0};
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(values.data());
        if (is_constant) {
            t.is_constant = true;
            t.data = std::vector<std::uint8_t>(bytes, bytes + values.size() * sizeof(T));
        }
        const int index = static_cast<int>(graph.tensors.size());
        graph.tensors.push_back(std::move(t));
        graph.nodes[0].inputs.push_back(index);
        if (!is_constant) {
            const std::size_t input = graph.inputs.size();
            graph.inputs.push_back(index);
            fill.push_back([=](network &net) { net.input(input).copy_from(values); });
        }
        return *this;
    }
    template <typename T>
    one_node &input(const dims &d, const std::vector<T> &values, float scale = 0,
                    std::int32_t zero_point = 0) {
        return add(d, values, false, scale, zero_point);
    }
    template <typename T>
    one_node &constant(const dims &d, const std::vector<T> &values, float scale = 0,
                       std::int32_t zero_point = 0) {
        return add(d, values, true, scale, zero_point);
    }
    /// Shapes are the operator's own, and so are ONNX's types.
    one_node &output(data_type type = data_type::undef, float scale = 0, std::int32_t zero_point = 0) {
        model::tensor t;
        t.name = "y" + std::to_string(graph.outputs.size());
        t.type = type;
        if (type == data_type::undef)
            t.foreign_type = "unknown";
        if (scale > 0)
            t.quant = {{scale}, {zero_point}, 0};
        const int index = static_cast<int>(graph.tensors.size());
        graph.tensors.push_back(t);
        graph.nodes[0].outputs.push_back(index);
        graph.outputs.push_back(index);
        return *this;
    }

    template <typename T> std::vector<T> run_once(std::size_t i = 0) {
        network net(graph, options);
        for (const auto &f : fill)
            f(net);
        net.run();
        shape = net.output(i).dims();
        return net.output(i).as<T>();
    }
    /// Output `i`, after a look at every level and at 1, 2 and 3 threads.
    template <typename T> std::vector<T> run(std::size_t i = 0) {
        if (graph.outputs.empty())
            output();
        infer_shapes(graph);
        const std::vector<T> result = run_once<T>(i);
        const int usual = get_num_threads();
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 2, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                const std::vector<T> other = run_once<T>(i);
                EXPECT_EQ(std::memcmp(other.data(), result.data(), result.size() * sizeof(T)), 0)
                    << graph.nodes[0].op << " at " << to_string(level) << ", " << threads << " threads";
            }
        set_max_cpu_isa(cpu_isa::all);
        set_num_threads(usual);
        return result;
    }
    std::string refusal() {
        try {
            if (graph.outputs.empty())
                output();
            infer_shapes(graph);
            run_once<float>();
        } catch (const error &e) {
            return e.what();
        }
        return "";
    }
    dims shape;
};

/// Compares floats with numbers of binary64; the tolerance is relative to numbers beyond 1.
inline void expect_near(const std::vector<float> &got, const std::vector<double> &expected,
                        double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); i++)
        ASSERT_NEAR(static_cast<double>(got[i]), expected[i], tolerance * std::max(1., std::abs(expected[i])))
            << i;
}

} // namespace octet::tests
