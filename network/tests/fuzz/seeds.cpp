// SPDX-License-Identifier: Apache-2.0
#include "network/tests/fuzz/seeds.hpp"

#include <limits>

#include "network/tflite/tests/recurrent_models.hpp"

namespace octet::tests {
namespace {

using s8_svdf = svdf_model<std::int8_t>;
using inputs = std::vector<int>;

template <typename Model> std::vector<std::uint8_t> changed(const std::function<void(Model &)> &change) {
    Model m;
    m.draw(1);
    change(m);
    return m.file();
}

template <typename Model>
fuzz_seed honest(
    const char *name, const std::function<void(Model &)> &change = [](Model &) {}) {
    return {name, changed<Model>(change), fuzz_outcome::ran};
}
template <typename Model> fuzz_seed hostile(const char *name, const std::function<void(Model &)> &change) {
    return {name, changed<Model>(change), fuzz_outcome::refused};
}
template <typename Model> fuzz_seed tampered(const char *name, const tampering &tamper) {
    return hostile<Model>(name, [&](Model &m) { m.tamper = tamper; });
}

const tflite_quantization codes_of_tenths = {{0.1f}, {0}, 0};

} // namespace

std::vector<fuzz_seed> recurrent_seeds() {
    constexpr float infinity = std::numeric_limits<float>::infinity(),
                    nan = std::numeric_limits<float>::quiet_NaN();
    constexpr auto s8 = format::TensorType_INT8;
    constexpr auto s16 = format::TensorType_INT16;
    return {
        honest<s8_svdf>("svdf_s8"),
        honest<svdf_model<std::int16_t>>("svdf_s16"),
        honest<lstm_model>("lstm"),
        honest<lstm_model>("lstm_time_major",
                           [](lstm_model &m) {
                               m.is_time_major = true;
                               m.batch = 2;
                               m.cell_clip = 3;
                           }),

        hostile<s8_svdf>("svdf_rank_0", [](s8_svdf &m) { m.claimed_rank = 0; }),
        hostile<s8_svdf>("svdf_rank_of_no_divisor", [](s8_svdf &m) { m.claimed_rank = 2; }),
        hostile<s8_svdf>("svdf_rank_of_none",
                         [](s8_svdf &m) { m.claimed_rank = std::numeric_limits<int>::min(); }),
        tampered<s8_svdf>("svdf_state_computed",
                          [](tflite_builder &b, inputs &in) {
                              in[4] = b.tensor({1, 15}, s8, codes_of_tenths);
                          }),
        tampered<s8_svdf>("svdf_state_constant",
                          [](tflite_builder &b, inputs &in) {
                              in[4] = b.constant_s8({1, 15}, std::vector<std::int8_t>(15), codes_of_tenths);
                          }),
        tampered<s8_svdf>("svdf_state_short",
                          [](tflite_builder &b, inputs &in) {
                              in[4] = b.variable({1, 14}, s8, codes_of_tenths);
                          }),
        tampered<s8_svdf>("svdf_state_empty",
                          [](tflite_builder &b, inputs &in) {
                              in[4] = b.variable({0, 15}, s8, codes_of_tenths);
                          }),
        tampered<s8_svdf>("svdf_state_wide",
                          [](tflite_builder &b, inputs &in) {
                              in[4] = b.variable({1, 15}, s16, codes_of_tenths);
                          }),
        tampered<s8_svdf>("svdf_state_of_many_scales",
                          [](tflite_builder &b, inputs &in) {
                              const std::vector<float> scales(15, 0.1f);
                              in[4] = b.variable({1, 15}, s8, {scales, std::vector<std::int64_t>(15), 1});
                          }),
        tampered<s8_svdf>("svdf_state_is_its_input", [](tflite_builder &, inputs &in) { in[4] = in[0]; }),
        tampered<s8_svdf>("svdf_features_are_its_state", [](tflite_builder &, inputs &in) { in[1] = in[4]; }),
        tampered<s8_svdf>("svdf_without_inputs", [](tflite_builder &, inputs &in) { in.clear(); }),

        hostile<lstm_model>("lstm_clip_nan", [=](lstm_model &m) { m.cell_clip = nan; }),
        hostile<lstm_model>("lstm_clip_infinite", [=](lstm_model &m) { m.cell_clip = infinity; }),
        hostile<lstm_model>("lstm_cell_of_huge_scale", [](lstm_model &m) { m.cell_power = 100; }),
        hostile<lstm_model>("lstm_cell_of_tiny_scale", [](lstm_model &m) { m.cell_power = -140; }),
        hostile<lstm_model>("lstm_factor_too_large", [](lstm_model &m) { m.input_scales.fill(1e30f); }),
        tampered<lstm_model>("lstm_cell_is_the_output_state",
                             [](tflite_builder &, inputs &in) { in[19] = in[18]; }),
        tampered<lstm_model>("lstm_states_swapped",
                             [](tflite_builder &, inputs &in) { std::swap(in[18], in[19]); }),
        tampered<lstm_model>(
            "lstm_cell_constant",
            [](tflite_builder &b, inputs &in) {
                in[19] = b.constant({1, 5}, s16, std::vector<std::uint8_t>(10), {{1.f}, {0}, 0});
            }),
        tampered<lstm_model>("lstm_weights_computed",
                             [](tflite_builder &b, inputs &in) {
                                 in[3] = b.tensor({5, 4}, s8, codes_of_tenths);
                             }),
        tampered<lstm_model>("lstm_weights_of_another_size",
                             [](tflite_builder &b, inputs &in) {
                                 in[8] = b.constant_s8({5, 4}, std::vector<std::int8_t>(20), codes_of_tenths);
                             }),
        tampered<lstm_model>("lstm_biases_short",
                             [](tflite_builder &b, inputs &in) {
                                 in[15] = b.constant_s32({4}, {1, 2, 3, 4});
                             }),
        tampered<lstm_model>("lstm_with_few_inputs", [](tflite_builder &, inputs &in) { in.resize(19); }),
        tampered<lstm_model>("lstm_with_many_inputs",
                             [](tflite_builder &, inputs &in) { in.resize(25, -1); }),
    };
}

} // namespace octet::tests
