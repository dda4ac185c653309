// The oracle's functions of one variable, those of doc/eltwise.md, and of two: see arithmetic.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "oracle/arithmetic.hpp"

namespace octet::oracle {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
float maxps(float a, float b) { return a > b ? a : b; } // the second if one is NaN or both are zeros
float minps(float a, float b) { return a < b ? a : b; }

/// exact ± ulps units in its last place ± absolute.
bounds around(long double exact, long double ulps, long double absolute = 0) {
    if (std::isnan(exact))
        return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
    if (std::isinf(exact))
        return {static_cast<float>(exact), static_cast<float>(exact)};
    int e = -126;
    if (exact != 0)
        std::frexp(exact, &e);
    const long double ulp = std::ldexp(1.0L, std::max(e, -125) - 24);
    const long double error = ulps * ulp + absolute;
    // The result is a float within the error: the interval is rounded inwards, but is never empty.
    float low = static_cast<float>(exact - error), high = static_cast<float>(exact + error);
    if (static_cast<long double>(low) < exact - error)
        low = std::nextafter(low, infinity);
    if (static_cast<long double>(high) > exact + error)
        high = std::nextafter(high, -infinity);
    if (low > high)
        std::swap(low, high);
    if (low == 0 && high == 0) // underflow keeps the sign
        low = high = std::copysign(0.f, static_cast<float>(exact));
    return {low, high};
}

bounds point(float x) { return {x, x}; }
bounds at_least_0(const bounds &b) { return {b.low < 0 ? 0.f : b.low, b.high}; }

bounds soft_relu(long double x) {
    const long double exact = x > 80 ? x : std::log1p(std::exp(x)); // beyond 80 they are equal in f32
    if (x >= -1)
        return around(exact, 6.8L);
    return around(exact, 0, x >= -8 ? 1.08e-6L : 7.7e-6L);
}

bounds power(float alpha, float beta, float x) {
    if (beta == 0.f)
        return point(alpha);
    if (beta == 1.f)
        return point(x * alpha);
    if (beta == 2.f)
        return point((x * x) * alpha);
    if (beta == 0.5f)
        return point(std::sqrt(x) * alpha);
    if (beta == -1.f)
        return point(alpha / x);
    const bounds y = around(std::pow(static_cast<long double>(x), static_cast<long double>(beta)), 0.51L);
    return {std::min(y.low * alpha, y.high * alpha), std::max(y.low * alpha, y.high * alpha)};
}

/// The functions whose coefficients are not on the page, in long double with the errors of the page's table.
bounds bounded(algorithm alg, float alpha, float beta, float f) {
    using a = algorithm;
    const long double x = f, al = alpha;
    switch (alg) {
    case a::eltwise_tanh:
        return around(std::tanh(x), 1.22L);
    case a::eltwise_elu:
        return f > 0 ? point(f) : around(al * std::expm1(x), 0.51L, std::fabs(al) * 1.2e-7L);
    case a::eltwise_soft_relu:
        return f > 88.7228394f ? point(f) : soft_relu(x);
    case a::eltwise_soft_relu_v2: {
        const float scaled = f * alpha;
        const bounds y = scaled > 88.7228394f ? point(scaled) : soft_relu(scaled);
        return {std::min(y.low / alpha, y.high / alpha), std::max(y.low / alpha, y.high / alpha)};
    }
    case a::eltwise_logsigmoid: {
        const bounds y = -f > 88.7228394f ? point(-f) : soft_relu(-x);
        return {-y.high, -y.low};
    }
    case a::eltwise_logistic:
        return at_least_0(around(1 / (1 + std::exp(-x)), 5.72L, x < -86.98 ? 1.7e-38L : 0));
    case a::eltwise_exp:
        if (std::isnan(f) || f >= 88.7228394f)
            return point(infinity);
        return at_least_0(around(std::exp(x), 5.72L, x < -86.98 ? 1.7e-38L : 0));
    case a::eltwise_gelu_tanh: {
        const long double root = 0.797884560802865355879892119868763737L; // √(2/π)
        return around(x / 2 * (1 + std::tanh(root * (x + 0.044715L * x * x * x))), x >= -1 ? 3.85L : 0.51L,
                      x >= -1 ? 0 : 1.6e-7L);
    }
    case a::eltwise_gelu_erf:
        return around(x / 2 * (1 + std::erf(x * std::sqrt(0.5L))), x >= -1 ? 10.1L : 0.51L,
                      x >= -1 ? 0 : 2.61e-7L);
    case a::eltwise_swish: {
        const float scaled = f * alpha;
        const long double s = scaled;
        return around(x / (1 + std::exp(-s)), 8.1L, s < -86.98L ? 1.7e-38L * std::fabs(x) : 0);
    }
    case a::eltwise_log:
        if (f > 0 && f < std::numeric_limits<float>::min())
            return {-88.04f, -87.33f};
        return around(std::log(x), 7.71L, 3.71e-6L);
    case a::eltwise_mish:
        return around(x * std::tanh(x > 80 ? x : std::log1p(std::exp(x))), x >= -1 ? 4.6L : 0.51L,
                      x >= -1 ? 0 : 1e-6L);
    default:
        return power(alpha, beta, f);
    }
}

} // namespace

