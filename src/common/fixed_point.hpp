#pragma once // SPDX-License-Identifier: Apache-2.0

// Fixed-point functions of gemmlowp, as TFLite's integer softmax, logistic and tanh use them. Qm.f: an int32
// with m integer bits and f = 31 - m fraction bits. Additions wrap, as in the original; all constants are the
// published ones.

#include "common/rounding.hpp"

namespace octet::impl {

/// Left shift by k that saturates.
constexpr std::int32_t saturating_shift_left(std::int32_t x, int k) {
    const std::int32_t threshold = static_cast<std::int32_t>((std::int64_t{1} << (31 - k)) - 1);
    if (x > threshold)
        return int32_max;
    if (x < -threshold)
        return int32_min;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << k);
}

/// (a + b) / 2, ties away from zero.
constexpr std::int32_t rounding_half_sum(std::int32_t a, std::int32_t b) {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
}

/// exp(a) for a in [-1/4, 0) as Q0.31: a Taylor polynomial around -1/8.
constexpr std::int32_t exp_between_negative_quarter_and_zero(std::int32_t a) {
    constexpr auto mul = saturating_rounding_doubling_high_mul;
    constexpr std::int32_t exp_of_minus_eighth = 1895147668, one_third = 715827883;
    const std::int32_t x = wrapping_add(a, 1 << 28);
    const std::int32_t x2 = mul(x, x), x3 = mul(x2, x), x4 = mul(x2, x2);
    const std::int32_t x4_over_4 = rounding_divide_by_pot(x4, 2);
    const std::int32_t tail =
        rounding_divide_by_pot(wrapping_add(mul(wrapping_add(x4_over_4, x3), one_third), x2), 1);
    return wrapping_add(exp_of_minus_eighth, mul(exp_of_minus_eighth, wrapping_add(x, tail)));
}

/// exp(a) for a <= 0 as Qm with m = `integer_bits`; result Q0.31.
constexpr std::int32_t exp_on_negative_values(std::int32_t a, int integer_bits) {
    if (a == 0)
        return int32_max;
    struct factor {
        int exponent;            // applies to the bit 2^exponent of the argument
        std::int32_t multiplier; // exp(-2^exponent) as Q0.31
    };
    constexpr factor factors[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                                  {2, 39332535},    {3, 720401},      {4, 242}};
    const int fraction_bits = 31 - integer_bits;
    const std::int32_t quarter = std::int32_t{1} << (fraction_bits - 2);
    const std::int32_t a_mod_quarter_minus_quarter = (a & (quarter - 1)) - quarter;
    std::int32_t result = exp_between_negative_quarter_and_zero(
        saturating_shift_left(a_mod_quarter_minus_quarter, integer_bits));
    const std::int32_t remainder = wrap(std::int64_t{a_mod_quarter_minus_quarter} - a);
    for (const factor &f : factors)
        if (integer_bits > f.exponent && (remainder >> (fraction_bits + f.exponent) & 1))
            result = saturating_rounding_doubling_high_mul(result, f.multiplier);
    if (integer_bits > 5 && a < -(std::int64_t{1} << (36 - integer_bits)))
        return 0;
    return result;
}

constexpr std::int32_t newton_fortyeight_17ths = 1515870810,
                       newton_minus_thirtytwo_17ths = -1010580540; // Q2.29
constexpr int newton_steps = 3;

/// Three Newton-Raphson steps towards 2 / (1 + a) for a in [0, 1] as Q0.31; result Q2.29, so half of it is
/// 1/(1+a).
constexpr std::int32_t newton_reciprocal(std::int32_t a) {
    constexpr auto mul = saturating_rounding_doubling_high_mul;
    constexpr std::int32_t one = 1 << 29;
    const std::int32_t half_denominator = rounding_half_sum(a, int32_max);
    std::int32_t x =
        wrapping_add(newton_fortyeight_17ths, mul(half_denominator, newton_minus_thirtytwo_17ths));
    for (int step = 0; step < newton_steps; step++) {
        const std::int32_t error = wrap(std::int64_t{one} - mul(half_denominator, x));
        x = wrapping_add(x, saturating_shift_left(mul(x, error), 2));
    }
    return x;
}

/// 1 / (1 + a) for a in [0, 1]; Q0.31 both.
constexpr std::int32_t one_over_one_plus_x(std::int32_t a) {
    return saturating_shift_left(newton_reciprocal(a), 1);
}

/// (1 - a) / (1 + a) for a in [0, 1]; Q0.31 both.
constexpr std::int32_t one_minus_x_over_one_plus_x(std::int32_t a) {
    return saturating_shift_left(wrap(std::int64_t{newton_reciprocal(a)} - (1 << 29)), 2);
}

/// 1 / (1 + exp(-a)) of a Qm value; result Q0.31.
constexpr std::int32_t logistic(std::int32_t a, int integer_bits) {
    if (a == 0)
        return 1 << 30;
    const std::int32_t positive = one_over_one_plus_x(exp_on_negative_values(a > 0 ? -a : a, integer_bits));
    return a > 0 ? positive : wrap(std::int64_t{int32_max} - positive);
}

/// tanh of a Qm value; result Q0.31.
constexpr std::int32_t tanh(std::int32_t a, int integer_bits) {
    if (a == 0)
        return 0;
    const std::int32_t positive =
        one_minus_x_over_one_plus_x(exp_on_negative_values(a > 0 ? -a : a, integer_bits + 1));
    return a > 0 ? positive : -positive;
}

/// 1 / x for x > 0 with `integer_bits` integer bits, as mantissa (Q0.31) and the number of bits to shift
/// right.
struct reciprocal {
    std::int32_t value;
    int bits_over_unit;
};
constexpr reciprocal reciprocal_of(std::int32_t x, int integer_bits) {
    const int leading_zeros = x == 0 ? 31 : __builtin_clz(static_cast<std::uint32_t>(x));
    const std::uint32_t normalised = static_cast<std::uint32_t>(x) << leading_zeros; // in [2^31, 2^32): 1 + a
    return {one_over_one_plus_x(static_cast<std::int32_t>(normalised - 0x80000000u)),
            integer_bits - leading_zeros};
}

} // namespace octet::impl
