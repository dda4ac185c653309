// The oracle's operations, second half: the functions of one element, softmax, sum and concat (section 7 of
// doc/arithmetic.md).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "oracle/arithmetic.hpp"

namespace octet::oracle {

namespace {

// ---- 7. eltwise and PReLU, with gemmlowp's functions of fixed-point numbers

std::int32_t shl_sat(std::int32_t x, int k) { return sat(std::ldexp(static_cast<double>(x), k)); }

/// exp of a in [-1/4, 0) as Q0.31.
std::int32_t exp_quarter(std::int32_t a) {
    const std::int32_t x = a + (1 << 28), x2 = srdhm(x, x), x3 = srdhm(x2, x), x4 = srdhm(x2, x2);
    const std::int32_t t = rdp(srdhm(rdp(x4, 2) + x3, 715827883) + x2, 1);
    return wrap(1895147668LL + srdhm(1895147668, x + t));
}

/// exp of a <= 0 with m integer bits, as Q0.31.
std::int32_t exp_negative(std::int32_t a, int m) {
    if (a == 0)
        return std::numeric_limits<std::int32_t>::max();
    const int f = 31 - m;
    const std::int32_t quarter = 1 << (f - 2), r = (a & (quarter - 1)) - quarter;
    std::int32_t result = exp_quarter(shl_sat(r, m));
    const std::int32_t rest = wrap(static_cast<std::int64_t>(r) - a);
    constexpr std::int32_t factors[][2] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                                           {2, 39332535},    {3, 720401},      {4, 242}};
    for (const auto &[k, factor] : factors)
        if (m > k && (rest >> (f + k) & 1))
            result = srdhm(result, factor);
    return m > 5 && a < -(1 << (36 - m)) ? 0 : result;
}

/// Newton's steps to 1 / half(1 + a), a as Q0.31, the result as Q2.29.
std::int32_t newton(std::int32_t a) {
    const std::int64_t sum = static_cast<std::int64_t>(a) + std::numeric_limits<std::int32_t>::max();
    const auto half = static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
    std::int32_t x = wrap(1515870810LL + srdhm(half, -1010580540));
    for (int i = 0; i < 3; i++) {
        const std::int32_t error = wrap((1LL << 29) - srdhm(half, x));
        x = wrap(static_cast<std::int64_t>(x) + shl_sat(srdhm(x, error), 2));
    }
    return x;
}
std::int32_t one_over_one_plus(std::int32_t a) { return shl_sat(newton(a), 1); }
std::int32_t logistic_q27(std::int32_t a) {
    if (a == 0)
        return 1 << 30;
    const std::int32_t r = one_over_one_plus(exp_negative(-std::abs(a), 4));
    return a > 0 ? r : std::numeric_limits<std::int32_t>::max() - r;
}
std::int32_t tanh_q27(std::int32_t a) {
    if (a == 0)
        return 0;
    const std::int32_t t = shl_sat(newton(exp_negative(-std::abs(a), 5)) - (1 << 29), 2);
    return a > 0 ? t : -t;
}

std::int32_t tflite_eltwise(const problem &p, rule r, std::int32_t d) {
    const auto &inputs = p.attr.input_multipliers;
    const float s_src = scale_of(p, OCTET_ARG_SRC), s_dst = scale_of(p, OCTET_ARG_DST);
    if (p.alg == algorithm::eltwise_relu) {
        fixed_point_multiplier m, m_alpha;
        if (p.attr.multipliers.is_set()) {
            m = p.attr.multipliers.values[0];
            if (p.alpha != 0)
                m_alpha = inputs.at(OCTET_ARG_SRC);
        } else {
            m = q31(r, static_cast<double>(s_src / s_dst));
            m_alpha = q31(r, std::fabs(static_cast<double>(s_src * p.alpha / s_dst)));
            if (p.alpha < 0)
                m_alpha.multiplier = -m_alpha.multiplier;
        }
        return p.alpha == 0 ? std::max(fixed_point(r, d, m), 0)
               : d >= 0     ? fixed_point(r, d, m)
                            : signed_fixed_point(r, d, m_alpha);
    }
    if (p.alg == algorithm::eltwise_bounded_relu || p.alg == algorithm::eltwise_clip ||
        p.alg == algorithm::eltwise_clip_v2) {
        const bool rescales = has_scale(p, OCTET_ARG_DST);
        const bool bounded = p.alg == algorithm::eltwise_bounded_relu;
        const float s = rescales ? s_dst : s_src;
        const std::int32_t low = rha_sat(static_cast<double>((bounded ? 0.f : p.alpha) / s)),
                           high = rha_sat(static_cast<double>((bounded ? p.alpha : p.beta) / s));
        const std::int32_t x = rescales ? fixed_point(r, d, q31(r, static_cast<double>(s_src / s_dst))) : d;
        return std::min(std::max(x, low), high);
    }
    const auto given = inputs.find(OCTET_ARG_SRC);
    const fixed_point_multiplier m =
        given != inputs.end() ? given->second : q31(r, static_cast<double>(s_src) * 134217728.);
    const double radius = std::floor(std::ldexp(15. * 134217728., -m.shift));
    const bool logistic = p.alg == algorithm::eltwise_logistic;
    if (d >= radius)
        return logistic ? 255 : 127;
    if (d <= -radius)
        return logistic ? 0 : -128;
    const std::int32_t x = fixed_point(r, d, m);
    return logistic ? rdp(logistic_q27(x), 23) : rdp(tanh_q27(x), 24);
}

/// ONNX Runtime's logistic: MLAS's rational polynomial.
float mlas_logistic(float f) {
    constexpr float a[] = {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                           8.51377133304701e-03f, 2.48287947061529e-01f},
                    b[] = {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                           1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f};
    const float v = std::min(std::max(f, -18.f), 18.f), u = v * v;
    float numerator = a[0], denominator = b[0];
    for (int i = 1; i < 5; i++)
        numerator = std::fma(numerator, u, a[i]);
    for (int i = 1; i < 6; i++)
        denominator = std::fma(denominator, u, b[i]);
    const float y = numerator * v / denominator + 0.5f;
    return y > 0.f ? y : 0.f; // NaN gives 0, too
}

void function(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    const std::int32_t zp = zero_point_of(p, OCTET_ARG_SRC);
    const bool has_zero_point = p.attr.zero_points.count(OCTET_ARG_SRC) != 0;
    const float s_dst = scale_of(p, OCTET_ARG_DST);
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        const double code = p.src.values[i];
        if (is_tflite(r))
            return finish(p, integer(tflite_eltwise(p, r, wrap(static_cast<std::int64_t>(code) - zp))), at, i,
                          e);
        float x = static_cast<float>(code);
        if (has_zero_point)
            x = p.src.type() == data_type::f32
                    ? x - static_cast<float>(zp)
                    : static_cast<float>(wrap(static_cast<std::int64_t>(code) - zp));
        if (has_scale(p, OCTET_ARG_SRC))
            x = scale_of(p, OCTET_ARG_SRC) * x;
        bounds y = eltwise(p.alg, p.alpha, p.beta, x);
        if (p.alg == algorithm::eltwise_logistic && r == rule::ort_f32)
            y.low = y.high = mlas_logistic(x);
        if (r == rule::ort_f32 || r == rule::caffe_double_round)
            y = {y.low / s_dst, y.high / s_dst};
        if (r == rule::caffe_double_round) // stays f32, as SNPS-Caffe keeps codes
            y = {std::round(y.low), std::round(y.high)};
        finish(p, real(y.low), real(y.high), at, i, e);
    });
}

