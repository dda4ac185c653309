// The vector form of common/eltwise_ort.hpp; see jit/epilogue/eltwise.cpp. Constants that come first in vminps and vmaxps
// need a register, so that the second operand wins over a NaN as in the definition.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/eltwise_ort.hpp"

#include <iterator>
#include <limits>

#include "common/eltwise_ort.hpp"
#include "jit/epilogue/polynomial.hpp"

namespace octet::impl::jit {

namespace {

using namespace eltwise_constants;
using temp = emitter::temp;
using mask = emitter::mask;

/// x = min(high, max(low, x)). Infinite limits change nothing.
void clip(emitter &e, const vec &x, float low, float high) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const temp c(e);
    if (low != -infinity) {
        e.move(c, e.constant(low));
        e.vmaxps(x, c, x);
    }
    if (high != infinity) {
        e.move(c, e.constant(high));
        e.vminps(x, c, x);
    }
}

void limit(emitter &e, const vec &x, float limit) { clip(e, x, -limit, limit); }

void relu(emitter &e, const vec &x, float alpha) {
    const temp other(e);
    if (alpha == 0.f) {
        e.zero(other);
        return e.vmaxps(x, other, x);
    }
    const mask is_kept(e);
    e.vmulps(other, x, e.constant(alpha));
    e.compare_f32(is_kept, x, e.constant(0.f), emitter::ge);
    e.blend(x, is_kept, other, x);
}

void exp(emitter &e, const vec &x) {
    {
        const temp c(e);
        e.move(c, e.constant(ort_exp_max));
        e.vminps(x, c, x);
    }
    emit_ort_exp(e, {x});
}

/// 1 - exp(t), t <= 0 and far above the exponent's range.
void one_minus_exp(emitter &e, const vec &t) {
    const temp m(e), sum(e);
    e.move(m, e.constant(ort_log2_e));
    e.vfmadd213ps(m, t, e.constant(ort_whole));
    e.vsubps(m, m, e.constant(ort_whole));
    e.vfmadd231ps(t, m, e.constant(ort_minus_ln2_high));
    e.vfmadd231ps(t, m, e.constant(ort_minus_ln2_low));
    polynomial(e, sum, t, ort_erf_exp_coefficients);
    e.vcvtps2dq(m, m);
    e.vpaddd(m, m, e.constant(127u));
    e.vpslld(m, m, 23);
    e.vmulps(sum, sum, m);
    e.move(t, e.constant(1.f));
    e.vsubps(t, t, sum);
}

void erf(emitter &e, const vec &x) {
    const temp a(e), small(e), large(e);
    e.vpand_(a, x, e.constant(~lane::sign_bit));
    e.move(large, e.constant(ort_erf_limit));
    e.vminps(a, large, a);
    e.vmulps(large, a, a);
    polynomial(e, small, large, ort_erf_small);
    e.vfmadd213ps(small, a, a);
    polynomial(e, large, a, ort_erf_large);
    e.vfmadd213ps(large, a, a);
    e.vpxor_(large, large, e.constant(lane::sign_bit));
    one_minus_exp(e, large);
    {
        const mask is_large(e);
        e.compare_f32(is_large, a, e.constant(ort_erf_split), emitter::gt);
        e.blend(small, is_large, small, large);
    }
    e.vpand_(x, x, e.constant(lane::sign_bit));
    e.vpor_(x, x, small);
}

/// x = odd(x²) x / even(x²)
template <std::size_t n, std::size_t m>
void quotient(emitter &e, const vec &x, const float (&odd)[n], const float (&even)[m]) {
    const temp square(e), sum(e);
    e.vmulps(square, x, x);
    polynomial(e, sum, square, odd);
    e.vmulps(x, x, sum);
    polynomial(e, sum, square, even);
    e.vdivps(x, x, sum);
}

void tanh(emitter &e, const vec &x) {
    limit(e, x, ort_tanh_limit);
    quotient(e, x, ort_tanh_odd, ort_tanh_even);
}

void logistic(emitter &e, const vec &x) {
    limit(e, x, ort_logistic_limit);
    quotient(e, x, ort_logistic_odd, ort_logistic_even);
    e.vaddps(x, x, e.constant(0.5f));
    const temp none(e);
    e.zero(none);
    e.vmaxps(x, none, x);
}

/// x = x / 2 (f + 1), where f is what `function` makes of x.
template <typename Function> void gelu(emitter &e, const vec &x, const Function &function) {
    const temp half(e);
    e.vmulps(half, x, e.constant(0.5f));
    function();
    e.vaddps(x, x, e.constant(1.f));
    e.vmulps(x, half, x);
}

void gelu_erf(emitter &e, const vec &x) {
    gelu(e, x, [&] {
        e.vmulps(x, x, e.constant(ort_sqrt_half));
        erf(e, x);
    });
}

void gelu_tanh(emitter &e, const vec &x) {
    gelu(e, x, [&] {
        {
            const temp t(e);
            e.vmulps(t, x, e.constant(ort_gelu_cubic));
            e.vmulps(t, t, x);
            e.vaddps(t, t, e.constant(ort_gelu_linear));
            e.vmulps(x, x, t);
        }
        tanh(e, x);
    });
}

void swish(emitter &e, const vec &x, float alpha) {
    const temp input(e);
    e.move(input, x);
    e.vmulps(x, x, e.constant(alpha));
    logistic(e, x);
    e.vmulps(x, input, x);
}

/// Arguments below ort_exp_min give 0, as it does itself, so any of them may take the place of those below it. These have
/// an exponent with which no product is too small for a normal number, which some cores need microcode for, 100 times
/// as slow: masks of attention add -10000. Either both factors are 2^-127, whose bits are those of 0, or vscalefps sees
/// from the exponent alone that the result is 0.
float least_exp_argument(const emitter &e) { return e.lanes() == 16 ? -710.f : -176.f; }

} // namespace

