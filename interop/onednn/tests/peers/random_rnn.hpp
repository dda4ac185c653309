#pragma once // SPDX-License-Identifier: Apache-2.0

// Random recurrent networks, the same for the same seed on one machine. Without VNNI oneDNN adds products of two
// codes in 16 bits, so that weights stay within 63 there, where nothing saturates.

#include <random>

#include "rnn.hpp"

namespace peers {

class rnn_source {
public:
    explicit rnn_source(unsigned seed) : engine_(seed) {}

    rnn_problem draw() {
        rnn_problem p;
        p.is_gru = one_in(2);
        p.direction = static_cast<int>(between(0, 3));
        p.layers = one_in(3) ? between(2, 3) : 1;
        p.steps = between(1, 6);
        p.batch = between(1, 5);
        p.channels = between(1, 48);
        // oneDNN's projection with several layers or with states is not compared.
        if (!p.is_gru && p.layers == 1 && one_in(4))
            p.projected = between(1, 32);
        p.inputs = p.layers > 1 ? p.state_channels() : between(1, 80);
        p.has_states = !p.projected && one_in(2);
        p.has_bias = true; // oneDNN needs one
        p.f32_results = one_in(2);
        p.f32_states = one_in(2);
        p.data_scale = static_cast<float>(between(200, 900)) / 7;
        p.data_shift = static_cast<float>(between(0, 500)) / 2;
        const std::int64_t stacks = p.layers * p.directions(), gates = p.gates();
        const bool is_per_channel = one_in(2);
        p.mask = is_per_channel ? 24 : 0;
        const std::int64_t count = is_per_channel ? gates * p.channels : 1;
        for (std::int64_t k = 0; k < count; k++)
            p.scales.push_back(static_cast<float>(between(300, 2500)) / 7);
        p.projection_scales = {static_cast<float>(between(300, 2500)) / 7};
        p.src_layer = codes(p.steps * p.batch * p.inputs);
        if (p.has_states) {
            p.src_iter = codes(stacks * p.batch * p.state_channels());
            p.src_iter_c = reals(stacks * p.batch * p.channels, 2);
        }
        // Of a scale of at most 357 codes: neither clipped nor beyond the highest.
        const float largest = (__builtin_cpu_supports("avx512vnni") ? 127.f : 63.f) / 357.2f;
        p.weights_layer = reals(stacks * p.inputs * gates * p.channels, largest);
        p.weights_iter = reals(stacks * p.state_channels() * gates * p.channels, largest);
        if (p.projected)
            p.projection = reals(stacks * p.channels * p.projected, largest);
        p.bias = reals(stacks * gates * p.channels, 2);
        return p;
    }

private:
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    bool one_in(int n) { return between(1, n) == 1; }
    std::vector<std::uint8_t> codes(std::int64_t n) {
        std::vector<std::uint8_t> values;
        for (std::int64_t i = 0; i < n; i++)
            values.push_back(static_cast<std::uint8_t>(between(0, 255)));
        return values;
    }
    std::vector<float> reals(std::int64_t n, float largest) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < n; i++)
            values.push_back(largest * static_cast<float>(between(-10000, 10000)) / 10000);
        return values;
    }

    std::mt19937 engine_;
};

} // namespace peers
