// TFLite's operators with state, SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: each run against the scalar formula written
// here, over sizes, layouts, several runs and instruction sets; their integer
// functions against real ones.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "network/tflite/ops/integers.hpp"
#include "network/tflite/tests/recurrent_models.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using codes = std::vector<std::int8_t>;

// ---- The formulas, by division.

/// TFLite's MultiplyByQuantizedMultiplier: the high half of the doubled product, then a division by a power of two,
/// both to the nearest, ties up and away from zero.
std::int64_t multiplied(std::int64_t x, double factor) {
    int exponent = 0;
    std::int64_t mantissa = std::llround(std::frexp(factor, &exponent) * 2147483648.0);
    if (mantissa == std::int64_t{1} << 31) {
        mantissa /= 2;
        exponent++;
    }
    const std::int64_t product = x * (std::int64_t{1} << std::max(exponent, 0)) * mantissa;
    const auto high =
        static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<long double>(product), -31) + 0.5L));
    const std::int64_t divisor = std::int64_t{1} << std::max(-exponent, 0);
    const std::int64_t magnitude = (std::abs(high) + divisor / 2) / divisor;
    return high < 0 ? -magnitude : magnitude;
}

std::int64_t clipped(std::int64_t x, int bits) {
    const std::int64_t limit = std::int64_t{1} << (bits - 1);
    return std::min(std::max(x, -limit), limit - 1);
}

double quotient_f32(float a, float b, float c) {
    const float product = a * b;
    return product / c;
}

template <typename T> class scalar_svdf {
public:
    explicit scalar_svdf(const svdf_model<T> &m)
        : m_(m),
          histories_(static_cast<std::size_t>(m.batch * m.filters()),
                     std::vector<std::int64_t>(static_cast<std::size_t>(m.history), m.state.zero_point)) {}

    codes run(const codes &x) {
        codes y;
        for (int b = 0; b < m_.batch; b++)
            for (int u = 0; u < m_.units; u++) {
                std::int64_t sum = m_.has_bias ? m_.bias[static_cast<std::size_t>(u)] : 0;
                for (int f = u * m_.rank; f < (u + 1) * m_.rank; f++)
                    sum += filtered(x, b, f);
                const double factor = quotient_f32(m_.state.scale, m_.time_scale, m_.y.scale);
                y.push_back(static_cast<std::int8_t>(clipped(multiplied(sum, factor) + m_.y.zero_point, 8)));
            }
        return y;
    }

private:
    std::int64_t filtered(const codes &x, int b, int f) {
        std::int64_t product = 0;
        for (int i = 0; i < m_.inputs; i++)
            product += (x[static_cast<std::size_t>(b * m_.inputs + i)] - m_.x.zero_point) *
                       m_.features[static_cast<std::size_t>(f * m_.inputs + i)];
        std::vector<std::int64_t> &h = histories_[static_cast<std::size_t>(b * m_.filters() + f)];
        h.erase(h.begin());
        const double factor = quotient_f32(m_.x.scale, m_.features_scale, m_.state.scale);
        // The sum with the zero point wraps: it is stored as it is.
        h.push_back(
            static_cast<T>(clipped(multiplied(product, factor), 8 * sizeof(T)) + m_.state.zero_point));
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < h.size(); i++)
            sum += (h[i] - m_.state.zero_point) * m_.time[static_cast<std::size_t>(f * m_.history) + i];
        return sum;
    }

    const svdf_model<T> &m_;
    std::vector<std::vector<std::int64_t>> histories_; ///< by image and filter, oldest first
};

/// TFLite's table between its entries, to the nearest: Q3.12 -> Q0.15.
std::int64_t sigmoid(std::int64_t x) {
    const double at = static_cast<double>(std::abs(3 * x)) / 512, rest = at - std::floor(at);
    const std::size_t i = static_cast<std::size_t>(at);
    const double y = model::sigmoid_table[i] * (1 - rest) + model::sigmoid_table[i + 1] * rest; // Q0.16
    return static_cast<std::int64_t>(x >= 0 ? std::floor(y / 2 + 0.5) : std::ceil(32768 - y / 2 - 0.5));
}

