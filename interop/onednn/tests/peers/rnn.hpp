#pragma once // SPDX-License-Identifier: Apache-2.0

// A recurrent network of u8 states as both libraries run it, for random_rnn_test.cpp.

#include <cstdint>
#include <string>
#include <vector>

namespace peers {

struct rnn_problem {
    bool is_gru = false;
    int direction = 0; ///< oneDNN's number
    std::int64_t steps = 1, batch = 1, inputs = 1, channels = 1, layers = 1;
    std::int64_t projected = 0; ///< channels behind a projection; 0: none
    float data_scale = 1, data_shift = 0;
    int mask = 0; ///< of the scales of weights
    int timed_runs = 0;
    bool f32_results = false, f32_states = false, has_states = false, has_bias = false;
    std::vector<std::uint8_t> src_layer, src_iter; ///< src_iter: codes, for either type of states
    std::vector<float> src_iter_c, weights_layer, weights_iter, projection, bias, scales, projection_scales;

    std::int64_t directions() const { return direction >= 2 ? 2 : 1; }
    std::int64_t gates() const { return is_gru ? 3 : 4; }
    std::int64_t state_channels() const { return projected ? projected : channels; }
};

struct rnn_answer {
    std::vector<std::uint8_t> dst_layer, dst_iter, dst_iter_c; ///< bytes
    double milliseconds = 0; ///< of the processor, in the shortest of the timed runs
    std::string refusal;
};

namespace onednn {
__attribute__((visibility("default"))) rnn_answer ask_rnn(const rnn_problem &p);
}
namespace octet {
rnn_answer ask_rnn(const rnn_problem &p);
}

} // namespace peers
