// The vector form of common/eltwise_ort.hpp; see jit/epilogue/eltwise.cpp. Constants that come first in
// vminps and vmaxps need a register, so that the second operand wins over a NaN as in the definition.
// SPDX-License-Identifier: Apache-2.0
#include "jit/epilogue/eltwise_ort.hpp"

#include <iterator>
#include <limits>
#include <optional>

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

/// Vectors side by side, each with registers of its own, so that none waits for itself: all do a step before
/// the next one comes.
class side_by_side {
public:
    side_by_side(emitter &e, std::size_t count) : e_(e), count_(count) {
        if (count > 1)
            constant_.emplace(e);
    }
    ~side_by_side() {
        for (const vec &v : taken_)
            e_.give_vec(v);
    }
    side_by_side(const side_by_side &) = delete;
    side_by_side &operator=(const side_by_side &) = delete;

    std::vector<vec> take() {
        std::vector<vec> all;
        for (std::size_t i = 0; i < count_; i++)
            taken_.push_back(all.emplace_back(e_.take_vec()));
        return all;
    }
    /// Calls step(i, c) for each, where c holds the constant; several load it once.
    template <typename Number, typename Step> void with(Number constant, const Step &step) const {
        if (count_ == 1)
            return step(0, e_.constant(constant));
        const vec &held = *constant_;
        e_.move(held, e_.constant(constant));
        for (std::size_t i = 0; i < count_; i++)
            step(i, vec_operand(held));
    }
    template <typename Step> void each(const Step &step) const {
        for (std::size_t i = 0; i < count_; i++)
            step(i);
    }
    template <std::size_t n>
    void polynomial(const std::vector<vec> &sum, const std::vector<vec> &x, const float (&c)[n]) const {
        with(c[n - 1], [&](std::size_t i, const vec_operand &k) { e_.move(sum[i], k); });
        for (std::size_t term = n - 1; term-- > 0;)
            with(c[term], [&](std::size_t i, const vec_operand &k) { e_.vfmadd213ps(sum[i], x[i], k); });
    }

private:
    emitter &e_;
    const std::size_t count_;
    std::optional<temp> constant_;
    std::vector<vec> taken_;
};

/// t = 1 - exp(t), t <= 0 and far above the exponent's range; m is lost.
void one_minus_exp(emitter &e, side_by_side &all, const std::vector<vec> &t, const std::vector<vec> &m) {
    const std::vector<vec> sum = all.take();
    all.with(ort_log2_e, [&](std::size_t i, const vec_operand &c) { e.move(m[i], c); });
    all.with(ort_whole, [&](std::size_t i, const vec_operand &c) {
        e.vfmadd213ps(m[i], t[i], c);
        e.vsubps(m[i], m[i], c);
    });
    all.with(ort_minus_ln2_high, [&](std::size_t i, const vec_operand &c) { e.vfmadd231ps(t[i], m[i], c); });
    all.with(ort_minus_ln2_low, [&](std::size_t i, const vec_operand &c) { e.vfmadd231ps(t[i], m[i], c); });
    all.polynomial(sum, t, ort_erf_exp_coefficients);
    all.with(127u, [&](std::size_t i, const vec_operand &c) {
        e.vcvtps2dq(m[i], m[i]);
        e.vpaddd(m[i], m[i], c);
        e.vpslld(m[i], m[i], 23);
        e.vmulps(sum[i], sum[i], m[i]);
    });
    all.with(1.f, [&](std::size_t i, const vec_operand &c) {
        e.move(t[i], c);
        e.vsubps(t[i], t[i], sum[i]);
    });
}