/// 2 sigmoid(2x) - 1 of x in units of 2^power.
std::int64_t tangent(std::int64_t x, int power) {
    const double scaled =
        std::floor(std::ldexp(3. * static_cast<double>(x), power + 12) + (power < -12 ? 0.5 : 0.));
    const double at = std::abs(scaled) / 256, rest = at - std::floor(at);
    const auto i = static_cast<std::size_t>(at);
    const double y =
        i >= 255 ? 65535 : model::sigmoid_table[i] * (1 - rest) + model::sigmoid_table[i + 1] * rest;
    return static_cast<std::int64_t>(scaled >= 0 ? std::floor(y - 32768 + 0.5) : std::ceil(32768 - y - 0.5));
}

class scalar_lstm {
public:
    explicit scalar_lstm(const lstm_model &m)
        : m_(m),
          hidden_(static_cast<std::size_t>(m.batch * m.units), static_cast<std::int8_t>(m.y.zero_point)),
          cell_(hidden_.size(), 0) {}

    codes run(const codes &x) {
        codes y(static_cast<std::size_t>(m_.batch * m_.steps * m_.units));
        for (int b = 0; b < m_.batch; b++)
            for (int t = 0; t < m_.steps; t++) {
                const int row = m_.is_time_major ? t * m_.batch + b : b * m_.steps + t;
                const codes next = advanced(x.data() + row * m_.inputs, b);
                std::copy(next.begin(), next.end(), hidden_.begin() + b * m_.units);
                std::copy(next.begin(), next.end(), y.begin() + row * m_.units);
            }
        return y;
    }

private:
    std::int64_t gate(std::size_t g, const std::int8_t *x, int b, int u) const {
        std::int64_t from_input = m_.biases[g][static_cast<std::size_t>(u)], from_output = 0;
        for (int i = 0; i < m_.inputs; i++)
            from_input +=
                (x[i] - m_.x.zero_point) * m_.input_weights[g][static_cast<std::size_t>(u * m_.inputs + i)];
        for (int i = 0; i < m_.units; i++)
            from_output += (hidden_[static_cast<std::size_t>(b * m_.units + i)] - m_.y.zero_point) *
                           m_.recurrent_weights[g][static_cast<std::size_t>(u * m_.units + i)];
        const float input_scale = m_.x.scale * m_.input_scales[g],
                    output_scale = m_.y.scale * m_.recurrent_scales[g];
        return clipped(clipped(multiplied(from_input, 4096. * input_scale), 16) +
                           clipped(multiplied(from_output, 4096. * output_scale), 16),
                       16);
    }

    codes advanced(const std::int8_t *x, int b) {
        codes next;
        const double cell_scale = std::ldexp(1., m_.cell_power), q15 = std::ldexp(1., -15);
        for (int u = 0; u < m_.units; u++) {
            std::int64_t &c = cell_[static_cast<std::size_t>(b * m_.units + u)];
            const std::int64_t kept = clipped(multiplied(sigmoid(gate(1, x, b, u)) * c, q15), 16);
            const std::int64_t admitted =
                clipped(multiplied(sigmoid(gate(0, x, b, u)) * tangent(gate(2, x, b, u), -12),
                                   q15 * q15 / cell_scale),
                        16);
            c = clipped(kept + admitted, 16);
            if (m_.cell_clip > 0) {
                const auto limit = static_cast<std::int64_t>(
                    std::min(static_cast<double>(m_.cell_clip) / cell_scale, 32767.));
                c = std::min(std::max(c, -limit), limit);
            }
            const std::int64_t product = sigmoid(gate(3, x, b, u)) * tangent(c, m_.cell_power);
            next.push_back(static_cast<std::int8_t>(clipped(
                multiplied(product, q15 * q15 / static_cast<double>(m_.y.scale)) + m_.y.zero_point, 8)));
        }
        return next;
    }