void prelu(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    const float s_src = scale_of(p, OCTET_ARG_SRC), s_w = scale_of(p, OCTET_ARG_WEIGHTS),
                s_dst = scale_of(p, OCTET_ARG_DST);
    fixed_point_multiplier m, m_alpha;
    if (is_tflite(r)) {
        const bool given = p.attr.multipliers.is_set();
        m = given ? p.attr.multipliers.values[0]
                  : q31(r, static_cast<double>(s_src) / static_cast<double>(s_dst));
        m_alpha =
            given
                ? p.attr.input_multipliers.at(OCTET_ARG_WEIGHTS)
                : q31(r, static_cast<double>(s_src) * static_cast<double>(s_w) / static_cast<double>(s_dst));
    }
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        const double code = p.src.values[i], w = p.weights.values[position(p.weights.shape(), at)];
        if (!is_tflite(r)) {
            const auto x = static_cast<float>(code);
            return finish(p, real(x > 0.f ? x : x * static_cast<float>(w)), at, i, e);
        }
        const auto d = static_cast<std::int32_t>(code) - zero_point_of(p, OCTET_ARG_SRC);
        const std::int64_t factor = static_cast<std::int64_t>(w) - zero_point_of(p, OCTET_ARG_WEIGHTS);
        finish(p, integer(d >= 0 ? fixed_point(r, d, m) : fixed_point(r, wrap(d * factor), m_alpha)), at, i,
               e);
    });
}

