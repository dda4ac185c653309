// Octet's fixed-point arithmetic against gemmlowp itself: its output stages, run through its own output
// pipeline, and its fixed-point functions. A test-only dependency (libgemmlowp-dev).
//
// Stages run twice: on single values, gemmlowp's scalar code, which is the definition, and on four at once,
// which on x86 with SSE4.1 is its vector code. Where the two differ, only the scalar code counts: the left
// shift of the exponent stage wraps in vectors, and so does INT32_MIN * INT32_MIN.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#if OCTET_HAVE_GEMMLOWP

#include <gemmlowp/public/gemmlowp.h>

#include "common/fixed_point.hpp"
#include "common/requantize.hpp"
#include "support/expect_same.hpp"
#include "support/inputs.hpp"

namespace {

namespace impl = octet::impl;
using octet::fixed_point_multiplier;
using octet::test::expect_same;
using octet::test::inputs;
using octet::test::landmarks;

constexpr int random_cases = 1'000'000;

/// One stage applied by gemmlowp's output pipeline to a block of `n` accumulators.
template <int n, typename Stage>
std::array<std::int32_t, n> run_stage(const Stage &stage, const std::array<std::int32_t, n> &acc) {
    using block = gemmlowp::RegisterBlock<std::int32_t, n, 1>;
    using matrix = gemmlowp::MatrixMap<std::int32_t, gemmlowp::MapOrder::ColMajor>;
    block input;
    std::memcpy(&input.buf, acc.data(), sizeof acc);
    std::array<std::int32_t, n> result{};
    matrix dst(result.data(), n, 1, n);
    const std::tuple<Stage> stages(stage); // the executor refers to it
    const gemmlowp::OutputPipelineExecutor<std::tuple<Stage>, block> pipeline(stages);
    pipeline.Execute(input, &dst, 0, 0, 0, 0);
    return result;
}

enum class compare { scalar_and_vector, scalar_only };

template <typename Stage>
void check(octet::requantization_rule rule, const Stage &stage, fixed_point_multiplier m,
           const std::array<std::int32_t, 4> &acc, compare with = compare::scalar_and_vector) {
    const std::array<std::int32_t, 4> vector = run_stage<4>(stage, acc);
    for (std::size_t i = 0; i < acc.size(); i++) {
        const auto report = [&](std::int32_t wanted, const char *which) {
            expect_same(impl::requantize(rule, acc[i], m), wanted, to_string(rule), " (", which, "): acc ",
                        acc[i], ", multiplier ", m.multiplier, ", shift ", m.shift, ", offset ", m.offset);
        };
        report(run_stage<1>(stage, {acc[i]})[0], "scalar");
        const bool wraps = acc[i] == impl::int32_min && m.multiplier == impl::int32_min;
        if (with == compare::scalar_and_vector && !wraps)
            report(vector[i], "vector");
    }
}

using stage_check = void (*)(const std::array<std::int32_t, 4> &acc, std::int32_t multiplier, int shift,
                             std::int32_t offset);

void check_fixedpoint(const std::array<std::int32_t, 4> &acc, std::int32_t q, int shift, std::int32_t) {
    const int right = shift & 31;
    const gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint stage{q, right, 0};
    check(octet::requantization_rule::gemmlowp_fixedpoint, stage, {q, right, 0}, acc);
    check(octet::requantization_rule::caffe2_2step, stage, {q, right, 0}, acc);
    if (q >= 0) // TFLite without a left shift
        check(octet::requantization_rule::tflite_2step, stage, {q, -right, 0}, acc);
}

void check_exponent(const std::array<std::int32_t, 4> &acc, std::int32_t q, int shift, std::int32_t) {
    const gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent stage{q, shift, 0};
    bool overflows = false;
    for (const std::int32_t a : acc)
        overflows = overflows || (shift > 0 && a * (std::int64_t{1} << shift) !=
                                                   impl::saturate_s32(a * (std::int64_t{1} << shift)));
    check(octet::requantization_rule::gemmlowp_fixedpoint_exponent, stage, {q, shift, 0}, acc,
          overflows ? compare::scalar_only : compare::scalar_and_vector);
}

void check_legacy(const std::array<std::int32_t, 4> &acc, std::int32_t q, int shift, std::int32_t offset) {
    // Signed overflow is undefined in gemmlowp's scalar code, so accumulators are kept where it does not
    // happen.
    std::array<std::int32_t, 4> safe{};
    for (std::size_t i = 0; i < acc.size(); i++) {
        std::int64_t a = acc[i];
        while (a + offset != impl::saturate_s32(a + offset) ||
               (a + offset) * q != impl::saturate_s32((a + offset) * q))
            a = a == -1 ? 0 : a / 2;
        safe[i] = static_cast<std::int32_t>(a);
    }
    const int right = shift & 31;
    const gemmlowp::OutputStageQuantizeDownInt32ToUint8Scale stage{offset, q, right};
    check(octet::requantization_rule::gemmlowp_legacy_scale, stage, {q, right, offset}, safe);
}

/// Random accumulators, and such that either rounding step is a tie.
std::array<std::int32_t, 4> accumulators(inputs &in, int bits_of_q, int shift) {
    const int e = shift == 0 ? 1 : std::abs(shift);
    return {in.s32(), in.any_magnitude(), in.odd_multiple_of_two_to(30 - bits_of_q), in.tied_dividend(e)};
}

/// gemmlowp computes a left shift by k as a product with the int 1 << k, so 31 is beyond its own domain.
constexpr int highest_left_shift = 30;

void check_at_random(stage_check run, std::uint32_t seed) {
    inputs in(seed);
    for (int i = 0; i < random_cases / 4; i++) { // four accumulators each
        const int shift = static_cast<int>(in.between(-31, highest_left_shift)),
                  bits_of_q = static_cast<int>(in.between(0, 30));
        const std::int32_t q = in.one_in(2) ? in.multiplier() : in.odd_multiple_of_two_to(bits_of_q);
        run(accumulators(in, bits_of_q, shift), q, shift, 0);
    }
    for (int shift = -31; shift <= highest_left_shift; shift++)
        for (const std::int32_t q :
             {0, 1, -1, 1 << 30, 1717986918, impl::int32_max, impl::int32_min, -(1 << 30)}) {
            const std::vector<std::int32_t> acc = landmarks();
            for (std::size_t i = 0; i + 4 <= acc.size(); i += 4)
                run({acc[i], acc[i + 1], acc[i + 2], acc[i + 3]}, q, shift, 0);
        }
}

TEST(gemmlowp, quantize_down_by_fixed_point) { check_at_random(check_fixedpoint, 41); }
TEST(gemmlowp, scale_by_fixed_point_and_exponent) { check_at_random(check_exponent, 42); }

TEST(gemmlowp, quantize_down_to_uint8_scale) {
    inputs in(43);
    for (int i = 0; i < random_cases / 4; i++) {
        const int shift = static_cast<int>(in.between(0, 31));
        const std::int32_t q =
            static_cast<std::int32_t>(in.one_in(2) ? in.between(1, 65535) : in.between(-4, 4));
        const std::int32_t offset = in.one_in(2) ? 0 : static_cast<std::int32_t>(in.between(-5000, 5000));
        const std::int32_t tie = shift == 0 ? 1 : in.tied_dividend(shift) - offset; // with q = 1
        check_legacy({in.any_magnitude(), in.any_magnitude() >> 12, tie, -tie}, in.one_in(3) ? 1 : q, shift,
                     offset);
    }
}

TEST(gemmlowp, high_mul_and_divide_by_pot) {
    inputs in(44);
    const auto check_high_mul = [](std::int32_t a, std::int32_t b) {
        expect_same(impl::saturating_rounding_doubling_high_mul(a, b),
                    gemmlowp::SaturatingRoundingDoublingHighMul(a, b), a, " * ", b);
    };
    const auto check_divide = [](std::int32_t x, int e) {
        expect_same(impl::rounding_divide_by_pot(x, e), gemmlowp::RoundingDivideByPOT(x, e), x, " / 2^", e);
    };
    for (const std::int32_t a : landmarks()) {
        for (const std::int32_t b : landmarks())
            check_high_mul(a, b);
        for (int e = 0; e <= 31; e++)
            check_divide(a, e);
    }
    for (int i = 0; i < random_cases; i++) {
        const inputs::pair tie = in.tied_product(30);
        check_high_mul(tie.a, tie.b);
        check_high_mul(in.s32(), in.any_magnitude());
        const int e = static_cast<int>(in.between(1, 31));
        check_divide(in.tied_dividend(e), e);
        check_divide(in.any_magnitude(), e);
    }
}

// ---- fixed-point functions

template <int integer_bits> using fixed = gemmlowp::FixedPoint<std::int32_t, integer_bits>;

/// Any non-zero value with sign and magnitude at random; INT32_MIN has no magnitude.
std::int32_t argument(inputs &in) {
    const std::int32_t x = in.any_magnitude();
    return x == impl::int32_min ? -impl::int32_max : x;
}

template <int m> void check_exp() {
    inputs in(45 + m);
    const auto check = [](std::int32_t x) {
        expect_same(impl::exp_on_negative_values(x, m),
                    gemmlowp::exp_on_negative_values(fixed<m>::FromRaw(x)).raw(), "exp ", x,
                    ", integer bits ", m);
    };
    for (const std::int32_t x : landmarks())
        if (x <= 0)
            check(x);
    for (int i = 0; i < random_cases / 6; i++)
        check(-std::abs(argument(in)));
}

TEST(gemmlowp, exp) {
    check_exp<0>();
    check_exp<1>();
    check_exp<3>();
    check_exp<4>();
    check_exp<5>(); // softmax
    check_exp<6>();
    check_exp<8>();
}

template <int m> void check_logistic_and_tanh() {
    inputs in(55 + m);
    const auto check = [](std::int32_t x) {
        expect_same(impl::logistic(x, m), gemmlowp::logistic(fixed<m>::FromRaw(x)).raw(), "logistic ", x,
                    ", integer bits ", m);
        expect_same(impl::tanh(x, m), gemmlowp::tanh(fixed<m>::FromRaw(x)).raw(), "tanh ", x,
                    ", integer bits ", m);
    };
    for (const std::int32_t x : landmarks())
        if (x != impl::int32_min)
            check(x);
    for (int i = 0; i < random_cases / 4; i++)
        check(argument(in));
}

TEST(gemmlowp, logistic_and_tanh) {
    check_logistic_and_tanh<0>();
    check_logistic_and_tanh<3>();
    check_logistic_and_tanh<4>(); // TFLite
    check_logistic_and_tanh<6>();
}

TEST(gemmlowp, reciprocals) {
    inputs in(65);
    const auto check = [](std::int32_t x) {
        const auto q = fixed<0>::FromRaw(x);
        expect_same(impl::one_over_one_plus_x(x), gemmlowp::one_over_one_plus_x_for_x_in_0_1(q).raw(),
                    "1 / (1 + ", x);
        expect_same(impl::one_minus_x_over_one_plus_x(x),
                    gemmlowp::one_minus_x_over_one_plus_x_for_x_in_0_1(q).raw(),
                    "(1 - x) / (1 + x), x = ", x);
    };
    for (const std::int32_t x : landmarks())
        if (x >= 0)
            check(x);
    for (int i = 0; i < random_cases; i++)
        check(std::abs(argument(in)));
}

TEST(gemmlowp, saturating_shift_and_half_sum) {
    inputs in(66);
    for (int i = 0; i < random_cases; i++) {
        const std::int32_t x = argument(in), y = in.s32();
        expect_same(impl::saturating_shift_left(x, 1), gemmlowp::SaturatingRoundingMultiplyByPOT<1>(x), x,
                    " << 1");
        expect_same(impl::saturating_shift_left(x, 2), gemmlowp::SaturatingRoundingMultiplyByPOT<2>(x), x,
                    " << 2");
        expect_same(impl::saturating_shift_left(x, 5), gemmlowp::SaturatingRoundingMultiplyByPOT<5>(x), x,
                    " << 5");
        expect_same(impl::rounding_half_sum(x, y), gemmlowp::RoundingHalfSum(x, y), x, " + ", y);
    }
}

} // namespace

#else

TEST(gemmlowp, comparison) {
    GTEST_SKIP() << "gemmlowp's headers (libgemmlowp-dev) were not found at configure time";
}

#endif
