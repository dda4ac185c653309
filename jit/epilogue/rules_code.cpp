// A section for each form of rule; rules_code.hpp says which parameter vectors it reads.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/rules_code.hpp"

#include <cmath>

#include "common/bits.hpp"
#include "common/requantize.hpp"

namespace octet::impl::jit {

namespace {

using temp = emitter::temp;
using context = requantize_context;

constexpr std::uint64_t two_to_the(int exponent) { return std::uint64_t{1} << exponent; }
constexpr std::uint32_t largest = int32_max;

vec_operand constant_f64(emitter &e, double x) { return e.constant64(bits(x)); }

// ---- one shift

/// Short: ((P >> 32) + 2^(s-33)) >> (s-32). Exact for 33 <= s <= 62: 2^(s-1) has no low dword, and no sum
/// reaches 2^31.
void shift_high_dwords(const context &c, const vec &even, const vec &odd, bool is_symmetric) {
    emitter &e = c.e;
    e.merge_high_dwords(odd, even);
    e.vpaddd(odd, odd, c.param(2));
    is_symmetric ? e.vpsrlvd(odd, odd, c.param(3)) : e.vpsravd(c.acc, odd, c.param(3));
}

/// Long. A logical shift does for |acc|, and where the result wraps: adding 2^63 makes the sum unsigned, and
/// 2^(63-s) is subtracted from the result, exact for 1 <= s <= 62.
void shift_64_bits(const context &c, const vec &even, const vec &odd, bool is_symmetric) {
    emitter &e = c.e;
    const bool wraps = wraps_below_zero(c.spec.fixed_point());
    for (const int parity : {0, 1}) {
        const vec &x = parity == 0 ? even : odd;
        e.vpaddq(x, x, c.param(2 + parity));
        if (wraps || is_symmetric) {
            e.vpsrlvq(x, x, c.param(4 + parity));
        } else {
            e.shift_right_s64(x, x, c.param(4 + parity));
            e.saturate_s64_to_s32(x);
        }
    }
    e.vpsllq(odd, odd, 32);
    e.merge_even_odd(wraps || is_symmetric ? odd : c.acc, even, odd);
    if (wraps)
        e.vpsubd(c.acc, odd, c.param(6));
}

} // namespace

void emit_one_shift(const context &c) {
    emitter &e = c.e;
    const temp even(e), odd(e);
    const bool is_symmetric = c.spec.fixed_point().last == ties_go::away;
    if (is_symmetric) {
        e.vpabsd(even, c.acc); // also 2^31, unsigned
        e.vpsrlq(odd, even, 32);
        e.vpmuludq(even, even, c.param(0));
        e.vpmuludq(odd, odd, c.param(1));
    } else {
        e.vpsrlq(odd, c.acc, 32);
        e.vpmuldq(even, c.acc, c.param(0));
        e.vpmuldq(odd, odd, c.param(1));
    }
    (c.spec.short_form ? shift_high_dwords : shift_64_bits)(c, even, odd, is_symmetric);
    if (is_symmetric)
        e.give_sign(c.acc, odd, c.acc);
}

// ---- two steps

namespace {

/// acc = RDP(x, e) from |x| and, in acc, the sign of x. Exact for all x, even -2^31, and 0 <= e <= 31:
/// the sum is unsigned and below 2^32.
void divide_by_pot(const context &c, const vec &magnitude) {
    emitter &e = c.e;
    e.vpaddd(magnitude, magnitude, c.param(2));
    e.vpsrlvd(magnitude, magnitude, c.param(3));
    e.give_sign(c.acc, magnitude, c.acc);
}

} // namespace

/// Both roundings at once: (P + 2^30 + 2^(30+e) - (acc < 0 ? 2^31 : 0)) >> (31+e). Rounding down after SRDHM
/// and again after RDP is rounding down once; 2^31 is one unit of SRDHM, which sends the ties of RDP down.
/// Exact for q >= 0, where SRDHM has the sign of acc, and 1 <= e <= 31, where the high dword is enough. Where
/// ties of RDP go up, nothing is subtracted.
void emit_two_step_short(const context &c) {
    emitter &e = c.e;
    const bool ties_go_up = c.spec.fixed_point().last == ties_go::up;
    const temp odd(e), minus_constant(e);
    e.vpsrlq(odd, c.acc, 32);
    for (const int parity : {0, 1}) {
        const vec &x = parity == 0 ? c.acc : odd;
        if (ties_go_up || c.spec.clamps_negative) { // without its own constant a negative acc gives at most 0
            e.vpmuldq(x, x, c.param(parity));
            e.vpaddq(x, x, c.param(2 + parity));
            continue;
        }
        e.vpand_(minus_constant, x, e.constant64(two_to_the(31)));
        e.vpsubq(minus_constant, minus_constant, c.param(2 + parity));
        e.vpmuldq(x, x, c.param(parity));
        e.vpsubq(x, x, minus_constant);
    }
    e.merge_high_dwords(odd, c.acc);
    e.vpsravd(c.acc, odd, c.param(4));
}

/// SRDHM is bits 31 to 62 of P + 2^30, so logical shifts do.
void emit_two_step(const context &c) {
    emitter &e = c.e;
    const temp even(e), odd(e);
    e.vpsrlq(odd, c.acc, 32);
    e.vpmuldq(even, c.acc, c.param(0));
    e.vpmuldq(odd, odd, c.param(1));
    e.vpaddq(even, even, e.constant64(two_to_the(30)));
    e.vpaddq(odd, odd, e.constant64(two_to_the(30)));
    e.vpsrlq(even, even, 31);
    e.vpsllq(odd, odd, 1);
    e.merge_even_odd(even, even, odd);
    e.vpabsd(even, even);
    if (c.spec.fixed_point().lowest < 0 || c.spec.has_negative) {
        e.vpminud(even, even, e.constant(largest)); // SRDHM saturates, for -2^31 squared
        e.vpxor_(c.acc, c.acc, c.param(0));         // the sign of P
        e.vpor_(c.acc, c.acc, e.constant(1u));      // but not 0, where acc = q
    }
    divide_by_pot(c, even);
}

void emit_legacy_scale(const context &c) {
    emitter &e = c.e;
    const temp magnitude(e);
    e.vpaddd(c.acc, c.acc, c.param(1));
    e.vpmulld(c.acc, c.acc, c.param(0));
    e.vpabsd(magnitude, c.acc);
    divide_by_pot(c, magnitude);
}

// ---- in floating point

namespace {

/// Truncating x afterwards rounds it to nearest, ties away from zero. The number before 1/2 is as good as 1/2
/// for ties, whose sum rounds up, and better for itself, which 1/2 would round to 1.
void add_half_f32(emitter &e, const vec &x) {
    const temp half(e);
    e.vpand_(half, x, e.constant(0x80000000u));
    e.vpor_(half, half, e.constant(std::nextafter(0.5f, 0.f)));
    e.vaddps(x, x, half);
}
void add_half_f64(emitter &e, const vec &x) {
    const temp half(e);
    e.vpand_(half, x, e.constant64(two_to_the(63)));
    e.vpor_(half, half, constant_f64(e, std::nextafter(0.5, 0.)));
    e.vaddpd(x, x, half);
}

/// acc = rha(acc * mantissa), f32 lanes.
void scale_in_f32(const context &c) {
    emitter &e = c.e;
    e.vmulps(c.acc, c.acc, c.param(0));
    add_half_f32(e, c.acc);
    e.round_f32(c.acc, c.acc, emitter::to_zero);
}
void scale_in_f64(const context &c) {
    emitter &e = c.e;
    const temp rest(e);
    e.split_lanes(c.acc, rest);
    for (const int half : {0, 1}) {
        const vec &x = half == 0 ? c.acc : rest;
        e.vcvtps2pd(x, e.half_of(x));
        e.vmulpd(x, x, c.param(half));
        add_half_f64(e, x);
        e.round_f64(x, x, emitter::to_zero);
        e.vcvtpd2ps(e.half_of(x), x);
    }
    e.join_lanes(c.acc, rest);
}

} // namespace

/// The conversion rounds to even; a half that is added first, and what truncation then leaves, away from
/// zero. ev_rte15: the product of 32 and 15 bits is exact in f64.
void emit_f64_product(const context &c) {
    emitter &e = c.e;
    const real_facts &facts = facts_of(c.spec.rule).real;
    const temp rest(e);
    e.split_lanes(c.acc, rest);
    for (const int half : {0, 1}) {
        const vec &x = half == 0 ? c.acc : rest;
        e.vcvtdq2pd(x, e.half_of(x));
        e.vmulpd(x, x, c.param(half));
        if (facts.adds_zero_point) {
            e.vaddpd(x, x, c.param(2 + half));
            e.round_f64(x, x, emitter::to_even);
            e.vsubpd(x, x, c.param(2 + half));
        }
        const bool is_away = facts.ties == ties_go::away;
        if (is_away)
            add_half_f64(e, x);
        // Numbers below -2^31 become -2^31 by the conversion itself.
        e.vminpd(x, x, constant_f64(e, int32_max));
        is_away ? e.vcvttpd2dq(e.half_of(x), x) : e.vcvtpd2dq(e.half_of(x), x);
    }
    e.join_lanes(c.acc, rest);
}

namespace {

/// The doubles 2^52 + u of the dwords u of `even`, without sign: those of odd dwords go to `odd`.
void dwords_to_f64(emitter &e, const vec &even, const vec &odd) {
    const temp exponent(e);
    e.move(exponent, constant_f64(e, 0x1p52));
    e.vpsrlq(odd, even, 32);
    e.vpor_(odd, odd, exponent);
    e.merge_even_odd(even, even, exponent);
}

/// To the nearest integers in the low dwords, ties to even.
void round_to_low_dwords(emitter &e, const vec &even, const vec &odd, double magic) {
    for (const vec &x : {even, odd})
        e.vaddpd(x, x, constant_f64(e, magic));
}

} // namespace

/// (2^52 + |acc|) F - 2^52 F, one multiply-add, is |acc| F rounded once, and adding 2^52 to it leaves the
/// nearest integer in the low bits: neither direction needs a conversion, and nothing saturates. Both kinds
/// of ties are the same for x and -x; where negative results are all alike, 0 stands for them.
void emit_f64_product_short(const context &c) {
    emitter &e = c.e;
    const temp even(e), odd(e);
    if (c.spec.clamps_negative)
        e.vpmaxsd(even, c.acc, e.constant(0u));
    else
        e.vpabsd(even, c.acc); // also 2^31, unsigned
    dwords_to_f64(e, even, odd);
    for (const int parity : {0, 1}) {
        const vec &x = parity == 0 ? even : odd;
        const temp minus_exponent(e);
        e.move(minus_exponent, c.param(2 + parity));
        e.vfmadd132pd(x, minus_exponent, c.param(parity));
    }
    const vec &to = c.spec.clamps_negative ? c.acc : even.get();
    if (facts_of(c.spec.rule).real.ties == ties_go::away) {
        e.half_up_to_dwords(to, even, odd);
    } else {
        round_to_low_dwords(e, even, odd, 0x1p52);
        e.merge_low_dwords(to, even, odd);
    }
    if (!c.spec.clamps_negative)
        e.give_sign(c.acc, even, c.acc);
}

/// Sums with a zero point are not symmetric, so the sign bit is flipped, and 2^31 taken away with 2^52. Low
/// dwords wrap, also when the zero point is taken away again; the result does not leave s32.
void emit_f64_sum_short(const context &c) {
    emitter &e = c.e;
    const temp odd(e);
    e.vpxor_(c.acc, c.acc, e.constant(0x80000000u));
    dwords_to_f64(e, c.acc, odd);
    for (const int parity : {0, 1}) {
        const vec &x = parity == 0 ? c.acc : odd.get();
        e.vsubpd(x, x, constant_f64(e, 0x1p52 + 0x1p31));
        e.vmulpd(x, x, c.param(parity));
        e.vaddpd(x, x, c.param(2 + parity));
    }
    round_to_low_dwords(e, c.acc, odd, 0x1.8p52);
    e.merge_low_dwords(c.acc, c.acc, odd);
    e.vpsubd(c.acc, c.acc, c.param(4));
}

void emit_double_round(const context &c) {
    emitter &e = c.e;
    e.vcvtdq2ps(c.acc, c.acc);
    (c.spec.real_is_f32 ? scale_in_f32 : scale_in_f64)(c);
    e.vmulps(c.acc, c.acc, c.param(c.spec.real_is_f32 ? 1 : 2));
    add_half_f32(e, c.acc);
    const emitter::mask overflows(e); // f64 rounds to 2^31 at most, which converts to -2^31
    e.compare_f32(overflows, c.acc, e.constant(0x1p31f), emitter::ge);
    e.vcvttps2dq(c.acc, c.acc);
    e.blend(c.acc, overflows, c.acc, e.constant(largest));
}

// ---- left shift

/// Saturates to the extreme of acc's sign where shifting back doesn't restore acc.
void emit_left_shift(const context &c, const vec_operand &count) {
    emitter &e = c.e;
    if (c.spec.fixed_point().left_shift == overflow::wraps) {
        e.vpsllvd(c.acc, c.acc, count);
        return;
    }
    const temp shifted(e), limit(e);
    const emitter::mask fits(e);
    e.vpsllvd(shifted, c.acc, count);
    e.vpsravd(limit, shifted, count);
    e.compare_s32_eq(fits, limit, c.acc);
    e.vpsrad(limit, c.acc, 31);
    e.vpxor_(limit, limit, e.constant(largest));
    e.blend(c.acc, fits, limit, shifted);
}

} // namespace octet::impl::jit