    const lstm_model &m_;
    codes hidden_;
    std::vector<std::int64_t> cell_;
};

// ---- Networks against them.

network make(const std::vector<std::uint8_t> &file) { return {file.data(), file.size(), "test"}; }

codes run(network &net, const codes &x) {
    net.input().copy_from(x);
    net.run();
    return net.output().as<std::int8_t>();
}

/// Several runs, at every instruction set, each from fresh state.
template <typename Model, typename Scalar>
void expect_formula(const Model &m, int input_codes, unsigned seed) {
    for (const cpu_isa level : get_available_cpu_isas()) {
        set_max_cpu_isa(level);
        network net = make(m.file());
        Scalar expected(m);
        std::mt19937 random(seed);
        for (int i = 0; i < 7; i++) {
            const codes x = random_codes(random, input_codes, -128, 127);
            EXPECT_EQ(run(net, x), expected.run(x)) << "run " << i << " at " << to_string(level);
        }
    }
    set_max_cpu_isa(cpu_isa::all);
}

template <typename T> void expect_svdf(int batch, int inputs, int units, int rank, int history) {
    SCOPED_TRACE(testing::Message() << batch << " images, " << inputs << " inputs, " << units
                                    << " units of rank " << rank << ", history " << history);
    svdf_model<T> m;
    m.batch = batch;
    m.inputs = inputs;
    m.units = units;
    m.rank = rank;
    m.history = history;
    m.has_bias = (units + rank) % 2 == 0;
    m.features_scale = 0.2f / static_cast<float>(inputs); // so that few codes saturate
    m.time_scale = 0.3f / static_cast<float>(rank * history) / (sizeof(T) == 1 ? 1.f : 20.f);
    if (sizeof(T) == 2)
        m.state.scale = 0.1f / 256;
    m.draw(static_cast<unsigned>(inputs * 100 + units));
    expect_formula<svdf_model<T>, scalar_svdf<T>>(m, batch * inputs, 5);
}

TEST(Svdf, EqualsItsFormula) {
    expect_svdf<std::int8_t>(1, 1, 1, 1, 1);
    expect_svdf<std::int8_t>(1, 4, 3, 1, 2);
    expect_svdf<std::int8_t>(3, 7, 5, 2, 8);
    expect_svdf<std::int8_t>(2, 96, 64, 1, 8);
    expect_svdf<std::int8_t>(1, 33, 100, 3, 33);
}

TEST(Svdf, EqualsItsFormulaWithStateOf16Bits) {
    expect_svdf<std::int16_t>(1, 1, 1, 1, 1);
    expect_svdf<std::int16_t>(3, 7, 5, 2, 8);
    expect_svdf<std::int16_t>(1, 96, 64, 1, 10);
}

TEST(Svdf, StateWrapsWithItsZeroPoint) {
    svdf_model<std::int8_t> m;
    m.inputs = 30;
    m.state = {0.01f, 100};
    m.draw(1);
    expect_formula<svdf_model<std::int8_t>, scalar_svdf<std::int8_t>>(m, 30, 6);
}

void expect_lstm(int batch, int steps, int inputs, int units,
                 const std::function<void(lstm_model &)> &change = {}) {
    for (const bool is_time_major : {false, true}) {
        SCOPED_TRACE(testing::Message() << batch << " images, " << steps << " steps, " << inputs
                                        << " inputs, " << units << " units, time-major " << is_time_major);
        lstm_model m;
        m.batch = batch;
        m.steps = steps;
        m.inputs = inputs;
        m.units = units;
        m.is_time_major = is_time_major;
        if (change)
            change(m);
        m.draw(static_cast<unsigned>(inputs * 100 + units));
        expect_formula<lstm_model, scalar_lstm>(m, batch * steps * inputs, 7);
    }
}

TEST(Lstm, EqualsItsFormula) {
    expect_lstm(1, 1, 1, 1);
    expect_lstm(1, 4, 28, 20);
    expect_lstm(3, 5, 7, 16);
    expect_lstm(2, 3, 64, 100);
}

