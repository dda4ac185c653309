// The vector form of common/eltwise_math.hpp. A function here transforms x in place, has the name of its
// scalar twin, and performs the twin's operations in the same order; where it leaves one out, a comment says
// why no bit can differ. Start reading at `exp`, then `emit_eltwise` at the end of the file.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/eltwise.hpp"

#include <iterator>

#include "common/eltwise_math.hpp"
#include "jit/epilogue/eltwise_ort.hpp"
#include "jit/epilogue/eltwise_pow.hpp"
#include "jit/epilogue/polynomial.hpp"

namespace octet::impl::jit {

namespace {

using namespace eltwise_constants;
using temp = emitter::temp;
using mask = emitter::mask;

// ---- what the functions are made of

/// n = 2^n for an integer n in [-127, 127], as lane::pow2.
void pow2(emitter &e, const vec &n) {
    e.vcvtps2dq(n, n);
    e.vpaddd(n, n, e.constant(127u));
    e.vpslld(n, n, 23);
}

/// dst = the significand of x with other sign and exponent bits
void significand(emitter &e, const vec &dst, const vec &x, std::uint32_t exponent_bits) {
    e.vpand_(dst, x, e.constant(0x007fffffu));
    e.vpor_(dst, dst, e.constant(exponent_bits));
}

/// dst = value in the lanes where `x p bound`
void replace_where(emitter &e, const vec &dst, const vec &x, emitter::compare_predicate p, float bound,
                   float value) {
    const mask m(e);
    e.compare_f32(m, x, e.constant(bound), p);
    e.blend(dst, m, dst, e.constant(value));
}

void abs(emitter &e, const vec &dst, const vec &x) { e.vpand_(dst, x, e.constant(~lane::sign_bit)); }
void negate(emitter &e, const vec &x) { e.vpxor_(x, x, e.constant(lane::sign_bit)); }

/// x = y with its sign flipped where x is negative
void flip_sign(emitter &e, const vec &x, const vec &y) {
    e.vpand_(x, x, e.constant(lane::sign_bit));
    e.vpxor_(x, x, y);
}

void clip(emitter &e, const vec &x, float low, float high) {
    e.vmaxps(x, x, e.constant(low));
    e.vminps(x, x, e.constant(high));
}

// ---- exp and what is built on it

/// Clamps x to the domain of exp; n = floor(x log2(e) + 1/2).
void exp_exponent(emitter &e, const vec &n, const vec &x) {
    e.vminps(x, x, e.constant(exp_max));
    e.vmaxps(x, x, e.constant(exp_min));
    e.vmulps(n, x, e.constant(log2_e));
    e.vaddps(n, n, e.constant(0.5f));
    e.round_f32(n, n, emitter::to_minus_infinity);
}

/// Without the select below exp_min: the clamp makes n = -126 there, and pow2(n - 1) is 0 already.
void exp(emitter &e, const vec &x) {
    const temp n(e), sum(e);
    exp_exponent(e, n, x);
    e.vfnmadd231ps(x, n, e.constant(ln2));
    e.vsubps(n, n, e.constant(1.f));
    pow2(e, n);
    polynomial(e, sum, x, exp_coefficients);
    e.vmulps(x, sum, n);
    e.vmulps(x, x, e.constant(2.f));
}

void elu(emitter &e, const vec &x, float alpha) {
    const temp input(e);
    e.move(input, x);
    exp(e, x);
    e.vsubps(x, x, e.constant(1.f));
    e.vmulps(x, x, e.constant(alpha));
    const mask keeps_input(e);
    e.compare_f32(keeps_input, input, e.constant(0.f), emitter::nle);
    e.blend(x, keeps_input, x, input);
}

void logistic(emitter &e, const vec &x) {
    const temp input(e);
    e.move(input, x);
    e.vpor_(x, x, e.constant(lane::sign_bit));
    exp(e, x);
    const temp positive_side(e);
    e.vaddps(positive_side, x, e.constant(1.f));
    e.vdivps(x, x, positive_side);
    e.move(positive_side, e.constant(1.f));
    e.vsubps(positive_side, positive_side, x);
    e.blend_by_sign(x, input, positive_side, x);
}

void swish(emitter &e, const vec &x, float alpha) {
    const temp input(e);
    e.move(input, x);
    e.vmulps(x, x, e.constant(alpha));
    logistic(e, x);
    e.vmulps(x, x, input);
}

void mish(emitter &e, const vec &x) {
    const temp input(e);
    e.move(input, x);
    e.vminps(x, x, e.constant(mish_max));
    exp(e, x);
    e.vaddps(x, x, e.constant(1.f));
    e.vmulps(x, x, x);
    const temp divisor(e);
    e.vaddps(divisor, x, e.constant(1.f));
    e.vsubps(x, x, e.constant(1.f));
    e.vdivps(x, x, divisor);
    e.vmulps(x, x, input);
}

/// t = 1 / (1 + p |z|)
void erf_argument(emitter &e, const vec &t, const vec &z) {
    const temp one(e);
    e.move(one, e.constant(1.f));
    abs(e, t, z);
    e.vfmadd132ps(t, one, e.constant(erf_p));
    e.vdivps(t, one, t);
}

void gelu_erf(emitter &e, const vec &x) {
    const temp z(e), t(e);
    e.vmulps(z, x, e.constant(sqrt_half));
    erf_argument(e, t, z);
    e.vmulps(z, z, z);
    negate(e, z);
    exp(e, z);
    negate(e, z);
    e.vmulps(z, z, t);
    const temp erf(e);
    polynomial(e, erf, t, erf_coefficients);
    e.vfmadd213ps(erf, z, e.constant(1.f));
    e.move(t, x);
    flip_sign(e, t, erf);
    e.vmulps(x, x, e.constant(0.5f));
    e.vfmadd213ps(x, t, x);
}

/// dst = ln(1 + e^x) where that does not overflow
void ln_one_plus_exp(emitter &e, const vec &dst, const vec &x) {
    const temp r(e), n(e), n_ln2(e);
    e.move(r, x);
    exp_exponent(e, n, r);
    e.vmulps(n_ln2, n, e.constant(ln2));
    e.vsubps(r, r, n_ln2);
    polynomial(e, dst, r, exp_coefficients);
    const vec &scale = r;
    e.move(scale, e.constant(1.f));
    e.vsubps(scale, scale, n);
    pow2(e, scale);
    e.vmulps(dst, dst, e.constant(2.f));
    e.vaddps(dst, dst, scale);
    e.vmulps(dst, dst, e.constant(0.5f));
    const vec &k = r, &m = n;
    e.vpsrld(k, dst, 23);
    e.vcvtdq2ps(k, k);
    e.vsubps(k, k, e.constant(126.f));
    e.vmulps(k, k, e.constant(ln2));
    significand(e, m, dst, 0x3f000000u);
    e.vsubps(m, m, e.constant(1.f));
    polynomial(e, dst, m, ln1p_coefficients);
    e.vaddps(dst, k, dst);
    e.vaddps(dst, dst, n_ln2);
}

void soft_relu(emitter &e, const vec &x) {
    const temp y(e);
    ln_one_plus_exp(e, y, x);
    const mask overflows(e);
    e.compare_f32(overflows, x, e.constant(exp_max), emitter::nle);
    e.blend(x, overflows, y, x);
}

void logsigmoid(emitter &e, const vec &x) {
    negate(e, x);
    soft_relu(e, x);
    negate(e, x);
}

void soft_relu_v2(emitter &e, const vec &x, float alpha) {
    e.vmulps(x, x, e.constant(alpha));
    soft_relu(e, x);
    e.vdivps(x, x, e.constant(alpha));
}

// ---- functions with tables

/// dst = the polynomial of the interval that |x| lies in
void tanh_polynomial(emitter &e, const vec &dst, const vec &x) {
    const temp r(e), interval(e), c(e);
    abs(e, r, x);
    e.vpsubd(interval, r, e.constant(tanh_first_interval));
    e.vpsrld(interval, interval, 22);
    e.vpand_(c, r, e.constant(tanh_interval_mask));
    e.vsubps(r, r, c);
    e.lookup32(dst, interval, tanh_coefficients[6]);
    for (int d = 5; d >= 0; d--) {
        e.lookup32(c, interval, tanh_coefficients[d]);
        e.vfmadd213ps(dst, r, c);
    }
}

void tanh(emitter &e, const vec &x) {
    const temp y(e);
    tanh_polynomial(e, y, x);
    const temp a(e);
    abs(e, a, x);
    replace_where(e, y, a, emitter::ge, tanh_one_above, 1.f);
    const mask is_linear(e);
    e.compare_f32(is_linear, a, e.constant(tanh_linear_below), emitter::nge);
    e.blend(y, is_linear, y, a);
    flip_sign(e, x, y);
}

void gelu_tanh(emitter &e, const vec &x) {
    const temp input(e);
    e.move(input, x);
    {
        const temp cubic(e);
        e.move(cubic, e.constant(gelu_cubic));
        e.vmulps(x, x, x);
        e.vfmadd213ps(x, cubic, e.constant(1.f));
    }
    e.vmulps(x, x, input);
    e.vmulps(x, x, e.constant(sqrt_2_over_pi));
    tanh(e, x);
    e.vaddps(x, x, e.constant(1.f));
    e.vmulps(x, x, e.constant(0.5f));
    e.vmulps(x, x, input);
}

/// dst = ln(x) for finite x > 0
void log_of_positive(emitter &e, const vec &dst, const vec &x) {
    const temp interval(e), k(e), f(e);
    const vec &upper_half = dst;
    e.vpsrld(upper_half, x, 22);
    e.vpand_(upper_half, upper_half, e.constant(1u));
    e.vpsrld(k, x, 23);
    e.vpaddd(k, k, upper_half);
    e.vcvtdq2ps(k, k);
    significand(e, f, x, 127u << 23);
    e.vpslld(upper_half, upper_half, 23);
    e.vpsubd(f, f, upper_half);

    e.vpsrld(interval, x, 18);
    e.lookup32(dst, interval, log_reciprocal);
    e.vfmsub213ps(f, dst, e.constant(1.f));
    e.lookup32(dst, interval, log_offset);
    e.vfmadd132ps(k, dst, e.constant(ln2));

    const vec &ln1p_f = interval, &offset = k;
    polynomial(e, ln1p_f, f, ln1p_small_coefficients);
    e.vmulps(ln1p_f, ln1p_f, f);
    e.vaddps(dst, ln1p_f, offset);
    e.vsubps(offset, dst, offset);
    e.vsubps(offset, offset, ln1p_f);
    e.vaddps(dst, dst, offset);
}

void log(emitter &e, const vec &x) {
    const temp y(e);
    log_of_positive(e, y, x);
    replace_where(e, y, x, emitter::eq, 0.f, -infinity);
    replace_where(e, y, x, emitter::eq, infinity, infinity);
    replace_where(e, y, x, emitter::nge, 0.f, nan);
    e.move(x, y);
}

// ---- pow

/// NaN where x^y is none. `result` holds the magnitude with its sign.
void set_invalid_powers(emitter &e, const vec &result, const vec &x, float y) {
    if (y != y) {
        replace_where(e, result, x, emitter::ne, 1.f, nan);
    } else if (eltwise_pow_detail::is_integer(y)) {
        replace_where(e, result, x, emitter::unordered, 0.f, nan);
    } else {
        const temp of_minus_infinity(e);
        e.move(of_minus_infinity, result);
        replace_where(e, result, x, emitter::nge, 0.f, nan);
        const mask m(e);
        e.compare_f32(m, x, e.constant(-infinity), emitter::eq);
        e.blend(result, m, result, of_minus_infinity);
    }
}

void power(emitter &e, const vec &x, float y) {
    const temp result(e);
    emit_power_of_abs(e, result, x, y);
    if (eltwise_pow_detail::is_odd(y)) {
        const temp sign(e);
        e.vpand_(sign, x, e.constant(lane::sign_bit));
        e.vpxor_(result, result, sign);
    }
    set_invalid_powers(e, result, x, y);
    e.move(x, result);
}

void pow(emitter &e, const vec &x, float alpha, float beta) {
    if (beta == 0.f)
        return e.move(x, e.constant(alpha));
    if (beta == -1.f) {
        const temp dividend(e);
        e.move(dividend, e.constant(alpha));
        return e.vdivps(x, dividend, x);
    }
    if (beta == 2.f)
        e.vmulps(x, x, x);
    else if (beta == 0.5f)
        e.vsqrtps(x, x);
    else if (beta != 1.f)
        power(e, x, beta);
    e.vmulps(x, x, e.constant(alpha));
}

// ---- short ones

void relu(emitter &e, const vec &x, float alpha) {
    if (alpha == 0.f)
        return e.vmaxps(x, x, e.constant(0.f));
    const temp scaled(e);
    e.vmulps(scaled, x, e.constant(alpha));
    const mask is_scaled(e);
    e.compare_f32(is_scaled, x, e.constant(0.f), emitter::le);
    e.blend(x, is_scaled, x, scaled);
}

void linear(emitter &e, const vec &x, float alpha, float beta) {
    const temp factor(e);
    e.move(factor, e.constant(alpha));
    e.vfmadd213ps(x, factor, e.constant(beta));
}

void hardswish(emitter &e, const vec &x) {
    const temp t(e);
    e.vaddps(t, x, e.constant(3.f));
    clip(e, t, 0.f, 6.f);
    e.vdivps(t, t, e.constant(6.f));
    e.vmulps(x, x, t);
}

} // namespace

void emit_eltwise(emitter &e, algorithm alg, float alpha, float beta, const vec &x) {
    switch (alg) {
    case algorithm::eltwise_relu:
        return relu(e, x, alpha);
    case algorithm::eltwise_tanh:
        return tanh(e, x);
    case algorithm::eltwise_elu:
        return elu(e, x, alpha);
    case algorithm::eltwise_square:
        return e.vmulps(x, x, x);
    case algorithm::eltwise_abs:
        return abs(e, x, x);
    case algorithm::eltwise_sqrt:
        return e.vsqrtps(x, x);
    case algorithm::eltwise_linear:
        return linear(e, x, alpha, beta);
    case algorithm::eltwise_bounded_relu:
        return clip(e, x, 0.f, alpha);
    case algorithm::eltwise_soft_relu:
        return soft_relu(e, x);
    case algorithm::eltwise_logistic:
        return logistic(e, x);
    case algorithm::eltwise_exp:
        return exp(e, x);
    case algorithm::eltwise_gelu_tanh:
        return gelu_tanh(e, x);
    case algorithm::eltwise_swish:
        return swish(e, x, alpha);
    case algorithm::eltwise_log:
        return log(e, x);
    case algorithm::eltwise_clip:
    case algorithm::eltwise_clip_v2:
        return clip(e, x, alpha, beta);
    case algorithm::eltwise_pow:
        return pow(e, x, alpha, beta);
    case algorithm::eltwise_gelu_erf:
        return gelu_erf(e, x);
    case algorithm::eltwise_round:
        return e.round_f32(x, x, emitter::to_even);
    case algorithm::eltwise_logsigmoid:
        return logsigmoid(e, x);
    case algorithm::eltwise_mish:
        return mish(e, x);
    case algorithm::eltwise_hardswish:
        return hardswish(e, x);
    case algorithm::eltwise_soft_relu_v2:
        return soft_relu_v2(e, x, alpha);
    default:
        return emit_eltwise_ort(e, alg, alpha, beta, x);
    }
}

/// `exp` from above, with each constant loaded once.
void emit_exp(emitter &e, const std::vector<vec> &x) {
    std::vector<vec> n, sum;
    for (std::size_t i = 0; i < x.size(); i++) {
        n.push_back(e.take_vec());
        sum.push_back(e.take_vec());
    }
    const temp c(e);
    const auto each = [&](const auto &constant, const auto &step) {
        e.move(c, e.constant(constant));
        for (std::size_t i = 0; i < x.size(); i++)
            step(i);
    };
    each(exp_max, [&](std::size_t i) { e.vminps(x[i], x[i], c); });
    each(exp_min, [&](std::size_t i) { e.vmaxps(x[i], x[i], c); });
    each(log2_e, [&](std::size_t i) { e.vmulps(n[i], x[i], c); });
    each(0.5f, [&](std::size_t i) {
        e.vaddps(n[i], n[i], c);
        e.round_f32(n[i], n[i], emitter::to_minus_infinity);
    });
    each(ln2, [&](std::size_t i) { e.vfnmadd231ps(x[i], n[i], c); });
    each(1.f, [&](std::size_t i) {
        e.vsubps(n[i], n[i], c);
        e.vcvtps2dq(n[i], n[i]);
    });
    each(127u, [&](std::size_t i) {
        e.vpaddd(n[i], n[i], c);
        e.vpslld(n[i], n[i], 23);
    });
    constexpr std::size_t terms = std::size(exp_coefficients);
    each(exp_coefficients[terms - 1], [&](std::size_t i) { e.move(sum[i], c); });
    for (std::size_t k = terms - 1; k-- > 0;)
        each(exp_coefficients[k], [&](std::size_t i) { e.vfmadd213ps(sum[i], x[i], c); });
    each(2.f, [&](std::size_t i) {
        e.vmulps(x[i], sum[i], n[i]);
        e.vmulps(x[i], x[i], c);
    });
    for (std::size_t i = 0; i < x.size(); i++) {
        e.give_vec(n[i]);
        e.give_vec(sum[i]);
    }
}

} // namespace octet::impl::jit
