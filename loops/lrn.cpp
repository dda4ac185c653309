// s^-β is Eigen's: 1, 2 and 3 are products of 1 / s; any other exponent is 2^(-β log2 s) with a logarithm of
// twice a float's digits, and the C library's for up to three elements behind the last four of the tensor.
// Contraction to fma is off.
// SPDX-License-Identifier: Apache-2.0
#include "loops/lrn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/exponential.hpp"
#include "loops/levels.hpp"
#include "loops/parallel.hpp"

namespace octet::loops {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

#define OCTET_PART inline __attribute__((always_inline))

/// A sum of two floats of which the second is small; + and * are one f32 operation each.
struct pair {
    float high, low;
};

OCTET_PART pair quick_sum(float a, float b) {
    const float sum = a + b;
    return {sum, b - (sum - a)};
}
OCTET_PART pair quick_sum(pair a, pair b) {
    const pair high = quick_sum(a.high, b.high);
    return quick_sum(high.high, (b.low + high.low) + a.low);
}
/// Without an error, as a product of floats fits a double.
OCTET_PART pair product(float a, float b) {
    const float high = a * b;
    return {high,
            static_cast<float>(static_cast<double>(a) * static_cast<double>(b) - static_cast<double>(high))};
}
OCTET_PART pair product(pair a, float b) {
    const pair high = product(a.high, b), sum = quick_sum(high.high, a.low * b);
    return quick_sum(sum.high, sum.low + high.low);
}

constexpr pair split(double constant) {
    const auto high = static_cast<float>(constant);
    return {high, static_cast<float>(constant - static_cast<double>(high))};
}

/// log2 m for m in [1/sqrt 2, sqrt 2): x (c_0 + x (c_1 + x P(x))) with x = m - 1.
OCTET_PART pair logarithm2(float m) {
    constexpr pair c0 = split(0x1.71547656623b6p+0), c1 = split(-0x1.7154762b88b19p-1);
    const float x = m - 1.f;
    float p = 9.7010828554630279541015625e-02f;
    for (const float c : {-1.68964862823486328125e-01f, 1.7200836539268493652343750e-01f,
                          -1.7892272770404815673828125e-01f, 2.0505344867706298828125000e-01f,
                          -2.4046677350997924804687500e-01f, 2.8857553005218505859375000e-01f,
                          -3.6067414283752441406250000e-01f, 4.8089790344238281250000000e-01f})
        p = p * x + c;
    return product(quick_sum(c0, product(quick_sum(c1, product(x, p)), x)), x);
}

/// 2^x as e^h e^l, h + l = x ln 2.
OCTET_PART float exponential2(float x) {
    const pair r = product(0.693147180559945309f, x);
    return exponential(r.high) * exponential(r.low);
}

/// s^y for s above 0 and finite, y below 0.
OCTET_PART float positive_power(float s, float y) {
    const bool is_small = s < std::numeric_limits<float>::min(); // subnormal numbers
    const auto bits = bits_of<std::uint32_t>(is_small ? s * 0x1p24f : s);
    float m = bits_of<float>((bits & 0x7fffffu) | 0x3f000000u); // the significand, in [1/2, 1)
    std::int32_t e = static_cast<std::int32_t>(bits >> 23 & 255) - (is_small ? 126 + 24 : 126);
    const bool is_low = m < 0.707106781186547524f;
    m = is_low ? 2.f * m : m;
    e -= is_low;
    const pair f = quick_sum(product(static_cast<float>(e), y), product(logarithm2(m), y));
    const float whole = std::nearbyint(f.high), rest = (f.high - whole) + f.low, more = std::nearbyint(rest);
    const auto n = static_cast<std::int32_t>(std::min(std::max(whole + more, -278.f), 278.f));
    const float r = exponential2(rest - more);
    const std::int32_t quarter = n >> 2; // only the last product may round
    const float factor = bits_of<float>((quarter + 127) << 23);
    return r * factor * factor * factor * bits_of<float>((n - 3 * quarter + 127) << 23);
}

OCTET_PART float power(float s, float y) {
    const float result = positive_power(s, y);
    return s == 1.f ? 1.f : s == 0.f ? infinity : s == infinity ? 0.f : s > 0.f ? result : not_a_number;
}

/// y holds s and becomes x s^-β.
OCTET_LOOP void multiply_by_powers(const float *x, float *y, dim_t count, float beta) {
    for (dim_t i = 0; i < count; i++)
        y[i] = power(y[i], -beta) * x[i];
}

template <int beta> OCTET_LOOP void multiply_by_quotients(const float *x, float *y, dim_t count, float) {
    for (dim_t i = 0; i < count; i++) {
        const float quotient = 1.f / y[i];
        const float square = quotient * quotient;
        y[i] = (beta == 1 ? quotient : beta == 2 ? square : quotient * square) * x[i];
    }
}

} // namespace

lrn_loop::lrn_loop(const parameters &p)
    : p_(p), power_(p.beta == 1.f   ? compiled_for_level<multiply_by_quotients<1>>()
                    : p.beta == 2.f ? compiled_for_level<multiply_by_quotients<2>>()
                    : p.beta == 3.f ? compiled_for_level<multiply_by_quotients<3>>()
                                    : compiled_for_level<multiply_by_powers>()) {}

/// s of pixels `first` to `first + count - 1` of an image, in y.
void lrn_loop::sum(const float *x, float *y, dim_t first, dim_t count) const {
    const float factor = p_.alpha / static_cast<float>(p_.size);
    const dim_t before = (p_.size - 1) / 2;
    const auto add = [&](float *s, dim_t channel, float a) {
        const bool is_outside = channel < 0 || channel >= p_.channels;
        const float *const q = is_outside ? nullptr : x + channel * p_.pixels + first;
        for (dim_t i = 0; i < count; i++)
            s[i] = s[i] + a * (q ? q[i] * q[i] : 0.f);
    };
    std::fill_n(y + first, count, p_.bias);
    for (dim_t c = -before; c < p_.size - before; c++)
        add(y + first, c, factor);
    for (dim_t c = 1; c < p_.channels; c++) {
        float *const s = y + c * p_.pixels + first;
        std::copy_n(s - p_.pixels, count, s);
        add(s, c + p_.size - 1 - before, factor);
        add(s, c - 1 - before, -factor);
    }
}

void lrn_loop::run(const float *x, float *y) const {
    constexpr dim_t part = 256, work_of_power = 32;
    const dim_t parts = (p_.pixels + part - 1) / part, image = p_.channels * p_.pixels;
    parallel_for(p_.images * parts, std::min(part, p_.pixels) * p_.channels * 4, [&](dim_t begin, dim_t end) {
        for (dim_t i = begin; i < end; i++) {
            const dim_t first = i % parts * part, at = i / parts * image;
            sum(x + at, y + at, first, std::min(part, p_.pixels - first));
        }
    });
    const dim_t all = p_.images * image, groups = all / 4 * 4;
    parallel_for((groups + part - 1) / part, part * work_of_power, [&](dim_t begin, dim_t end) {
        const dim_t first = begin * part;
        power_(x + first, y + first, std::min(end * part, groups) - first, p_.beta);
    });
    for (dim_t i = groups; i < all; i++)
        y[i] = std::pow(y[i], -p_.beta) * x[i];
}

} // namespace octet::loops