TEST(Lstm, EqualsItsFormulaWithAClippedCell) {
    expect_lstm(2, 6, 9, 12, [](lstm_model &m) { m.cell_clip = 0.75f; });
    expect_lstm(1, 6, 9, 12, [](lstm_model &m) { m.cell_clip = 1e6f; });
}

TEST(Lstm, EqualsItsFormulaForCellsOfAnyScale) {
    for (const int power : {-16, -15, -13, -11, -9, 0})
        expect_lstm(1, 6, 9, 12, [&](lstm_model &m) { m.cell_power = power; });
}

TEST(Lstm, EqualsItsFormulaWhereGatesSaturate) {
    expect_lstm(1, 4, 28, 20, [](lstm_model &m) {
        m.x.scale = 0.5f;
        m.recurrent_scales.fill(1.5f);
    });
}

TEST(Lstm, ASequenceInPiecesIsTheSame) {
    lstm_model whole, piece;
    whole.steps = 6;
    piece.steps = 2;
    whole.draw(3);
    piece.draw(3);
    std::mt19937 random(4);
    const codes x = random_codes(random, 6 * whole.inputs);
    network all = make(whole.file()), part = make(piece.file());
    const codes expected = run(all, x);
    codes got;
    for (int i = 0; i < 3; i++) {
        const auto from = x.begin() + i * 2 * whole.inputs;
        const codes y = run(part, codes(from, from + 2 * whole.inputs));
        got.insert(got.end(), y.begin(), y.end());
    }
    EXPECT_EQ(got, expected);
}

/// Each image of a batch has state of its own.
template <typename Model> void expect_batch(const Model &m, std::size_t input_codes) {
    const std::vector<std::uint8_t> file = m.file();
    network_options options;
    options.batch = 3;
    network together(file.data(), file.size(), "test", options);
    std::vector<network> alone;
    for (int i = 0; i < 3; i++)
        alone.push_back(make(file));
    std::mt19937 random(6);
    for (int i = 0; i < 4; i++) {
        codes x, expected;
        for (network &net : alone) {
            const codes image = random_codes(random, static_cast<int>(input_codes), -128, 127);
            x.insert(x.end(), image.begin(), image.end());
            const codes y = run(net, image);
            expected.insert(expected.end(), y.begin(), y.end());
        }
        EXPECT_EQ(run(together, x), expected) << "run " << i;
    }
}

TEST(Svdf, AnotherBatchIsSeveralNetworks) {
    svdf_model<std::int8_t> m;
    m.draw(9);
    expect_batch(m, 4);
}

TEST(Lstm, AnotherBatchIsSeveralNetworks) {
    lstm_model m;
    m.draw(9);
    expect_batch(m, 12);
    m.is_time_major = true;
    network_options options;
    options.batch = 2;
    const std::vector<std::uint8_t> file = m.file();
    EXPECT_THROW(network(file.data(), file.size(), "test", options), error); // the first dimension is time
}

/// The next run shows the state after `runs` runs.
template <typename Model> void expect_state_of_its_own(const Model &m, std::size_t input_codes) {
    network net = make(m.file());
    std::mt19937 random(10);
    const auto draw = [&] { return random_codes(random, static_cast<int>(input_codes), -128, 127); };
    const codes x = draw(), second = draw();
    const codes fresh = run(net, x);
    EXPECT_NE(run(net, x), fresh);
    const codes after_two = run(net, second);
    network context = net.new_context();
    EXPECT_EQ(run(context, x), fresh);
    net.reset_state();
    EXPECT_EQ(run(net, x), fresh);
    EXPECT_NE(run(net, second), after_two); // one run earlier
    EXPECT_NE(run(context, x), fresh);
}

TEST(Svdf, StateIsResetAndEachContextsOwn) {
    svdf_model<std::int8_t> m;
    m.draw(11);
    expect_state_of_its_own(m, 4);
}