// ---- 7. softmax

struct softmax_row {
    std::vector<double> x;
    double largest;
    std::vector<std::size_t> element;
};

void float_softmax(const problem &p, const softmax_row &row, std::vector<value> &low,
                   std::vector<value> &high) {
    // The functions are known by their errors: 5.72 ulp of exp, 7.71 ulp or 3.71e-6 of ln; the sum of n
    // terms in 16 lanes adds n / 16 + 4 roundings.
    const auto largest = static_cast<float>(row.largest);
    long double sum = 0;
    bool is_finite = true;
    for (const double x : row.x) {
        const float difference = static_cast<float>(x) - largest;
        is_finite = is_finite && std::isfinite(difference);
        sum += std::exp(static_cast<long double>(difference));
    }
    const long double relative = (12 + static_cast<long double>(row.x.size()) / 16) * 0x1p-23L;
    const float scale = p.attr.output_scales.is_set() ? p.attr.output_scales.values[0] : 1.f;
    for (const double x : row.x) {
        const float difference = static_cast<float>(x) - largest;
        const bool is_log = p.alg == algorithm::softmax_log;
        const long double y =
            is_log ? difference - std::log(sum) : std::exp(static_cast<long double>(difference)) / sum;
        const long double error = is_log ? 1e-5L + std::fabs(y) * 0x1p-22L : y * relative + 3.5e-38L;
        low.push_back(real(static_cast<float>(y - error) * scale));
        high.push_back(real(static_cast<float>(y + error) * scale));
    }
    if (!is_finite) // ∞ - ∞: levels are compared
        low.clear();
}

void ort_softmax(const problem &p, const softmax_row &row, expectation &e) {
    const double s_src = static_cast<double>(scale_of(p, OCTET_ARG_SRC));
    const float limit = std::log(std::numeric_limits<float>::max() / static_cast<float>(row.x.size()));
    const double shift = std::max(0., static_cast<double>(limit) - 5.) / s_src;
    std::vector<float> t;
    float sum = 0;
    for (const double x : row.x) {
        t.push_back(static_cast<float>(std::exp((shift - (row.largest - x)) * s_src)));
        sum = sum + t.back();
    }
    const float c = std::floor(1.f / scale_of(p, OCTET_ARG_DST));
    for (std::size_t j = 0; j < t.size(); j++) {
        const float quotient = t[j] * c / sum;
        double y = std::nearbyint(static_cast<double>(quotient)) + zero_point_of(p, OCTET_ARG_DST);
        y = std::min(std::max(y, lowest(p.dst.type())), highest(p.dst.type()));
        if (std::isinf(quotient)) { // a row of few elements: the conversion gives INT32_MIN, or 0 for u8
            const auto zp = zero_point_of(p, OCTET_ARG_DST);
            y = p.dst.type() == data_type::u8 ? zp : zp < 0 ? highest(data_type::s8) : lowest(data_type::s8);
        }
        e.low[row.element[j]] = e.high[row.element[j]] = y;
    }
}

