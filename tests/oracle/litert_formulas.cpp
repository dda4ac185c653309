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

/// Likewise, the second step with ties up; or that of scalar code.
std::int32_t mbqm_of_groups(std::int32_t x, double factor, bool is_in_group) {
    if (!is_in_group)
        return mbqm(x, factor);
    const fixed_point_multiplier m = q31(rule::tflite_2step, factor);
    const std::int64_t high = srdhm(x * (1 << std::max(m.shift, 0)), m.multiplier);
    return static_cast<std::int32_t>(m.shift < 0 ? (high + (std::int64_t{1} << (-m.shift - 1))) >> -m.shift
                                                 : high);
}
float multiplied_and_added(float a, float b, float c, bool is_fused) {
    const float product = a * b;
    return is_fused ? std::fma(a, b, c) : product + c;
}
/// Section 5: the 24 bits of s, one rounding, ties up.
std::int32_t shifted_once(std::int64_t acc, float s, const numbers &y) {
    int e = 0;
    const auto m = static_cast<std::int64_t>(std::ldexp(std::frexp(s, &e), 24));
    const int t = 24 - e;
    return clamped(static_cast<double>(((acc * m + (std::int64_t{1} << (t - 1))) >> t) + y.zero), y);
}
bool fuses_in_xnnpack(const build &by) { return by.is_arm && by.is_clang; }

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
std::int32_t sum_of(const build &by, const numbers &a, const numbers &b, const numbers &y, std::int32_t qa,
                    std::int32_t qb, bool subtracts, const std::string &activation) {
    const float ra = a.scale / y.scale, rb = b.scale / y.scale;
    const auto is_taken = [](float r) { return r >= 0x1p-10f && r < 0x1p8f; };
    if (by.delegates && is_taken(ra) && is_taken(rb)) {
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
std::int32_t product_of(const build &by, const numbers &a, const numbers &b, const numbers &y,
                        std::int32_t qa, std::int32_t qb, const std::string &activation) {
    const float product = a.scale * b.scale, s = product / y.scale;
    const std::int32_t d = (qa - a.zero) * (qb - b.zero);
    if (!(by.delegates && s >= 0x1p-16f && s < 0x1p8f))
        return limited(mbqm(d, static_cast<double>(s)) + static_cast<double>(y.zero),
                       codes_of(activation, y, false));
    if (by.is_arm)
        return limited(static_cast<double>(shifted_once(d, s, y)), codes_of(activation, y, true));
    const float v = static_cast<float>(d) * s;
    const float in =
        std::min(std::max(v, static_cast<float>(y.lo() - y.zero)), static_cast<float>(y.hi() - y.zero));
    return limited(static_cast<double>(rne(in)) + y.zero, codes_of(activation, y, true));
}

/// 2.5, 4.2
std::int32_t requantized(const build &by, const numbers &x, const numbers &y, std::int32_t q,
                         bool is_in_group) {
    const float p = x.scale / y.scale;
    if (by.delegates && x.type == y.type && is_ratio_of_codes(p)) {
        const auto m = static_cast<std::int32_t>(rne(256.f * p));
        return clamped((((q - x.zero) * m + 128) >> 8) + y.zero, y);
    }
    const double factor = static_cast<double>(x.scale) / static_cast<double>(y.scale);
    return clamped(static_cast<double>(mbqm_of_groups(q - x.zero, factor, by.is_arm && is_in_group)) + y.zero,
                   y);
}
std::int32_t quantized(const numbers &y, float x) {
    const float i = 1.f / y.scale, v = x * i;
    return static_cast<std::int32_t>(rne(std::min(std::max(v, static_cast<float>(y.lo() - y.zero)),
                                                  static_cast<float>(y.hi() - y.zero)))) +
           y.zero;
}
std::int32_t leaky(const build &by, const numbers &x, const numbers &y, std::int32_t q, float alpha) {
    const float p = x.scale / y.scale, negative = p * alpha;
    const std::int32_t d = q - x.zero;
    if (by.delegates && is_ratio_of_codes(p) && std::isnormal(alpha) && std::fabs(negative) >= 0x1p-8f &&
        negative >= -127.996f && negative <= 128.f) {
        const auto m = static_cast<std::int32_t>(rne(256.f * (d < 0 ? negative : p)));
        return clamped(((d * m + 128) >> 8) + y.zero, y);
    }
    const float slope = x.scale * alpha / y.scale;
    return clamped(static_cast<double>(mbqm(d, static_cast<double>(d >= 0 ? p : slope))) + y.zero, y);
}

/// 2.6; LiteRT's own: operators.md 3.12, 3.13.
std::int32_t tabulated(const build &by, const std::string &op, const numbers &x, const numbers &y,
                       std::int32_t q) {
    const float v = static_cast<float>(q - x.zero) * x.scale, i = 1.f / y.scale;
    if (!by.delegates) {
        const auto e = static_cast<float>(std::exp(static_cast<double>(op == "LOGISTIC" ? -v : v)));
        const float of_tanh = static_cast<float>(std::tanh(static_cast<double>(v))), below_0 = e - 1.f,
                    t = op == "LOGISTIC" ? 1.f / (1.f + e)
                        : op == "TANH"   ? of_tanh
                        : v < 0          ? below_0
                                         : v;
        const float scaled = t * i;
        return clamped(static_cast<double>(rha(scaled)) + y.zero, y);
    }
    const double e = std::exp(static_cast<double>(v));
    const float t = op == "LOGISTIC" ? (v > 100    ? 1.f
                                        : v < -100 ? 0.f
                                                   : static_cast<float>(e / (1 + e)))
                    : op == "TANH"   ? static_cast<float>(std::tanh(static_cast<double>(v)))
                    : v < 0          ? static_cast<float>(std::expm1(static_cast<double>(v)))
                                     : v;
    return clamped(static_cast<double>(
                       rne(multiplied_and_added(t, i, static_cast<float>(y.zero), fuses_in_xnnpack(by)))),
                   y);
}

namespace {

/// 5.4, operators.md 3.6
std::int32_t reduced_by_litert(const build &by, const reduction_kind &kind, const numbers &x,
                               const numbers &y, std::int64_t sum, std::int64_t n) {
    const float zx = static_cast<float>(x.zero), count = static_cast<float>(n);
    if (!kind.is_mean) {
        const float k = x.scale / y.scale, part = -zx * k, b = part * count;
        const float v = multiplied_and_added(static_cast<float>(sum), k, b, by.is_arm);
        return clamped(static_cast<double>(rha(v)) + y.zero, y);
    }
    if (kind.is_spatial) {
        const float zeros = zx * x.scale, v = zeros / y.scale, half = v > 0 ? v + 0.5f : v - 0.5f,
                    per_count = count * y.scale, share = x.scale / per_count;
        const double bias = y.zero - std::trunc(static_cast<double>(half));
        const bool is_in_group = by.is_arm && x.type == data_type::s8 && kind.is_in_group;
        return clamped(
            mbqm_of_groups(static_cast<std::int32_t>(sum), static_cast<double>(share), is_in_group) + bias,
            y);
    }
    fixed_point_multiplier m =
        q31(rule::tflite_2step, static_cast<double>(x.scale) / static_cast<double>(y.scale));
    const int h = std::min(std::ilogb(static_cast<double>(n)), std::min(32, 31 + m.shift));
    m.multiplier = static_cast<std::int32_t>((std::int64_t{m.multiplier} << h) / n);
    m.shift -= h;
    const auto d = static_cast<std::int32_t>(sum - n * x.zero);
    return clamped(static_cast<double>(signed_fixed_point(rule::tflite_2step, d, m)) + y.zero, y);
}

} // namespace

/// 2.7, of the raw codes' sum.
std::int32_t reduced(const build &by, const reduction_kind &kind, const numbers &x, const numbers &y,
                     std::int64_t sum, std::int64_t n) {
    if (!by.delegates)
        return reduced_by_litert(by, kind, x, y, sum, n);
    const float count = static_cast<float>(n);
    float k = x.scale / y.scale;
    if (kind.is_mean) {
        const float share = 1.f / count;
        k = k * share;
    }
    const bool fuses = fuses_in_xnnpack(by);
    const float zeros = count * static_cast<float>(x.zero),
                o = multiplied_and_added(-zeros, k, static_cast<float>(y.zero), fuses),
                v = multiplied_and_added(static_cast<float>(sum), k, o, fuses);
    return clamped(static_cast<double>(rne(std::min(std::max(v, -1e6f), 1e6f))), y);
}

neighbours along(const build &by, dim_t i, dim_t in, dim_t out, bool align, bool half) {
    const bool adjusts = align && out > 1;
    const float g = static_cast<float>(in - adjusts) / static_cast<float>(out - adjusts);
    float p = static_cast<float>(i) * g;
    if (half && !align) {
        const float first = 0.5f * g, h = first - 0.5f;
        p = std::max(multiplied_and_added(static_cast<float>(i), g, h, fuses_in_xnnpack(by)), 0.f);
    }
    p = std::min(p, static_cast<float>(in - 1));
    const auto a = static_cast<dim_t>(p);
    return {a, std::min(a + 1, in - 1), static_cast<std::int64_t>(rne((p - static_cast<float>(a)) * 2048.f))};
}

namespace {

/// 2.1 of the specification of AArch64: a table of 16 bits.
void softmax_row_in_16_bits(const numbers &x, numbers &y, std::size_t first, std::size_t size, float beta) {
    const float b = x.scale * beta;
    const auto begin = x.codes.begin() + static_cast<std::ptrdiff_t>(first);
    const std::int32_t m = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(size));
    const auto t = [&](std::size_t i) {
        const float argument = b * static_cast<float>(x.codes[first + i] - m),
                    e = static_cast<float>(std::exp(static_cast<double>(argument))), wide = e * 65535.f;
        return static_cast<std::int32_t>(std::min(65535., std::trunc(static_cast<double>(wide) + 0.5)));
    };
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < size; i++)
        sum += t(i);
    const float part = static_cast<float>(sum) * y.scale, r = 1.f / part;
    for (std::size_t i = 0; i < size; i++)
        y.codes.push_back(clamped(static_cast<double>(mbqm(t(i), static_cast<double>(r))) + y.zero, y));
}

} // namespace

