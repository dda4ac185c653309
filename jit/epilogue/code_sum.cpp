// Weights are rounded to 30 bits, then all pairs of codes near a tie are compared with the three roundings.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/code_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"

namespace octet::impl::jit {

namespace {

constexpr int weight_bits = 30, low_bits = code_sum_low_bits;
/// With fewer, high parts of sums that are ties might have another sign than the sums; with more, the rest of
/// the shift has more than 31 bits.
constexpr int least_shift = 26, largest_shift = 31 + low_bits;

double real(const fixed_point_multiplier &m) { return std::ldexp(m.multiplier, m.shift - 31); }

std::int16_t low_part(std::int32_t weight) {
    return static_cast<std::int16_t>(weight & ((1 << low_bits) - 1));
}
std::int16_t high_part(std::int32_t weight) { return static_cast<std::int16_t>(weight >> low_bits); }

std::int32_t weight(std::int16_t high, std::int16_t low) { return high * (1 << low_bits) + low; }

/// The sum that the emitted code computes. `x` and `y` are centred.
std::int32_t apply(const code_sum &s, std::int32_t x, std::int32_t y) {
    const std::int32_t high = x * s.a_high + y * s.b_high, low = x * s.a_low + y * s.b_low;
    const std::int32_t down = s.ties_away && high < 0 ? 1 : 0;
    return (high + ((low - down) >> low_bits) + (1 << (s.shift - 1))) >> s.shift;
}

/// The rescaled codes of a source, the lowest first.
std::array<std::int32_t, 256> rescaled(requantization_rule rule, const fixed_point_multiplier &m,
                                       const centred_codes &codes) {
    std::array<std::int32_t, 256> result;
    for (int i = 0; i < 256; i++)
        result[static_cast<std::size_t>(i)] = rescaled_code(rule, codes.range.low + i - codes.zero_point, m);
    return result;
}

/// How far three roundings may be from the number that they round, in results.
double largest_error(const code_sum &s, const add_multipliers &m) {
    const double rescaled_codes = 2 * real(m.dst);          // each is off by less than 1
    const double first_step = std::ldexp(0.5, m.dst.shift); // error of rescaling the sum
    const double weights = std::ldexp(256, -(s.shift + low_bits));
    return std::min(rescaled_codes + first_step + weights, 1.);
}

/// All pairs are tried, but only those near to a tie can differ.
bool is_exact(const code_sum &s, requantization_rule rule, const add_multipliers &m, const centred_codes &x,
              const centred_codes &y, int sign) {
    const auto us = rescaled(rule, m.a, x), vs = rescaled(rule, m.b, y);
    const std::int64_t unit = std::int64_t{1} << (s.shift + low_bits);
    const auto error = static_cast<std::int64_t>(largest_error(s, m) * static_cast<double>(unit));
    for (int i = 0; i < 256; i++) {
        const int cx = x.range.low + i - x.zero_point, first = y.range.low - y.zero_point;
        std::int64_t sum = std::int64_t{cx} * weight(s.a_high, s.a_low) +
                           std::int64_t{first} * weight(s.b_high, s.b_low) + unit / 2;
        for (int k = 0; k < 256; k++, sum += weight(s.b_high, s.b_low)) {
            const std::int64_t beyond_tie = sum & (unit - 1);
            if (beyond_tie > error && beyond_tie < unit - error)
                continue;
            const std::int32_t scaled =
                wrap(us[static_cast<std::size_t>(i)] + std::int64_t{sign} * vs[static_cast<std::size_t>(k)]);
            if (apply(s, cx, first + k) != requantize(rule, scaled, m.dst))
                return false;
        }
    }
    return true;
}

bool is_centred(const centred_codes &c) {
    return c.range.high - c.range.low == 255 && c.zero_point >= c.range.low && c.zero_point <= c.range.high;
}

std::int32_t pair_of_words(std::int32_t low, std::int32_t high) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffff) |
                                     static_cast<std::uint32_t>(high) << 16);
}

} // namespace

std::optional<code_sum> make_code_sum(requantization_rule rule, const add_multipliers &m,
                                      const centred_codes &x, const centred_codes &y, bool subtracts) {
    const int sign = subtracts ? -1 : 1;
    const double unit = real(m.dst) * (1 << add_left_shift);
    const double a = real(m.a) * unit, b = sign * real(m.b) * unit;
    int exponent = 0;
    std::frexp(std::max(std::abs(a), std::abs(b)), &exponent);
    const int shift = weight_bits - exponent;
    if (!is_centred(x) || !is_centred(y) || m.a.shift > 0 || m.b.shift > 0 || shift < least_shift ||
        shift > largest_shift)
        return {};
    const auto rounded = [&](double w) { // 2^30 itself has no high part of 16 bits
        return static_cast<std::int32_t>(std::min(std::nearbyint(std::ldexp(w, shift)), 0x1p30 - 1));
    };
    const std::int32_t wa = rounded(a), wb = rounded(b);
    const code_sum s{
        low_part(wa),     high_part(wa), low_part(wb), high_part(wb),
        shift - low_bits, x.zero_point,  y.zero_point, facts_of(rule).fixed_point.last == ties_go::away};
    if (!is_exact(s, rule, m, x, y, sign))
        return {};
    return s;
}

std::int32_t code_sum_word(const code_sum &s, int param) {
    const std::int32_t words[code_sum_params] = {
        pair_of_words(s.zero_point_a, s.zero_point_b), pair_of_words(s.a_high, s.b_high),
        pair_of_words(s.a_low, s.b_low), 1 << (s.shift - 1), s.shift};
    return words[param];
}

} // namespace octet::impl::jit
