#pragma once // SPDX-License-Identifier: Apache-2.0

// .tflite files of one operator with state, with random weights: what the operator's test computes by itself, and
// what fuzzing begins with.

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "network/tflite/tests/tflite_builder.hpp"

namespace octet::tests {

/// Changes the inputs of a node as a hostile file may.
using tampering = std::function<void(tflite_builder &, std::vector<int> &inputs)>;

struct linear_code {
    float scale;
    int zero_point;
};

inline std::vector<std::int8_t> random_codes(std::mt19937 &random, int count, int low = -127,
                                             int high = 127) {
    std::uniform_int_distribution<int> code(low, high);
    std::vector<std::int8_t> codes(static_cast<std::size_t>(count));
    for (std::int8_t &c : codes)
        c = static_cast<std::int8_t>(code(random));
    return codes;
}

template <typename T> std::vector<T> random_integers(std::mt19937 &random, int count, int radius) {
    std::uniform_int_distribution<int> value(-radius, radius);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T &v : values)
        v = static_cast<T>(value(random));
    return values;
}

/// One SVDF; T is the type of state and time weights.
template <typename T> struct svdf_model {
    int batch = 1, inputs = 4, units = 3, rank = 1, history = 5;
    linear_code x = {0.05f, 7}, state = {0.1f, sizeof(T) == 1 ? -9 : 0}, y = {0.2f, -20};
    float features_scale = 0.005f, time_scale = sizeof(T) == 1 ? 0.002f : 0.0001f;
    bool has_bias = true;
    format::ActivationFunctionType activation = format::ActivationFunctionType_RELU;
    std::vector<std::int8_t> features;
    std::vector<T> time;
    std::vector<std::int32_t> bias;
    tampering tamper;
    std::optional<int> claimed_rank; ///< set if the file lies

    int filters() const { return units * rank; }

    void draw(unsigned seed) {
        std::mt19937 random(seed);
        features = random_codes(random, filters() * inputs);
        time = random_integers<T>(random, filters() * history, sizeof(T) == 1 ? 127 : 3000);
        bias = random_integers<std::int32_t>(random, units, 20000);
    }

    std::vector<std::uint8_t> file() const {
        constexpr auto state_type = sizeof(T) == 1 ? format::TensorType_INT8 : format::TensorType_INT16;
        tflite_builder b;
        const int src = b.s8({batch, inputs}, x.scale, x.zero_point);
        const int f = b.constant_s8({filters(), inputs}, features, {{features_scale}, {0}, 0});
        const int t = b.constant({filters(), history}, state_type, bytes_of(time), {{time_scale}, {0}, 0});
        const int c = has_bias ? b.constant_s32({units}, bias) : -1;
        const int s =
            b.variable({batch, filters() * history}, state_type, {{state.scale}, {state.zero_point}, 0});
        const int dst = b.s8({batch, units}, y.scale, y.zero_point);
        std::vector<int> in = {src, f, t, c, s};
        if (tamper)
            tamper(b, in);
        b.node(format::BuiltinOperator_SVDF, in, {dst},
               format::CreateSVDFOptions(b.fbb, claimed_rank.value_or(rank), activation));
        return b.finish({src}, {dst});
    }
};

/// One UNIDIRECTIONAL_SEQUENCE_LSTM. Gates: input, forget, cell, output.
struct lstm_model {
    int batch = 1, steps = 3, inputs = 4, units = 5;
    bool is_time_major = false;
    float cell_clip = 0;
    int cell_power = -12;
    linear_code x = {1.f / 64, -5}, y = {1.f / 128, 3};
    std::array<float, 4> input_scales = {0.011f, 0.012f, 0.013f, 0.014f},
                         recurrent_scales = {0.021f, 0.012f, 0.017f, 0.009f};
    std::array<std::vector<std::int8_t>, 4> input_weights, recurrent_weights;
    std::array<std::vector<std::int32_t>, 4> biases;
    tampering tamper;
    bool is_diagonal = false;

    void draw(unsigned seed) {
        std::mt19937 random(seed);
        for (std::size_t g = 0; g < 4; g++) {
            input_weights[g] = random_codes(random, units * inputs);
            recurrent_weights[g] = random_codes(random, units * units);
            biases[g] = random_integers<std::int32_t>(random, units, 3000);
        }
    }

    tflite_builder::dims sequence(int width) const {
        return is_time_major ? tflite_builder::dims{steps, batch, width}
                             : tflite_builder::dims{batch, steps, width};
    }

    std::vector<std::uint8_t> file() const {
        tflite_builder b;
        std::vector<int> in(24, -1);
        in[0] = b.s8(sequence(inputs), x.scale, x.zero_point);
        for (std::size_t g = 0; g < 4; g++) {
            in[1 + g] = b.constant_s8({units, inputs}, input_weights[g], {{input_scales[g]}, {0}, 0});
            in[5 + g] = b.constant_s8({units, units}, recurrent_weights[g], {{recurrent_scales[g]}, {0}, 0});
            in[12 + g] = b.constant_s32({units}, biases[g]);
        }
        in[18] = b.variable({batch, units}, format::TensorType_INT8, {{y.scale}, {y.zero_point}, 0});
        in[19] =
            b.variable({batch, units}, format::TensorType_INT16, {{std::ldexp(1.f, cell_power)}, {0}, 0});
        if (tamper)
            tamper(b, in);
        const int dst = b.s8(sequence(units), y.scale, y.zero_point);
        b.node(format::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM, in, {dst},
               format::CreateUnidirectionalSequenceLSTMOptions(b.fbb, format::ActivationFunctionType_TANH,
                                                               cell_clip, 0.f, is_time_major, false,
                                                               is_diagonal));
        return b.finish({in[0]}, {dst});
    }
};

} // namespace octet::tests