/// 4.4, one row; 2.2 of the specification of AArch64.
void softmax_row(const build &by, const numbers &x, numbers &y, std::size_t first, std::size_t size,
                 float beta) {
    if (by.is_arm && by.is_clang && y.type != data_type::s16)
        return softmax_row_in_16_bits(x, y, first, size, beta);
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
        const float p = t(i) * r, above = p + 0.5f;
        const double share =
            static_cast<double>(y.type == data_type::u8 && !by.is_arm ? std::trunc(above) : rha(p));
        y.codes.push_back(clamped(share + y.zero, y));
    }
}

/// 4.5
std::int32_t hard_swish(const numbers &x, const numbers &y, std::int32_t q, bool is_in_group) {
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
    const auto shifted = [&](std::int64_t v, int n) -> std::int64_t {
        if (is_in_group)
            return n > 0 ? (v + (std::int64_t{1} << (n - 1))) >> n : v;
        return rdp(static_cast<std::int32_t>(v), n);
    };
    if (r.shift < 0)
        t = shifted(t, -r.shift);
    t = (t + 32768) >> 1;
    const std::int64_t u = is_in_group ? (t * pre) >> 15 : t * pre / 32768;
    return clamped(static_cast<double>(shifted(u, -m.shift)) + y.zero, y);
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

/// 2.2; of u8 on AArch64 section 5. LiteRT's own: one scale of u8 has its product in f32.
std::int32_t accumulated(const build &by, bool is_delegated, bool is_in_group, const numbers &x,
                         float weights_scale, const numbers &y, std::int32_t sum) {
    const bool is_u8 = x.type == data_type::u8;
    const float product = x.scale * weights_scale, s = product / y.scale;
    if (!is_delegated) {
        const double scales = is_u8 ? static_cast<double>(product)
                                    : static_cast<double>(x.scale) * static_cast<double>(weights_scale),
                     factor = scales / static_cast<double>(y.scale);
        return clamped(static_cast<double>(mbqm_of_groups(sum, factor, is_in_group)) + y.zero, y);
    }
    if (is_u8 && by.is_arm)
        return shifted_once(sum, s, y);
    const float v = static_cast<float>(sum) * s;
    const float in =
        std::min(std::max(v, static_cast<float>(y.lo() - y.zero)), static_cast<float>(y.hi() - y.zero));
    return clamped(static_cast<double>(rne(in)) + y.zero, y);
}

std::int32_t joined(const build &by, const numbers &x, const numbers &y, std::int32_t q) {
    if (x.scale == y.scale && x.zero == y.zero)
        return q;
    const float i = 1.f / y.scale, s = x.scale * i, b = static_cast<float>(-x.zero) * s;
    const float v = multiplied_and_added(static_cast<float>(q), s, b, by.is_arm);
    return clamped(static_cast<double>(rha(v)) + y.zero, y);
}

} // namespace octet::oracle::litert
