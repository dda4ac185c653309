// The vector form of eltwise_pow_detail in common/eltwise_math.hpp: vectors of binary64, so one half of the
// lanes at a time.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/eltwise_pow.hpp"

#include "common/eltwise_math.hpp"

namespace octet::impl::jit {

namespace {

using namespace eltwise_pow_detail;
using temp = emitter::temp;
using mask = emitter::mask;

vec_operand constant(emitter &e, double value) { return e.constant64(bits(value)); }

template <std::size_t n> void polynomial(emitter &e, const vec &sum, const vec &x, const double (&c)[n]) {
    e.move(sum, constant(e, c[n - 1]));
    for (std::size_t i = n - 1; i-- > 0;)
        e.vfmadd213pd(sum, x, constant(e, c[i]));
}

void replace_where_equal(emitter &e, const vec &dst, const vec &x, double bound, double value) {
    const mask m(e);
    e.compare_f64(m, x, constant(e, bound), emitter::eq);
    e.blend64(dst, m, dst, constant(e, value));
}

void abs(emitter &e, const vec &dst, const vec &x, int half) {
    e.f32_to_f64(dst, x, half);
    e.vpand_(dst, dst, e.constant64(~(std::uint64_t{1} << 63)));
}

/// The low bits of 2^52 + n are the integer n >= 0: AVX2 has no conversion between f64 and s64.
constexpr double integer_in_low_bits = 0x1p52;
constexpr double exponent_bias = 1023.;

/// d = log2|x|, except for 0 and infinity
void log2_abs_of_finite(emitter &e, const vec &d, const vec &x, int half) {
    const temp k(e), t(e), sum(e);
    abs(e, d, x, half);
    e.vpaddq(k, d, e.constant64(one_bits - sqrt_half_bits));
    e.vpsrlq(k, k, 52);
    e.vpsllq(t, k, 52);
    e.vpsubq(d, d, t);
    e.vpaddq(d, d, e.constant64(one_bits));
    e.vpor_(k, k, constant(e, integer_in_low_bits));
    e.vsubpd(k, k, constant(e, integer_in_low_bits + exponent_bias));

    e.vaddpd(t, d, constant(e, 1.));
    e.vsubpd(d, d, constant(e, 1.));
    e.vdivpd(d, d, t);
    e.vmulpd(t, d, d);
    polynomial(e, sum, t, atanh_coefficients);
    e.vmulpd(d, d, constant(e, two_over_ln2));
    e.vmulpd(d, d, sum);
    e.vaddpd(d, k, d);
}

void log2_abs(emitter &e, const vec &d, const vec &x, int half) {
    log2_abs_of_finite(e, d, x, half);
    const temp a(e);
    abs(e, a, x, half);
    replace_where_equal(e, d, a, 0., -infinity);
    replace_where_equal(e, d, a, infinity, infinity);
}

void exp2(emitter &e, const vec &t) {
    const temp n(e), sum(e);
    e.round_f64(n, t, emitter::to_even);
    e.vsubpd(t, t, n);
    e.vmulpd(t, t, constant(e, ln2));
    polynomial(e, sum, t, inverse_factorials);
    e.vaddpd(n, n, constant(e, integer_in_low_bits + exponent_bias));
    e.vpsllq(n, n, 52);
    e.vmulpd(t, sum, n);
}

/// d = |x|^y
void power_of_half(emitter &e, const vec &d, const vec &x, int half, float y) {
    log2_abs(e, d, x, half);
    {
        const mask is_zero(e);
        e.compare_f64(is_zero, d, constant(e, 0.), emitter::eq);
        e.vmulpd(d, d, constant(e, y));
        e.blend64(d, is_zero, d, constant(e, 0.));
    }
    e.vminpd(d, d, constant(e, exp2_limit));
    e.vmaxpd(d, d, constant(e, -exp2_limit));
    exp2(e, d);
}

} // namespace

void emit_power_of_abs(emitter &e, const vec &dst, const vec &x, float y) {
    power_of_half(e, dst, x, 0, y);
    const temp high(e);
    power_of_half(e, high, x, 1, y);
    e.f64_to_f32(dst, dst, high);
}

} // namespace octet::impl::jit
