// LSTM, GRU, RNN and DynamicQuantizeLSTM: worked values of ONNX Runtime, nearness to the formulas for
// sequences of several lengths, and refusals. Vectors of ONNX Runtime are replayed by octet check.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "network/tests/one_node.hpp"

namespace octet::tests {
namespace {

using floats = std::vector<float>;

/// Two steps of one row, six inputs, two units; W and R are small fractions.
one_node small_node(const char *op, std::int64_t gates) {
    floats x, w, r, bias;
    for (std::int64_t j = 0; j < 12; j++)
        x.push_back(static_cast<float>((j + 1) % 5 - 2) / 4);
    for (std::int64_t j = 0; j < gates * 2 * 6; j++)
        w.push_back(static_cast<float>(7 * j % 11 - 5) / 8);
    for (std::int64_t j = 0; j < gates * 2 * 2; j++)
        r.push_back(static_cast<float>(5 * j % 7 - 3) / 4);
    for (std::int64_t j = 0; j < gates * 4; j++)
        bias.push_back(static_cast<float>(j % 3) / 10);
    one_node node(op);
    node.input<float>({2, 1, 6}, x)
        .constant<float>({1, gates * 2, 6}, w)
        .constant<float>({1, gates * 2, 2}, r)
        .constant<float>({1, gates * 4}, bias)
        .set("hidden_size", std::int64_t{2});
    return node;
}

TEST(OnnxRecurrent, HasTheBytesOfOnnxRuntime) {
    one_node lstm = small_node("LSTM", 4);
    lstm.output().output().output();
    EXPECT_EQ(lstm.run<float>(), (floats{0x1.0414c2p-3f, -0x1.40a3b8p-6f, 0x1.2556b6p-5f, -0x1.ce1cdap-4f}));
    EXPECT_EQ(lstm.run<float>(1), (floats{0x1.2556b6p-5f, -0x1.ce1cdap-4f}));
    EXPECT_EQ(lstm.run<float>(2), (floats{0x1.bba2b4p-5f, -0x1.7ca210p-3f}));
    EXPECT_EQ(small_node("GRU", 3).run<float>(),
              (floats{-0x1.cadc0ap-5f, 0x1.8ecac2p-5f, 0x1.d59ad8p-3f, 0x1.764540p-2f}));
    EXPECT_EQ(small_node("GRU", 3).set("linear_before_reset", std::int64_t{1}).run<float>(),
              (floats{-0x1.1c3e28p-4f, 0x1.b970f8p-7f, 0x1.a57768p-3f, 0x1.3ebf46p-2f}));
    EXPECT_EQ(small_node("RNN", 1).run<float>(),
              (floats{0x1.205b14p-1f, 0x1.00cdb8p-2f, -0x1.dbd308p-2f, -0x1.a0741cp-2f}));
}

constexpr std::int64_t steps = 5, batch = 3, inputs = 7, units = 6;

/// Both directions of sequences of several lengths.
one_node random_node(const char *op, std::int64_t gates, bool is_constant) {
    one_node node(op);
    node.input<float>({steps, batch, inputs}, numbers(steps * batch * inputs, 2.f))
        .add<float>({2, gates * units, inputs},
                    numbers(static_cast<std::size_t>(2 * gates * units * inputs), 1.f, 2), is_constant)
        .add<float>({2, gates * units, units},
                    numbers(static_cast<std::size_t>(2 * gates * units * units), 1.f, 3), is_constant)
        .constant<float>({2, 2 * gates * units}, numbers(static_cast<std::size_t>(4 * gates * units), 1.f, 4))
        .input<std::int32_t>({batch}, {5, 0, 2})
        .input<float>({2, batch, units}, numbers(2 * batch * units, 1.f, 5))
        .set("direction", std::string("bidirectional"))
        .set("hidden_size", units);
    return node;
}

/// h of a plain RNN in binary64, [steps, directions, batch, units].
std::vector<double> plain_rnn() {
    const floats x = numbers(steps * batch * inputs, 2.f), w = numbers(2 * units * inputs, 1.f, 2),
                 r = numbers(2 * units * units, 1.f, 3), bias = numbers(4 * units, 1.f, 4),
                 initial = numbers(2 * batch * units, 1.f, 5);
    const auto at = [](const floats &v, std::int64_t i) {
        return static_cast<double>(v[static_cast<std::size_t>(i)]);
    };
    const std::int64_t lengths[] = {5, 0, 2};
    std::vector<double> y(static_cast<std::size_t>(steps * 2 * batch * units));
    for (std::int64_t d = 0; d < 2; d++)
        for (std::int64_t n = 0; n < batch; n++) {
            std::vector<double> h(units);
            for (std::int64_t u = 0; u < units; u++)
                h[static_cast<std::size_t>(u)] = at(initial, (d * batch + n) * units + u);
            for (std::int64_t k = 0; k < lengths[n]; k++) {
                const std::int64_t t = d == 0 ? k : lengths[n] - 1 - k;
                std::vector<double> next;
                for (std::int64_t u = 0; u < units; u++) {
                    double sum = at(bias, d * 2 * units + u) + at(bias, (d * 2 + 1) * units + u);
                    for (std::int64_t i = 0; i < inputs; i++)
                        sum += at(x, (t * batch + n) * inputs + i) * at(w, (d * units + u) * inputs + i);
                    for (std::int64_t i = 0; i < units; i++)
                        sum += h[static_cast<std::size_t>(i)] * at(r, (d * units + u) * units + i);
                    next.push_back(std::tanh(sum));
                    y[static_cast<std::size_t>(((t * 2 + d) * batch + n) * units + u)] = next.back();
                }
                h = next;
            }
        }
    return y;
}

TEST(OnnxRecurrent, WalksSequencesInBothDirections) {
    for (const bool is_constant : {true, false}) {
        one_node node = random_node("RNN", 1, is_constant);
        node.output().output();
        const std::vector<double> expected = plain_rnn();
        expect_near(node.run<float>(), expected, 2e-6);
        const floats last = node.run<float>(1);
        for (std::size_t u = 0; u < units; u++) {
            EXPECT_NEAR(static_cast<double>(last[u]), expected[4 * 2 * batch * units + u], 2e-6); // step 4
            EXPECT_EQ(last[units + u], 0.f); // a sequence without steps, whatever it begins with
            EXPECT_NEAR(static_cast<double>(last[batch * units + u]), expected[batch * units + u], 2e-6);
        }
    }
}

/// Every operator, with constant and with computed weights, at every level and for 1 to 3 threads.
TEST(OnnxRecurrent, IsTheSameEverywhere) {
    for (const auto &[op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}})
        for (const bool is_constant : {true, false}) {
            one_node node = random_node(op, gates, is_constant);
            const floats y = node.run<float>();
            EXPECT_EQ(node.shape, (dims{steps, 2, batch, units}));
            EXPECT_TRUE(std::any_of(y.begin(), y.end(), [](float v) { return v != 0.f; }));
        }
}

template <typename Code> one_node quantized_node(const std::vector<Code> &zero_points) {
    std::vector<Code> w, r;
    for (std::int64_t i = 0; i < inputs * 4 * units; i++)
        w.push_back(static_cast<Code>(37 * i % 251));
    for (std::int64_t i = 0; i < units * 4 * units; i++)
        r.push_back(static_cast<Code>(53 * i % 241));
    one_node node("DynamicQuantizeLSTM");
    const floats scales(zero_points.size(), 0.01f);
    const auto count = static_cast<dim_t>(zero_points.size());
    node.input<float>({steps, 1, inputs}, numbers(steps * inputs, 2.f));
    node.constant<Code>({1, inputs, 4 * units}, w);
    node.constant<Code>({1, units, 4 * units}, r);
    for (int i = 3; i < 8; i++)
        node.graph.nodes[0].inputs.push_back(-1);
    for (int i = 0; i < 2; i++) {
        node.constant<float>({1, count}, scales);
        node.constant<Code>({1, count}, zero_points);
    }
    return node.set("hidden_size", units);
}

/// Products of codes are near those of the numbers that they stand for.
TEST(OnnxRecurrent, QuantizesItsProducts) {
    const floats y = quantized_node<std::int8_t>({3}).run<float>();
    floats w, r;
    for (std::int64_t g = 0; g < 4 * units; g++)
        for (std::int64_t i = 0; i < inputs; i++)
            w.push_back(0.01f *
                        static_cast<float>(static_cast<std::int8_t>(37 * (i * 4 * units + g) % 251) - 3));
    for (std::int64_t g = 0; g < 4 * units; g++)
        for (std::int64_t i = 0; i < units; i++)
            r.push_back(0.01f *
                        static_cast<float>(static_cast<std::int8_t>(53 * (i * 4 * units + g) % 241) - 3));
    one_node node("LSTM");
    const floats exact = node.input<float>({steps, 1, inputs}, numbers(steps * inputs, 2.f))
                             .constant<float>({1, 4 * units, inputs}, w)
                             .constant<float>({1, 4 * units, units}, r)
                             .run<float>();
    ASSERT_EQ(y.size(), exact.size());
    for (std::size_t i = 0; i < y.size(); i++)
        EXPECT_NEAR(y[i], exact[i], 0.05f);
}

void expect_refusal(one_node node, const std::string &sentence) {
    const std::string refusal = node.refusal();
    EXPECT_NE(refusal.find(sentence), std::string::npos) << refusal;
}

TEST(OnnxRecurrent, RefusesWhatOnnxRuntimeDoes) {
    expect_refusal(small_node("LSTM", 4).set("clip", 0.f),
                   "attribute 'clip' is 0.000000, allowed are numbers");
    expect_refusal(small_node("LSTM", 4).set("layout", std::int64_t{1}),
                   "attribute 'layout' is 1, allowed is 0");
    expect_refusal(small_node("LSTM", 4).set("direction", std::string("up")),
                   "attribute 'direction' is 'up', allowed: forward, reverse, bidirectional");
    expect_refusal(small_node("LSTM", 4).set("activations", std::string("Tanh,Tanh")),
                   "attribute 'activations' names 2 functions, allowed is 3 for each direction");
    expect_refusal(small_node("RNN", 1).set("activations", std::string("tanh")),
                   "attribute 'activations' names 'tanh', allowed: Affine, Elu,");
    expect_refusal(small_node("RNN", 1)
                       .set("activations", std::string("Elu"))
                       .set("activation_alpha", std::string("1,x")),
                   "attribute 'activation_alpha' has 'x', allowed are numbers");
    expect_refusal(small_node("GRU", 3).set("hidden_size", std::int64_t{3}),
                   "attribute 'hidden_size' is 3, allowed is that of R, 2");
    expect_refusal(small_node("GRU", 3).set("direction", std::string("bidirectional")),
                   "input 1 has dimensions 1x6x6, allowed is 2x6x6");
    expect_refusal(quantized_node<std::int8_t>(std::vector<std::int8_t>(4 * units, 1)),
                   "input 9 has a zero point for each column that is not 0");
    expect_refusal(quantized_node<std::int8_t>({1, 1}),
                   "input 8 has 2 values, allowed is one for each direction");
}

TEST(OnnxRecurrent, RefusesLengthsOutsideASequence) {
    for (const std::int32_t length : {-1, 3})
        expect_refusal(small_node("LSTM", 4).input<std::int32_t>({1}, {length}),
                       "sequence_lens[0] is " + std::to_string(length) + ", allowed: 0 to 2");
}

/// Case matters in RNN alone; numbers are used up by the functions that take one.
TEST(OnnxRecurrent, ReadsItsFunctions) {
    const floats usual = small_node("LSTM", 4).run<float>();
    EXPECT_EQ(small_node("LSTM", 4).set("activations", std::string("sigmoid,TANH,tanh")).run<float>(), usual);
    const floats elu = small_node("GRU", 3)
                           .set("activations", std::string("Sigmoid,Elu"))
                           .set("activation_alpha", std::string("1"))
                           .run<float>();
    EXPECT_EQ(small_node("GRU", 3).set("activations", std::string("Sigmoid,Elu")).run<float>(), elu);
    EXPECT_NE(small_node("GRU", 3)
                  .set("activations", std::string("Sigmoid,Elu"))
                  .set("activation_alpha", std::string("0.5"))
                  .run<float>(),
              elu);
}

} // namespace
} // namespace octet::tests