/// LiteRT's optimized kernel: a table of floats.
void litert_softmax(const problem &p, rule r, const softmax_row &row, expectation &e) {
    const float k = -scale_of(p, OCTET_ARG_SRC);
    std::vector<float> t;
    float sum = 0;
    for (const double x : row.x) {
        const float argument = k * static_cast<float>(row.largest - x);
        t.push_back(static_cast<float>(std::exp(static_cast<double>(argument))));
        sum = sum + t.back();
    }
    const bool adds_half = r == rule::xnnpack_f32 && p.dst.type() == data_type::u8;
    const float part = sum * scale_of(p, OCTET_ARG_DST), reciprocal = 1.f / part;
    for (std::size_t j = 0; j < t.size(); j++) {
        const float share = t[j] * reciprocal;
        const double y =
            zero_point_of(p, OCTET_ARG_DST) + (adds_half ? std::trunc(static_cast<double>(share + 0.5f))
                                                         : std::round(static_cast<double>(share)));
        e.low[row.element[j]] = e.high[row.element[j]] = std::min(y, highest(p.dst.type()));
    }
}

/// LiteRT's softmax for AArch64, as Clang compiles it: a table of 16 bits.
void litert_16_bit_softmax(const problem &p, const softmax_row &row, expectation &e) {
    std::vector<std::int32_t> t;
    std::int32_t sum = 0;
    for (const double x : row.x) {
        const float argument = scale_of(p, OCTET_ARG_SRC) * static_cast<float>(x - row.largest),
                    power = static_cast<float>(std::exp(static_cast<double>(argument))),
                    wide = power * 65535.f;
        t.push_back(static_cast<std::int32_t>(std::min(65535., std::trunc(static_cast<double>(wide) + 0.5))));
        sum += t.back();
    }
    const float part = static_cast<float>(sum) * scale_of(p, OCTET_ARG_DST), share = 1.f / part;
    const fixed_point_multiplier m = q31(rule::tflite_2step, static_cast<double>(share));
    for (std::size_t j = 0; j < t.size(); j++) {
        const double y = zero_point_of(p, OCTET_ARG_DST) +
                         static_cast<double>(signed_fixed_point(rule::tflite_2step, t[j], m));
        e.low[row.element[j]] = e.high[row.element[j]] = std::min(y, highest(p.dst.type()));
    }
}

void tflite_softmax(const problem &p, rule r, const softmax_row &row, expectation &e) {
    const fixed_point_multiplier m = p.attr.input_multipliers.at(OCTET_ARG_SRC);
    const double smallest = -std::floor(std::ldexp(31. * 67108864., -m.shift));
    const int bits = p.dst.type() == data_type::s16 ? 16 : 8;
    std::vector<std::int32_t> exponentials;
    std::int64_t sum = 0;
    for (const double x : row.x) {
        const double d = x - row.largest;
        exponentials.push_back(
            d >= smallest ? exp_negative(fixed_point(r, static_cast<std::int32_t>(d), m), 5) : -1);
        sum += d >= smallest ? rdp(exponentials.back(), 12) : 0;
    }
    const int zeros = __builtin_clz(static_cast<unsigned>(sum));
    const std::int32_t reciprocal = one_over_one_plus(wrap((sum << zeros) - (1LL << 31)));
    for (std::size_t j = 0; j < exponentials.size(); j++) {
        double y = lowest(p.dst.type());
        if (exponentials[j] >= 0)
            y += rdp(srdhm(reciprocal, exponentials[j]), 12 - zeros + 31 - bits);
        e.low[row.element[j]] = e.high[row.element[j]] =
            std::min(std::max(y, lowest(p.dst.type())), highest(p.dst.type()));
    }
}

} // namespace

void softmax(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    dims rows = p.dst.shape();
    const dim_t length = std::exchange(rows[static_cast<std::size_t>(p.axis)], 1);
    for_each(rows, [&](const index &first, std::size_t) {
        softmax_row row{{}, -std::numeric_limits<double>::infinity(), {}};
        index at = first;
        for (dim_t i = 0; i < length; i++) {
            at[static_cast<std::size_t>(p.axis)] = i;
            row.element.push_back(position(p.dst.shape(), at));
            row.x.push_back(p.src.values[row.element.back()]);
            row.largest = std::max(row.largest, row.x.back());
        }
        if (r == rule::ort_f32)
            return ort_softmax(p, row, e);
        if (is_xnnpack(r))
            return litert_softmax(p, r, row, e);
        if (r == rule::ruy_2step)
            return litert_16_bit_softmax(p, row, e);
        if (is_tflite(r))
            return tflite_softmax(p, r, row, e);
        std::vector<value> low, high;
        float_softmax(p, row, low, high);
        e.is_known = e.is_known && low.size() == row.x.size();
        for (std::size_t j = 0; e.is_known && j < row.x.size(); j++) {
            at[static_cast<std::size_t>(p.axis)] = static_cast<dim_t>(j);
            finish(p, low[j], high[j], at, row.element[j], e);
        }
    });
}