TEST(Lstm, StateIsResetAndEachContextsOwn) {
    lstm_model m;
    m.draw(11);
    expect_state_of_its_own(m, 12);
}

/// A saved plan begins with fresh state, whatever the network's was.
template <typename Model> void expect_saved(const Model &m, std::size_t input_codes) {
    const std::string path = testing::TempDir() + "recurrent_test.octet";
    network net = make(m.file());
    std::mt19937 random(16);
    const codes x = random_codes(random, static_cast<int>(input_codes), -128, 127);
    const codes first = run(net, x), second = run(net, x);
    net.save(path);
    network saved(path);
    EXPECT_EQ(run(saved, x), first);
    EXPECT_EQ(run(saved, x), second);
    std::remove(path.c_str());
}

TEST(Svdf, IsInSavedPlans) {
    svdf_model<std::int8_t> m;
    m.draw(17);
    expect_saved(m, 4);
}

TEST(Lstm, IsInSavedPlans) {
    lstm_model m;
    m.draw(17);
    expect_saved(m, 12);
}

TEST(Lstm, TakesOtherSizes) {
    lstm_model small, large;
    large.batch = 2;
    large.steps = 7;
    small.draw(12);
    large.draw(12);
    network net = make(small.file()), expected = make(large.file());
    net.resize({0, {{net.input().name(), {2, 7, 4}}}, {}});
    std::mt19937 random(13);
    for (int i = 0; i < 3; i++) {
        const codes x = random_codes(random, 2 * 7 * 4);
        EXPECT_EQ(run(net, x), run(expected, x));
    }
}

TEST(Lstm, ThreadsChangeNothing) {
    lstm_model m;
    m.batch = 5;
    m.units = 130;
    m.inputs = 200;
    m.draw(14);
    const std::vector<std::uint8_t> file = m.file();
    std::mt19937 random(15);
    const codes x = random_codes(random, 5 * 3 * 200);
    std::vector<codes> results;
    for (const int threads : {1, 2, 3}) {
        network_options options;
        options.threads = threads;
        network net(file.data(), file.size(), "test", options);
        run(net, x);
        results.push_back(run(net, x));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

// ---- Integer functions against real ones.

TEST(RecurrentIntegers, TableIsTheLogisticFunction) {
    for (int i = 0; i < 256; i++)
        EXPECT_NEAR(model::sigmoid_table[i], 65536 / (1 + std::exp(-i / 24.)), 1.2) << i;
}

TEST(RecurrentIntegers, FunctionsAreCloseToRealOnes) {
    for (int x = -32768; x <= 32767; x++) {
        const auto code = static_cast<std::int16_t>(x);
        ASSERT_NEAR(model::sigmoid_q15(code), 32768 / (1 + std::exp(-x / 4096.)), 3) << x;
        ASSERT_EQ(model::sigmoid_q15(code), sigmoid(x)) << x;
        for (const int power : {-27, -16, -15, -12, -9, 2}) {
            ASSERT_NEAR(model::tanh_q15(code, power), 32768 * std::tanh(std::ldexp(x, power)), 5)
                << x << " * 2^" << power;
            ASSERT_EQ(model::tanh_q15(code, power), tangent(x, power)) << x << " * 2^" << power;
        }
    }
}

TEST(RecurrentIntegers, MultiplierRoundsTwice) {
    std::mt19937 random(8);
    std::uniform_int_distribution<std::int32_t> value(-(1 << 24), 1 << 24);
    for (const double factor : {0.5, 1., 0.3, 3.7, 100., 1e-3, 1. / 32768, 1e-9}) {
        const fixed_point_multiplier m = from_double(requantization_rule::tflite_2step, factor);
        for (int i = 0; i < 1000; i++) {
            const std::int32_t x = value(random) / (factor > 1 ? 128 : 1);
            ASSERT_EQ(model::scaled(x, m), multiplied(x, factor)) << x << " * " << factor;
        }
    }
}

} // namespace
} // namespace octet::tests
