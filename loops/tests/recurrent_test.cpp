// Gates and cells of recurrent operators: worked values of each form, nearness to the formulas, and what a
// clip does to numbers that are none.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "loops/recurrent.hpp"
#include "loops/tests/every_form.hpp"

namespace octet::tests {
namespace {

using loops::gate_activation, loops::gate_form, loops::gate_function;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity(), finite = std::numeric_limits<float>::max();

floats values_of(const gate_activation &a, gate_form form, const floats &x) {
    return same_everywhere([&] {
        floats y(x.size());
        loops::gate_loop(a, form).run(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
        return y;
    });
}

/// What ONNX Runtime 1.30 gives, and how its forms differ: two of them exceed 1.
TEST(Gates, HaveTheBitsOfTheirForms) {
    const floats x = {-1.25f, 0.5f, 3.f, 9.5f, 12.f, 25.f};
    const auto expect = [&](gate_function f, gate_form form, const floats &expected) {
        EXPECT_EQ(values_of({f}, form, x), expected) << static_cast<int>(f) << ' ' << static_cast<int>(form);
    };
    expect(gate_function::sigmoid, gate_form::kernels,
           {0x1.c81704p-3f, 0x1.3eb2fcp-1f, 0x1.e7b7ccp-1f, 0x1.fff630p-1f, 0x1.ffff34p-1f, 1.f});
    expect(gate_function::sigmoid, gate_form::quotients,
           {0x1.c81704p-3f, 0x1.3eb2fep-1f, 0x1.e7b7ccp-1f, 0x1.fff632p-1f, 0x1.ffff34p-1f, 0x1.000004p+0f});
    expect(gate_function::sigmoid, gate_form::exponentials,
           {0x1.c81704p-3f, 0x1.3eb2fep-1f, 0x1.e7b7ccp-1f, 0x1.fff630p-1f, 0x1.ffff30p-1f, 1.f});
    expect(gate_function::tanh, gate_form::kernels,
           {-0x1.b2523cp-1f, 0x1.d9353ep-2f, 0x1.fd77d0p-1f, 1.f, 1.f, 1.f});
    expect(gate_function::tanh, gate_form::quotients,
           {-0x1.b2523ep-1f, 0x1.d9353ep-2f, 0x1.fd77d0p-1f, 0x1.000004p+0f, 0x1.000008p+0f, 0x1.000008p+0f});
    expect(gate_function::tanh, gate_form::exponentials,
           {-0x1.b2523cp-1f, 0x1.d93540p-2f, 0x1.fd77d4p-1f, 1.f, 1.f, 1.f});
}

/// Only a relu of kernels keeps what is no number, and the sign of zero.
TEST(Gates, DifferInReluOfSpecialNumbers) {
    const floats x = {not_a_number, -0.f, -1.f, 2.f};
    const floats kept = values_of({gate_function::relu}, gate_form::kernels, x);
    EXPECT_TRUE(std::isnan(kept[0]));
    EXPECT_TRUE(std::signbit(kept[1]));
    for (const gate_form form : {gate_form::cell_output, gate_form::quotients, gate_form::exponentials}) {
        const floats y = values_of({gate_function::relu}, form, x);
        EXPECT_EQ(y, (floats{0.f, 0.f, 0.f, 2.f}));
        EXPECT_FALSE(std::signbit(y[1]));
    }
}

TEST(Gates, AreNearTheirFormulas) {
    struct named {
        gate_activation a;
        double (*exact)(double x);
    };
    const named functions[] = {
        {{gate_function::affine, 1.5f, -0.25f}, [](double x) { return 1.5 * x - 0.25; }},
        {{gate_function::elu, 0.75f}, [](double x) { return x >= 0 ? x : 0.75 * std::expm1(x); }},
        {{gate_function::hard_sigmoid, 0.125f, 0.5f},
         [](double x) { return std::min(1., std::max(0., 0.125 * x + 0.5)); }},
        {{gate_function::leaky_relu, 0.25f}, [](double x) { return x >= 0 ? x : 0.25 * x; }},
        {{gate_function::relu}, [](double x) { return std::max(x, 0.); }},
        {{gate_function::scaled_tanh, 1.5f, 0.5f}, [](double x) { return 1.5 * std::tanh(0.5 * x); }},
        {{gate_function::sigmoid}, [](double x) { return 1 / (1 + std::exp(-x)); }},
        {{gate_function::softplus}, [](double x) { return std::log1p(std::exp(x)); }},
        {{gate_function::softsign}, [](double x) { return x / (1 + std::abs(x)); }},
        {{gate_function::tanh}, [](double x) { return std::tanh(x); }},
        {{gate_function::thresholded_relu, 1.f}, [](double x) { return x > 1 ? x : 0; }},
    };
    const floats x = numbers(1003, 12.f);
    for (const named &n : functions)
        for (const gate_form form :
             {gate_form::kernels, gate_form::cell_output, gate_form::quotients, gate_form::exponentials}) {
            const floats y = values_of(n.a, form, x);
            for (std::size_t i = 0; i < y.size(); i++) {
                const double wanted = n.exact(static_cast<double>(x[i]));
                ASSERT_NEAR(static_cast<double>(y[i]), wanted, 1e-6 * std::max(1., std::abs(wanted)))
                    << "function " << static_cast<int>(n.a.function) << " of " << x[i];
            }
        }
}

/// With a bias a NaN becomes the limit, without one it stays; without a clip an infinity becomes finite.
TEST(Gates, LimitTheirSums) {
    const gate_activation same{gate_function::affine, 1.f, 0.f};
    const floats bias(5, 0.5f);
    floats sums = {not_a_number, -3.f, 3.f, 1.f, infinite}, alone = sums, unlimited = sums;
    loops::gate(same, gate_form::kernels, 2.f).run(sums.data(), bias.data(), 5);
    EXPECT_EQ(sums, (floats{2.f, -2.f, 2.f, 1.5f, 2.f}));
    loops::gate(same, gate_form::kernels, finite).run(alone.data(), nullptr, 5);
    EXPECT_TRUE(std::isnan(alone[0]));
    EXPECT_EQ(alone[4], finite);
    loops::gate(same, gate_form::kernels, std::nullopt).run(unlimited.data(), nullptr, 5);
    EXPECT_EQ(unlimited[4], infinite);
}

constexpr std::int64_t units = 37;

/// The state after a step, computed in parts of `part` units.
floats lstm_state(std::int64_t part, bool couples, bool has_peepholes) {
    floats sums = numbers(4 * units, 3.f), bias = numbers(4 * units, 1.f, 2),
           peepholes = numbers(3 * units, 1.f, 3), state = numbers(2 * units, 1.f, 4);
    const loops::lstm_loop loop(
        {{gate_function::sigmoid}, {gate_function::tanh}, {gate_function::tanh}, 2.5f, couples});
    for (std::int64_t first = 0; first < units; first += part)
        loop.run({sums.data(), units, bias.data(), has_peepholes ? peepholes.data() : nullptr, state.data(),
                  state.data() + units},
                 first, std::min(part, units - first));
    return state;
}

TEST(RecurrentLoops, LstmIsNearItsFormulas) {
    const floats sums = numbers(4 * units, 3.f), bias = numbers(4 * units, 1.f, 2),
                 p = numbers(3 * units, 1.f, 3), before = numbers(2 * units, 1.f, 4);
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    for (const bool couples : {false, true})
        for (const bool has_peepholes : {false, true}) {
            const floats state = same_everywhere([&] { return lstm_state(units, couples, has_peepholes); });
            EXPECT_EQ(lstm_state(5, couples, has_peepholes), state);
            for (std::size_t u = 0; u < units; u++) {
                const auto sum = [&](std::size_t gate, double c) {
                    const std::size_t at = gate * units + u;
                    const double peephole = has_peepholes && gate < 3 ? c * static_cast<double>(p[at]) : 0;
                    return std::clamp(
                        static_cast<double>(sums[at]) + peephole + static_cast<double>(bias[at]), -2.5, 2.5);
                };
                const auto c = static_cast<double>(before[u]);
                const double i = sigmoid(sum(0, c)), f = couples ? 1 - i : sigmoid(sum(2, c)),
                             now = c * f + i * std::tanh(sum(3, c));
                ASSERT_NEAR(static_cast<double>(state[u]), now, 1e-6) << u;
                ASSERT_NEAR(static_cast<double>(state[units + u]), sigmoid(sum(1, now)) * std::tanh(now),
                            1e-6);
            }
        }
}

TEST(RecurrentLoops, GruIsNearItsFormulas) {
    const floats given = numbers(3 * units, 3.f), bias = numbers(3 * units, 1.f, 2),
                 product = numbers(units, 1.f, 3), before = numbers(units, 1.f, 4);
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const auto at = [](const floats &v, std::size_t i) { return static_cast<double>(v[i]); };
    for (const bool resets_product : {false, true}) {
        floats gated(units);
        const floats state = same_everywhere([&] {
            floats sums = given, hidden = before;
            const loops::gru_loop loop(
                {{gate_function::sigmoid}, {gate_function::tanh}, finite, resets_product});
            const loops::gru_row row = {sums.data(),    units,        bias.data(),
                                        product.data(), gated.data(), hidden.data()};
            loop.open(row, 0, units);
            loop.close(row, 0, units);
            return hidden;
        });
        for (std::size_t u = 0; u < units; u++) {
            const double z = sigmoid(at(given, u) + at(bias, u)),
                         r = sigmoid(at(given, units + u) + at(bias, units + u)), h = at(before, u);
            const double sum = at(given, 2 * units + u) + at(bias, 2 * units + u) +
                               (resets_product ? r * at(product, u) : 0);
            ASSERT_NEAR(at(state, u), (1 - z) * std::tanh(sum) + z * h, 1e-6) << u;
            if (!resets_product) {
                ASSERT_NEAR(at(gated, u), r * h, 1e-6) << u;
            }
        }
    }
}

} // namespace
} // namespace octet::tests