bool is_exact(algorithm alg, float beta) {
    switch (alg) {
    case algorithm::eltwise_relu:
    case algorithm::eltwise_square:
    case algorithm::eltwise_abs:
    case algorithm::eltwise_sqrt:
    case algorithm::eltwise_linear:
    case algorithm::eltwise_bounded_relu:
    case algorithm::eltwise_clip:
    case algorithm::eltwise_clip_v2:
    case algorithm::eltwise_round:
    case algorithm::eltwise_hardswish:
        return true;
    case algorithm::eltwise_pow:
        return beta == 0.f || beta == 1.f || beta == 2.f || beta == 0.5f || beta == -1.f;
    default:
        return false;
    }
}

bounds eltwise(algorithm alg, float alpha, float beta, float x) {
    switch (alg) {
    case algorithm::eltwise_relu:
        return point(alpha == 0.f ? maxps(x, 0.f) : x <= 0.f ? x * alpha : x);
    case algorithm::eltwise_square:
        return point(x * x);
    case algorithm::eltwise_abs:
        return point(std::fabs(x));
    case algorithm::eltwise_sqrt:
        return point(std::sqrt(x));
    case algorithm::eltwise_linear:
        return point(std::fma(x, alpha, beta));
    case algorithm::eltwise_bounded_relu:
        return point(minps(maxps(x, 0.f), alpha));
    case algorithm::eltwise_clip:
    case algorithm::eltwise_clip_v2:
        return point(minps(maxps(x, alpha), beta));
    case algorithm::eltwise_round:
        return point(std::nearbyint(x));
    case algorithm::eltwise_hardswish: {
        const float gate = minps(maxps(x + 3.f, 0.f), 6.f) / 6.f;
        return point(x * gate);
    }
    default:
        return bounded(alg, alpha, beta, x);
    }
}

float binary_op(algorithm alg, float a, float b) {
    switch (alg) {
    case algorithm::binary_add:
        return a + b;
    case algorithm::binary_sub:
        return a - b;
    case algorithm::binary_mul:
        return a * b;
    case algorithm::binary_div:
        return a / b;
    case algorithm::binary_max:
        return maxps(a, b);
    case algorithm::binary_min:
        return minps(a, b);
    case algorithm::binary_ge:
        return a < b ? 0.f : 1.f; // also for NaN
    case algorithm::binary_gt:
        return a <= b ? 0.f : 1.f;
    case algorithm::binary_le:
        return a <= b ? 1.f : 0.f;
    case algorithm::binary_lt:
        return a < b ? 1.f : 0.f;
    case algorithm::binary_eq:
        return a == b ? 1.f : 0.f;
    default:
        return a != b ? 1.f : 0.f;
    }
}

} // namespace octet::oracle
