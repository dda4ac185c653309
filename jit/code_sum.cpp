#include "jit/code_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"

namespace octet::impl::jit {

namespace {

constexpr int weight_bits = 30, low_bits = 15;
/// With fewer, high parts of sums that are ties might have another sign than the sums; with more, the rest of
/// the shift has more than 31 bits.
constexpr int least_shift = 26, largest_shift = 31 + low_bits;

double real(const fixed_point_multiplier &m) { return std::ldexp(m.multiplier, m.shift - 31); }

std::int16_t low_part(std::int32_t weight) {
    return static_cast<std::int16_t>(weight & ((1 << low_bits) - 1));
}
std::int16_t high_part(std::int32_t weight) { return static_cast<std::int16_t>(weight >> low_bits); }

/// What the emitted code does. `x` and `y` are centred.
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
        result[static_cast<std::size_t>(i)] =
            requantize(rule, (codes.range.low + i - codes.zero_point) * (1 << add_left_shift), m);
    return result;
}

bool is_exact(const code_sum &s, requantization_rule rule, const add_multipliers &m, const centred_codes &x,
              const centred_codes &y, int sign) {
    const auto us = rescaled(rule, m.a, x), vs = rescaled(rule, m.b, y);
    for (std::size_t i = 0; i < 256; i++)
        for (std::size_t k = 0; k < 256; k++) {
            const std::int32_t sum = wrap(us[i] + std::int64_t{sign} * vs[k]);
            if (apply(s, x.range.low + static_cast<int>(i) - x.zero_point,
                      y.range.low + static_cast<int>(k) - y.zero_point) != requantize(rule, sum, m.dst))
                return false;
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
    const auto weight = [&](double w) { // 2^30 itself has no high part of 16 bits
        return static_cast<std::int32_t>(std::min(std::nearbyint(std::ldexp(w, shift)), 0x1p30 - 1));
    };
    const std::int32_t wa = weight(a), wb = weight(b);
    const code_sum s{
        low_part(wa),     high_part(wa), low_part(wb), high_part(wb),
        shift - low_bits, x.zero_point,  y.zero_point, rule != requantization_rule::tflite_single_rounding};
    if (!is_exact(s, rule, m, x, y, sign))
        return {};
    return s;
}

std::int32_t code_sum_word(const code_sum &s, int plane) {
    const std::int32_t words[code_sum_planes] = {
        pair_of_words(s.zero_point_a, s.zero_point_b), pair_of_words(s.a_high, s.b_high),
        pair_of_words(s.a_low, s.b_low), 1 << (s.shift - 1), s.shift};
    return words[plane];
}

/// Both codes of a lane as its two words.
void emit_code_sum(emitter &e, bool ties_away, const vec &x, const vec &y,
                   const std::function<vec_operand(int)> &plane) {
    e.vpslld(y, y, 16);
    e.take_high_words(x, y);
    e.vpsubw(x, x, plane(0));
    e.vpmaddwd(y, x, plane(2));
    e.vpmaddwd(x, x, plane(1));
    if (ties_away) {
        const emitter::temp sign(e);
        e.vpsrad(sign, x, 31);
        e.vpaddd(y, y, sign);
    }
    e.vpsrad(y, y, low_bits);
    e.vpaddd(x, x, y);
    e.vpaddd(x, x, plane(3));
    e.vpsravd(x, x, plane(4));
}

} // namespace octet::impl::jit