void per_element(const problem &p, expectation &e) {
    return p.kind == primitive_kind::prelu ? prelu(p, e) : function(p, e);
}

// ---- 7. sum, concat

void sum(const problem &p, expectation &e) {
    const bool rescales = effective_rule(p) == rule::caffe_double_round;
    std::int64_t m[2] = {0, 0};
    int sh = 0;
    if (rescales) {
        float r[2] = {p.sum_scales[0] / scale_of(p, OCTET_ARG_DST),
                      p.sum_scales[1] / scale_of(p, OCTET_ARG_DST)};
        for (; std::max(r[0], r[1]) < 2097152.f; sh++) {
            r[0] *= 2.f;
            r[1] *= 2.f;
        }
        for (int i = 0; i < 2; i++)
            m[i] = static_cast<std::int64_t>(std::round(r[i]));
    }
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        if (rescales) {
            std::int64_t acc = 0;
            for (int s = 0; s < 2; s++)
                acc += m[s] * (static_cast<std::int64_t>(p.srcs[static_cast<std::size_t>(s)].values[i]) -
                               zero_point_of(p, OCTET_ARG_MULTIPLE_SRC + s));
            return finish(p, integer(rha_sat(static_cast<double>(std::ldexp(static_cast<float>(acc), -sh)))),
                          at, i, e);
        }
        float x = 0;
        for (std::size_t s = 0; s < p.srcs.size(); s++) {
            const float term = p.sum_scales[s] * static_cast<float>(p.srcs[s].values[i]);
            x = s == 0 ? term : x + term;
        }
        finish(p, real(x), at, i, e);
    });
}

void concat(const problem &p, expectation &e) {
    const auto axis = static_cast<std::size_t>(p.axis);
    const float s_dst = scale_of(p, OCTET_ARG_DST);
    const std::int32_t z_dst = zero_point_of(p, OCTET_ARG_DST);
    rule r = p.attr.rule;
    const bool has_scales = !p.attr.scales.empty();
    dim_t first = 0;
    for (std::size_t s = 0; s < p.srcs.size(); s++) {
        const tensor &src = p.srcs[s];
        const int arg = OCTET_ARG_MULTIPLE_SRC + static_cast<int>(s);
        const float scale = scale_of(p, arg);
        const std::int32_t zp = zero_point_of(p, arg);
        for_each(src.shape(), [&](const index &from, std::size_t i) {
            index at = from;
            at[axis] += first;
            const std::size_t element = position(p.dst.shape(), at);
            const double code = src.values[i];
            const auto x = static_cast<float>(code);
            if (r == rule::automatic || r == rule::none || r == rule::f32) {
                if (!has_scales && src.type() == p.dst.type())
                    e.low[element] = e.high[element] = code;
                else
                    finish(p, real(has_scales ? x * scale : x), at, element, e);
                return;
            }
            const auto d = static_cast<float>(static_cast<std::int32_t>(code) - zp);
            if (src.type() == p.dst.type() && scale == s_dst && zp == z_dst) {
                e.low[element] = e.high[element] = code;
            } else if (r == rule::ort_f32) {
                finish(p, real(scale * d / s_dst), at, element, e);
            } else if (is_tflite(r)) {
                const float factor = scale * (1.f / s_dst), shift = static_cast<float>(-zp) * factor;
                const float product = x * factor;
                finish(p, integer(rha_sat(static_cast<double>(product + shift))), at, element, e);
            } else {
                finish(p, integer(rha_sat(static_cast<double>(scale * d / s_dst))), at, element, e);
            }
        });
        first += src.shape()[axis];
    }
}

} // namespace octet::oracle
