// Each formula as the specification has it: every f32() a statement or one operation of floats.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "oracle/litert.hpp"

namespace octet::oracle::litert {

namespace {

float rne(float x) { return std::nearbyint(x); }
float rha(float x) { return std::round(x); }
/// MBQM by the multiplier of a real factor.
std::int32_t mbqm(std::int32_t x, double factor) {
    return signed_fixed_point(rule::tflite_2step, x, [&] {
        fixed_point_multiplier m = q31(rule::tflite_2step, std::fabs(factor));
        m.multiplier = factor < 0 ? -m.multiplier : m.multiplier;
        return m;
    }());
}

interval reals_of(const std::string &activation) {
    return {activation == "RELU" || activation == "RELU6" ? 0.
            : activation == "RELU_N1_TO_1"                ? -1.
                                                          : -HUGE_VAL,
            activation == "RELU6"          ? 6.
            : activation == "RELU_N1_TO_1" ? 1.
                                           : HUGE_VAL};
}

bool is_ratio_of_codes(float p) { return p >= 0x1p-8f && p <= 0x1p7f; }

} // namespace

std::int32_t clamped(double x, const numbers &y) {
    return static_cast<std::int32_t>(std::min(std::max(x, y.lo()), y.hi()));
}

/// 2.1, the zero point before rounding; of TFLite's kernels behind.
interval codes_of(const std::string &activation, const numbers &y, bool is_xnnpack) {
    const auto code = [&](double v) {
        if (std::isinf(v))
            return v < 0 ? y.lo() : y.hi();
        const float quotient = static_cast<float>(v) / y.scale;
        const float sum = quotient + static_cast<float>(y.zero);
        return is_xnnpack ? static_cast<double>(rne(std::min(std::max(sum, static_cast<float>(y.lo())),
                                                             static_cast<float>(y.hi()))))
                          : std::min(std::max(static_cast<double>(rha(quotient)) + y.zero, y.lo()), y.hi());
    };
    const interval reals = reals_of(activation);
    return {code(reals.low), code(reals.high)};
}
std::int32_t limited(double code, const interval &to) {
    return static_cast<std::int32_t>(std::min(std::max(code, to.low), to.high));
}

/// 2.3, and what is not delegated.
std::int32_t sum_of(const numbers &a, const numbers &b, const numbers &y, std::int32_t qa, std::int32_t qb,
                    bool subtracts, const std::string &activation) {
    const float ra = a.scale / y.scale, rb = b.scale / y.scale;
    const auto is_taken = [](float r) { return r >= 0x1p-10f && r < 0x1p8f; };
    if (is_taken(ra) && is_taken(rb)) {
        const int sh = 20 - std::ilogb(std::max(ra, rb));
        const auto ma = static_cast<std::int64_t>(std::nearbyint(std::ldexp(ra, sh)));
        const auto mb = static_cast<std::int64_t>(std::nearbyint(std::ldexp(rb, sh))) * (subtracts ? -1 : 1);
        const std::int64_t total = (std::int64_t{1} << (sh - 1)) + ma * (qa - a.zero) + mb * (qb - b.zero);
        return limited(clamped(static_cast<double>((total >> sh) + y.zero), y),
                       codes_of(activation, y, true));
    }
    const double t = 2 * std::max(static_cast<double>(a.scale), static_cast<double>(b.scale));
    const std::int32_t left = mbqm((qa - a.zero) * (1 << 20), static_cast<double>(a.scale) / t),
                       right = mbqm((qb - b.zero) * (1 << 20),
                                    (subtracts ? -1 : 1) * (static_cast<double>(b.scale) / t));
    return limited(mbqm(left + right, t / (0x1p20 * static_cast<double>(y.scale))) +
                       static_cast<double>(y.zero),
                   codes_of(activation, y, false));
}

/// 2.4
std::int32_t product_of(const numbers &a, const numbers &b, const numbers &y, std::int32_t qa,
                        std::int32_t qb, const std::string &activation) {
    const float product = a.scale * b.scale, s = product / y.scale;
    const std::int32_t d = (qa - a.zero) * (qb - b.zero);
    if (!(s >= 0x1p-16f && s < 0x1p8f))
        return limited(mbqm(d, static_cast<double>(s)) + static_cast<double>(y.zero),
                       codes_of(activation, y, false));
    const float v = static_cast<float>(d) * s;
    const float in =
        std::min(std::max(v, static_cast<float>(y.lo() - y.zero)), static_cast<float>(y.hi() - y.zero));
    return limited(static_cast<double>(rne(in)) + y.zero, codes_of(activation, y, true));
}

/// 2.5, 4.2
std::int32_t requantized(const numbers &x, const numbers &y, std::int32_t q) {
    const float p = x.scale / y.scale;
    if (x.type == y.type && is_ratio_of_codes(p)) {
        const auto m = static_cast<std::int32_t>(rne(256.f * p));
        return clamped((((q - x.zero) * m + 128) >> 8) + y.zero, y);
    }
    return clamped(
        static_cast<double>(mbqm(q - x.zero, static_cast<double>(x.scale) / static_cast<double>(y.scale))) +
            y.zero,
        y);
}
std::int32_t quantized(const numbers &y, float x) {
    const float i = 1.f / y.scale, v = x * i;
    return static_cast<std::int32_t>(rne(std::min(std::max(v, static_cast<float>(y.lo() - y.zero)),
                                                  static_cast<float>(y.hi() - y.zero)))) +
           y.zero;
}
std::int32_t leaky(const numbers &x, const numbers &y, std::int32_t q, float alpha) {
    const float p = x.scale / y.scale, negative = p * alpha;
    const std::int32_t d = q - x.zero;
    if (is_ratio_of_codes(p) && std::isnormal(alpha) && std::fabs(negative) >= 0x1p-8f &&
        negative >= -127.996f && negative <= 128.f) {
        const auto m = static_cast<std::int32_t>(rne(256.f * (d < 0 ? negative : p)));
        return clamped(((d * m + 128) >> 8) + y.zero, y);
    }
    const float slope = x.scale * alpha / y.scale;
    return clamped(static_cast<double>(mbqm(d, static_cast<double>(d >= 0 ? p : slope))) + y.zero, y);
}

/// 2.6
std::int32_t tabulated(const std::string &op, const numbers &x, const numbers &y, std::int32_t q) {
    const float v = static_cast<float>(q - x.zero) * x.scale;
    const double e = std::exp(static_cast<double>(v));
    const float t = op == "LOGISTIC" ? (v > 100    ? 1.f
                                        : v < -100 ? 0.f
                                                   : static_cast<float>(e / (1 + e)))
                    : op == "TANH"   ? static_cast<float>(std::tanh(static_cast<double>(v)))
                    : v < 0          ? static_cast<float>(std::expm1(static_cast<double>(v)))
                                     : v;
    const float i = 1.f / y.scale, scaled = t * i;
    return clamped(static_cast<double>(rne(scaled + static_cast<float>(y.zero))), y);
}

/// 2.7, of the raw codes' sum.
std::int32_t reduced(bool is_mean, const numbers &x, const numbers &y, std::int64_t sum, std::int64_t n) {
    const float count = static_cast<float>(n);
    float k = x.scale / y.scale;
    if (is_mean) {
        const float share = 1.f / count;
        k = k * share;
    }
    const float zeros = count * static_cast<float>(x.zero), part = zeros * k,
                o = static_cast<float>(y.zero) - part;
    const float scaled = static_cast<float>(sum) * k;
    return clamped(static_cast<double>(rne(std::min(std::max(scaled + o, -1e6f), 1e6f))), y);
}

neighbours along(dim_t i, dim_t in, dim_t out, bool align, bool half) {
    const bool adjusts = align && out > 1;
    const float g = static_cast<float>(in - adjusts) / static_cast<float>(out - adjusts);
    float p = static_cast<float>(i) * g;
    if (half && !align) {
        const float first = 0.5f * g, h = first - 0.5f;
        p = std::max(p + h, 0.f);
    }
    p = std::min(p, static_cast<float>(in - 1));
    const auto a = static_cast<dim_t>(p);
    return {a, std::min(a + 1, in - 1), static_cast<std::int64_t>(rne((p - static_cast<float>(a)) * 2048.f))};
}

/// 4.4, one row.
void softmax_row(const numbers &x, numbers &y, std::size_t first, std::size_t size, float beta) {
    const float k = -x.scale * beta;
    const auto begin = x.codes.begin() + static_cast<std::ptrdiff_t>(first);
    const std::int32_t m = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(size));
    const auto t = [&](std::size_t i) {
        return static_cast<float>(
            std::exp(static_cast<double>(k * static_cast<float>(m - x.codes[first + i]))));
    };
    float sum = 0;
    for (std::size_t i = 0; i < size; i++)
        sum = sum + t(i);
    const float part = sum * y.scale, r = 1.f / part;
    for (std::size_t i = 0; i < size; i++) {
        const float p = t(i) * r;
        y.codes.push_back(clamped(y.type == data_type::s8 ? static_cast<double>(rha(p)) + y.zero
                                                          : std::trunc(static_cast<double>(p + 0.5f)),
                                  y));
    }
}

