// The refusals of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM, each with its sentence.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "network/tflite/tests/recurrent_models.hpp"
#include "octet/network.hpp"

namespace octet::tests {
namespace {

network made_of(const std::vector<std::uint8_t> &file) { return {file.data(), file.size(), "test"}; }

/// The node has inputs that it should not have, constants of one code.
tampering given(std::vector<std::size_t> inputs) {
    return [=](tflite_builder &b, std::vector<int> &in) {
        for (const std::size_t i : inputs)
            in[i] = b.constant_s8({1}, {1}, {{1.f}, {0}, 0});
    };
}
tampering absent(std::vector<std::size_t> inputs) {
    return [=](tflite_builder &, std::vector<int> &in) {
        for (const std::size_t i : inputs)
            in[i] = -1;
    };
}

template <typename Model> void expect_refusal(const Model &m, status expected, const std::string &sentence) {
    try {
        made_of(m.file());
        ADD_FAILURE() << "not refused: " << sentence;
    } catch (const error &e) {
        EXPECT_EQ(e.status, expected) << e.what();
        EXPECT_NE(std::string(e.what()).find(sentence), std::string::npos) << e.what();
    }
}

TEST(Lstm, RefusesItsVariantsByName) {
    const auto refused = [](const std::function<void(lstm_model &)> &change, const char *sentence) {
        lstm_model m;
        m.draw(1);
        change(m);
        expect_refusal(m, status::unimplemented, sentence);
    };
    refused([](lstm_model &m) { m.tamper = given({10}); }, "a peephole (input 10) is not supported");
    refused([](lstm_model &m) { m.tamper = given({16}); }, "a projection (input 16) is not supported");
    refused([](lstm_model &m) { m.tamper = given({22}); },
            "a layer normalization (input 22) is not supported");
    refused([](lstm_model &m) { m.tamper = absent({1, 5, 12}); }, "(CIFG: input 1 is absent)");
    refused([](lstm_model &m) { m.is_diagonal = true; }, "diagonal recurrent weights are not supported");
}

TEST(Lstm, RefusesWhatDoesNotFit) {
    const auto refused = [](const std::function<void(lstm_model &)> &change, const char *sentence) {
        lstm_model m;
        m.draw(1);
        change(m);
        expect_refusal(m, status::invalid_arguments, sentence);
    };
    refused([](lstm_model &m) { m.cell_clip = -1; }, "attribute 'cell_clip' is -1");
    refused([](lstm_model &m) { m.cell_power = 3; }, "allowed are powers of two from 2^-27 to 4 and 0");
    refused([](lstm_model &m) { m.tamper = absent({7}); }, "input 7 is missing");
    refused([](lstm_model &m) { m.tamper = absent({18}); }, "input 18 is missing");
}

TEST(Svdf, RefusesWhatDoesNotFit) {
    svdf_model<std::int8_t> m;
    m.draw(1);
    m.rank = 2; // there are 3 filters
    m.units = 1;
    m.features.resize(8);
    m.time.resize(10);
    m.bias.resize(1);
    EXPECT_NO_THROW(made_of(m.file()));
    m.activation = format::ActivationFunctionType_TANH;
    expect_refusal(m, status::unimplemented, "fused activation TANH is not supported, allowed: NONE, RELU");

    svdf_model<std::int16_t> wide;
    wide.state.zero_point = 5;
    wide.draw(1);
    expect_refusal(wide, status::invalid_arguments, "has a zero point of 5, allowed is 0");
}

TEST(Svdf, StateMustBeAVariable) {
    svdf_model<std::int8_t> m;
    m.draw(1);
    const std::vector<std::uint8_t> file = m.file();
    const model::graph valid = model::read_tflite(file.data(), file.size(), "test");
    const auto state = static_cast<std::size_t>(valid.nodes[0].inputs[4]);
    EXPECT_TRUE(valid.tensors[state].is_variable);
    model::graph constant = valid;
    constant.tensors[state].is_constant = true;
    constant.tensors[state].data = std::vector<std::uint8_t>(15);
    EXPECT_THROW(network{constant}, error);
    model::graph input = valid;
    input.tensors[state].is_variable = false;
    input.inputs.push_back(static_cast<int>(state));
    EXPECT_THROW(network{input}, error);
    model::graph other = valid;
    other.tensors[state].dims = {1, 14};
    EXPECT_THROW(network{other}, error);
}

} // namespace
} // namespace octet::tests