void emit_eltwise_ort(emitter &e, algorithm alg, float alpha, float beta, const vec &x) {
    switch (alg) {
    case algorithm::eltwise_ort_clip:
        return clip(e, x, alpha, beta);
    case algorithm::eltwise_ort_erf:
        return erf(e, x);
    case algorithm::eltwise_ort_exp:
        return exp(e, x);
    case algorithm::eltwise_ort_gelu_erf:
        return gelu_erf(e, x);
    case algorithm::eltwise_ort_gelu_tanh:
        return gelu_tanh(e, x);
    case algorithm::eltwise_ort_logistic:
        return logistic(e, x);
    case algorithm::eltwise_ort_relu:
        return relu(e, x, alpha);
    case algorithm::eltwise_ort_tanh:
        return tanh(e, x);
    default:
        return swish(e, x, alpha);
    }
}

void emit_ort_exp(emitter &e, const std::vector<vec> &x) {
    std::vector<vec> m, sum;
    for (std::size_t i = 0; i < x.size(); i++) {
        m.push_back(e.take_vec());
        sum.push_back(e.take_vec());
    }
    const temp c(e);
    const auto each = [&](const auto &constant, const auto &step) {
        e.move(c, e.constant(constant));
        for (std::size_t i = 0; i < x.size(); i++)
            step(i);
    };
    each(least_exp_argument(e), [&](std::size_t i) { e.vmaxps(x[i], c, x[i]); });
    each(ort_log2_e, [&](std::size_t i) { e.move(m[i], c); });
    each(ort_whole, [&](std::size_t i) {
        e.vfmadd213ps(m[i], x[i], c);
        e.vsubps(m[i], m[i], c);
    });
    each(ort_minus_ln2_high, [&](std::size_t i) { e.vfmadd231ps(x[i], m[i], c); });
    each(ort_minus_ln2_low, [&](std::size_t i) { e.vfmadd231ps(x[i], m[i], c); });
    constexpr std::size_t terms = std::size(ort_exp_coefficients);
    each(ort_exp_coefficients[terms - 1], [&](std::size_t i) { e.move(sum[i], c); });
    for (std::size_t k = terms - 1; k-- > 0;)
        each(ort_exp_coefficients[k], [&](std::size_t i) { e.vfmadd213ps(sum[i], x[i], c); });
    if (e.lanes() == 16) { // one rounding, too
        for (std::size_t i = 0; i < x.size(); i++)
            e.vscalefps(x[i], sum[i], m[i]);
    } else {
        each(127u, [&](std::size_t i) {
            const vec &first = x[i], &second = m[i];
            e.vcvtps2dq(second, second);
            e.vpsrad(first, second, 1);
            e.vpsubd(second, second, first);
            for (const vec &exponent : {first, second}) {
                e.vpaddd(exponent, exponent, c);
                e.vpslld(exponent, exponent, 23);
            }
            e.vmulps(sum[i], sum[i], first);
            e.vmulps(x[i], sum[i], second);
        });
    }
    for (std::size_t i = 0; i < x.size(); i++) {
        e.give_vec(m[i]);
        e.give_vec(sum[i]);
    }
}

} // namespace octet::impl::jit