/// 4.5
std::int32_t hard_swish(const numbers &x, const numbers &y, std::int32_t q) {
    const float h = 1.f / 128 * x.scale;
    const fixed_point_multiplier m = q31(rule::tflite_2step, static_cast<double>(h / y.scale)),
                                 r = q31(rule::tflite_2step, static_cast<double>(h / (3.f / 32768)));
    const auto in_16 = [](std::int64_t v) { return v >= 2147483647 - 32768 ? 32767 : (v + 32768) >> 16; };
    const auto times = [](std::int64_t a, std::int64_t b) { return (a * b + (1 << 14)) >> 15; };
    const auto sat16 = [](std::int64_t v) {
        return std::min<std::int64_t>(std::max<std::int64_t>(v, -32768), 32767);
    };
    const std::int64_t d = 128 * (q - x.zero), pre = times(d, in_16(m.multiplier));
    std::int64_t t = r.shift > 0 ? sat16(d * (std::int64_t{1} << (r.shift - 1))) : d;
    t = times(t, in_16(r.multiplier));
    if (r.shift > 0)
        t = sat16(2 * t);
    if (r.shift < 0)
        t = rdp(static_cast<std::int32_t>(t), -r.shift);
    t = (t + 32768) >> 1;
    const std::int64_t u = t * pre / 32768;
    return clamped(static_cast<double>(rdp(static_cast<std::int32_t>(u), -m.shift)) + y.zero, y);
}

/// 4.6
std::int32_t rectified(const std::string &op, const numbers &x, const numbers &y, std::int32_t q) {
    const double code =
        mbqm(q - x.zero, static_cast<double>(x.scale / y.scale)) + static_cast<double>(y.zero);
    return limited(code, codes_of(op, y, false));
}
std::int32_t prelu(const numbers &x, const numbers &a, const numbers &y, std::int32_t q, std::int32_t qa) {
    const float identity = x.scale / y.scale, product = x.scale * a.scale, slope = product / y.scale;
    const std::int32_t d = q - x.zero, t = d >= 0 ? mbqm(d, static_cast<double>(identity))
                                                  : mbqm(d * (qa - a.zero), static_cast<double>(slope));
    return clamped(static_cast<double>(t) + y.zero, y);
}

} // namespace octet::oracle::litert
