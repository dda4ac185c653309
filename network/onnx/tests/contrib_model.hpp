#pragma once // SPDX-License-Identifier: Apache-2.0

// An .onnx model of one operator that gives "y", and numbers to feed it; runs at every level and several thread counts.

#include <gtest/gtest.h>

#include "network/onnx/tests/onnx_builder.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {

using dims = onnx_builder::dims;
using row = std::vector<float>;

/// Values between -limit and limit with nothing in common.
inline row numbers(std::size_t count, float limit, unsigned seed = 1) {
    row values(count);
    for (float &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = limit * (static_cast<float>(seed >> 8) / 8388608.f - 1.f);
    }
    return values;
}
template <typename T> std::vector<T> codes(std::size_t count, unsigned seed = 1) {
    std::vector<T> values(count);
    for (T &v : values) {
        seed = seed * 1664525 + 1013904223;
        v = static_cast<T>(seed >> 24);
    }
    return values;
}

/// A model whose operator computes "y".
struct contrib_model : onnx_builder {
    contrib_model() { output("y"); }
    onnx::NodeProto &own(const char *op, const names &inputs) { return node(op, inputs, {"y"}, microsoft); }

    template <typename... Inputs> row run_once(const Inputs &...inputs) const {
        const std::vector<std::uint8_t> file = finish();
        network net(file.data(), file.size(), "contrib.onnx");
        std::size_t i = 0;
        (net.input(i++).copy_from(inputs), ...);
        net.run();
        return net.output(0).as<float>();
    }
    /// "y", after a look at every level and at 1 and 3 threads.
    template <typename... Inputs> row run(const Inputs &...inputs) const {
        const row result = run_once(inputs...);
        const int usual = get_num_threads();
        for (const cpu_isa level : get_available_cpu_isas())
            for (const int threads : {1, 3}) {
                set_max_cpu_isa(level);
                set_num_threads(threads);
                EXPECT_EQ(run_once(inputs...), result) << to_string(level) << ", " << threads << " threads";
                set_max_cpu_isa(cpu_isa::all);
                set_num_threads(usual);
            }
        return result;
    }
};

} // namespace octet::tests