/// y = erf(x factor)
void erf(emitter &e, side_by_side &all, const std::vector<vec> &y, const std::vector<vec> &x, float factor) {
    const std::vector<vec> a = all.take(), large = all.take(), square = all.take();
    all.with(factor, [&](std::size_t i, const vec_operand &c) { e.vmulps(a[i], x[i], c); });
    all.with(~lane::sign_bit, [&](std::size_t i, const vec_operand &c) { e.vpand_(a[i], a[i], c); });
    all.with(ort_erf_limit, [&](std::size_t i, const vec_operand &c) {
        e.move(large[i], c);
        e.vminps(a[i], large[i], a[i]);
        e.vmulps(square[i], a[i], a[i]);
    });
    constexpr std::size_t small_terms = std::size(ort_erf_small), large_terms = std::size(ort_erf_large);
    static_assert(small_terms < large_terms, "the terms of both polynomials take turns");
    all.with(ort_erf_large[large_terms - 1],
             [&](std::size_t i, const vec_operand &c) { e.move(large[i], c); });
    for (std::size_t k = large_terms - 1; k-- > 0;) {
        all.with(ort_erf_large[k],
                 [&](std::size_t i, const vec_operand &c) { e.vfmadd213ps(large[i], a[i], c); });
        if (k < small_terms)
            all.with(ort_erf_small[k], [&](std::size_t i, const vec_operand &c) {
                k + 1 == small_terms ? e.move(y[i], c) : e.vfmadd213ps(y[i], square[i], c);
            });
    }
    all.each([&](std::size_t i) { e.vfmadd213ps(y[i], a[i], a[i]); });
    all.each([&](std::size_t i) { e.vfmadd213ps(large[i], a[i], a[i]); });
    all.with(lane::sign_bit, [&](std::size_t i, const vec_operand &c) { e.vpxor_(large[i], large[i], c); });
    one_minus_exp(e, all, large, square);
    all.with(ort_erf_split, [&](std::size_t i, const vec_operand &c) {
        const mask is_large(e);
        e.compare_f32(is_large, a[i], c, emitter::gt);
        e.blend(y[i], is_large, y[i], large[i]);
    });
    all.with(lane::sign_bit, [&](std::size_t i, const vec_operand &c) {
        e.vpand_(a[i], x[i], c);
        e.vpor_(y[i], y[i], a[i]);
    });
}

void erf(emitter &e, const vec &x) {
    side_by_side all(e, 1);
    const std::vector<vec> y = all.take();
    erf(e, all, y, {x}, 1.f);
    e.move(x, y[0]);
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

/// x = x / 2 (erf(x sqrt(1/2)) + 1)
void gelu_erf(emitter &e, const std::vector<vec> &x) {
    side_by_side all(e, x.size());
    const std::vector<vec> y = all.take();
    erf(e, all, y, x, ort_sqrt_half);
    all.with(1.f, [&](std::size_t i, const vec_operand &c) { e.vaddps(y[i], y[i], c); });
    all.with(0.5f, [&](std::size_t i, const vec_operand &c) {
        e.vmulps(x[i], x[i], c);
        e.vmulps(x[i], x[i], y[i]);
    });
}

void gelu_tanh(emitter &e, const vec &x) {
    const temp half(e);
    e.vmulps(half, x, e.constant(0.5f));
    {
        const temp t(e);
        e.vmulps(t, x, e.constant(ort_gelu_cubic));
        e.vmulps(t, t, x);
        e.vaddps(t, t, e.constant(ort_gelu_linear));
        e.vmulps(x, x, t);
    }
    tanh(e, x);
    e.vaddps(x, x, e.constant(1.f));
    e.vmulps(x, half, x);
}

void swish(emitter &e, const vec &x, float alpha) {
    const temp input(e);
    e.move(input, x);
    e.vmulps(x, x, e.constant(alpha));
    logistic(e, x);
    e.vmulps(x, input, x);
}

/// Arguments below ort_exp_min give 0, as it does itself, so any of them may take the place of those below
/// it. These have an exponent with which no product is too small for a normal number, which some cores need
/// microcode for, 100 times as slow: masks of attention add -10000. Either both factors are 2^-127, whose
/// bits are those of 0, or vscalefps sees from the exponent alone that the result is 0.
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
        return gelu_erf(e, {x});
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

void emit_ort_gelu_erf(emitter &e, const std::vector<vec> &x) { gelu_erf(e, x); }

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
