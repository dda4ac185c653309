// A line here is a line of the page. Sums, products and quotients of floats are made in binary64 and rounded once to
// binary32, which is the same.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/dynamic.hpp"

namespace octet::oracle::dynamic {

namespace {

using by = source_quantizer;
using order = combination;

float f32(double x) { return static_cast<float>(x); }
double add(double a, double b) { return f32(a + b); }
double mul(double a, double b) { return f32(a * b); }
double quotient(double a, double b) { return f32(a / b); }
double fused(double a, double b, double c) { return std::fma(f32(a), f32(b), f32(c)); }

double to_even(double x) {
    const double down = std::floor(x), rest = x - down;
    if (rest != 0.5)
        return rest < 0.5 ? down : down + 1;
    return std::fmod(down, 2.) == 0 ? down : down + 1;
}
double away(double x) { return x < 0 ? -std::floor(0.5 - x) : std::floor(x + 0.5); }
double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

// ---- quantizers

struct parameters {
    double s = 1, z = 0, r = 0;
    bool is_constant = false; ///< every code is z
};

struct range {
    double lo = 0, hi = 0, a = 0;
    bool is_finite = true;
};
range range_of(const float *x, dim_t count) {
    range e;
    for (dim_t i = 0; i < count; i++) {
        e.is_finite = e.is_finite && std::isfinite(x[i]);
        e.lo = std::min(e.lo, double{x[i]});
        e.hi = std::max(e.hi, double{x[i]});
    }
    e.a = std::max(-e.lo, e.hi);
    return e;
}

parameters of_octet(const source_quantization &q, const range &e) {
    const double least = std::ldexp(1., -120), mid = q.code == data_type::u8 ? 128 : 0,
                 qmin = q.code == data_type::u8 ? 0 : -128;
    if (!e.is_finite)
        return {std::numeric_limits<double>::quiet_NaN(), mid, 0, true};
    if (q.mode == source_mode::symmetric) {
        if (e.a < least)
            return {1, mid, 0, true};
        return {quotient(e.a, 127), mid, quotient(127, e.a)};
    }
    const double d = e.hi - e.lo; // in binary64
    if (d < least)
        return {1, mid, 0, true};
    return {f32(d / 255), qmin + to_even(-e.lo * 255 / d), f32(255 / d)};
}

parameters of_xnnpack(const range &e) {
    const double r = e.lo == e.hi ? 1 : quotient(255, add(e.hi, -e.lo)), s = quotient(1, r), l = mul(e.lo, r),
                 h = mul(e.hi, r);
    const double z = add(add(-128, l), add(127, h)) > 0 ? add(-128, -l) : add(127, -h);
    return {s, to_even(within(z, -128, 127)), r};
}

parameters of_litert(const source_quantization &q, const range &e) {
    if (q.mode == source_mode::symmetric) {
        if (e.a == 0)
            return {1, 0, 0, true};
        return {quotient(e.a, 127), 0, quotient(127, e.a)};
    }
    if (e.lo == e.hi)
        return {1, 0, 0, true};
    const double S = (e.hi - e.lo) / 255, s = f32(S);
    const double z = 128 + std::fabs(e.lo / S) < 127 + std::fabs(e.hi / S) ? -128 - e.lo / S : 127 - e.hi / S;
    return {s, z <= -128 ? -128 : z >= 127 ? 127 : away(z), quotient(1, s)};
}

parameters of_onnxruntime(const range &e) {
    const double s = e.lo == e.hi ? 1 : quotient(add(e.hi, -e.lo), 255);
    return {s, to_even(within(add(0, -quotient(e.lo, s)), 0, 255)), s};
}

parameters of_qnnpack(range e) {
    const float least = 6.1e-5f;
    double s = f32((e.hi - e.lo) / 255);
    if (s == 0 || std::isinf(f32(1 / s)))
        s = 0.1f;
    if (s < least) {
        const double amplifier = quotient(least, s);
        s = least;
        if (e.lo == 0)
            e.hi = mul(least, 255);
        else if (e.hi == 0)
            e.lo = mul(-least, 255);
        else {
            e.lo = mul(e.lo, amplifier);
            e.hi = mul(e.hi, amplifier);
        }
    }
    const double below = e.lo / s, above = e.hi / s;
    const double z = std::fabs(below) < 255 + std::fabs(above) ? -below : 255 - above;
    return {s, to_even(within(z, 0, 255)), quotient(1, s)};
}

parameters of_ggml(const source_quantization &q, const range &e) {
    const double s = quotient(e.a, 127);
    if (e.a == 0)
        return {0, 0, 0, true};
    if (q.by == by::ggml_avx2)
        return {s, 0, quotient(127, e.a)};
    return {s, 0, s != 0 ? quotient(1, s) : 0};
}

parameters parameters_of(const source_quantization &q, const float *x, dim_t count) {
    const range e = range_of(x, count);
    switch (q.by) {
    case by::dynamic:
        return of_octet(q, e);
    case by::xnnpack:
    case by::kleidiai:
        return of_xnnpack(e);
    case by::litert:
        return of_litert(q, e);
    case by::onnxruntime:
        return of_onnxruntime(e);
    case by::qnnpack:
        return of_qnnpack(e);
    default:
        return of_ggml(q, e);
    }
}

double code_of(const source_quantization &q, const parameters &p, double x) {
    if (p.is_constant)
        return p.z;
    const double low = q.code == data_type::u8 ? 0 : -128, high = low + 255;
    switch (q.by) {
    case by::onnxruntime:
        return within(to_even(quotient(x, p.r)) + p.z, low, high);
    case by::kleidiai:
        return within(away(mul(x, p.r)) + p.z, low, high);
    case by::litert:
        if (q.mode == source_mode::symmetric)
            return within(away(mul(x, p.r)), -127, 127);
        return within(away(add(p.z, mul(x, p.r))), low, high);
    case by::ggml:
        return within(away(mul(x, p.r)), -127, 127);
    default:
        return within(to_even(mul(x, p.r)) + p.z, low, high);
    }
}

// ---- one result

/// A row of codes and a column of weights minus their zero points.
struct dot {
    const product &p;
    const double *codes; ///< {K}
    const parameters *of_row;
    bool has_groups; ///< parameters for each group
    std::vector<double> w;
    const float *scales; ///< {G}
    const float *bias;

    const parameters &x(dim_t g) const { return of_row[has_groups ? g : 0]; }
    double s(dim_t g) const { return scales[g]; }
    double c() const { return bias ? *bias : 0.; }
    dim_t end(dim_t g) const { return std::min(p.k, (g + 1) * p.group); }
    /// An exact integer.
    double sum(dim_t begin, dim_t past, double z) const {
        double all = 0;
        for (dim_t i = begin; i < past; i++)
            all += (codes[i] - z) * w[static_cast<std::size_t>(i)];
        return all;
    }
    double of_weights(dim_t begin, dim_t past) const {
        double all = 0;
        for (dim_t i = begin; i < past; i++)
            all += w[static_cast<std::size_t>(i)];
        return all;
    }
    double acc(dim_t g) const { return f32(sum(g * p.group, end(g), x(g).z)); }
    double all() const { return f32(sum(0, p.k, x(0).z)); }
};

double by_octet_in_groups(const dot &d) {
    double a = 0;
    for (dim_t g = 0; g < d.p.groups(); g++)
        a = fused(d.acc(g), d.has_groups ? mul(d.x(g).s, d.s(g)) : d.s(g), a);
    if (d.has_groups)
        return d.bias ? add(a, *d.bias) : a;
    return d.bias ? fused(a, d.x(0).s, *d.bias) : mul(a, d.x(0).s);
}

/// dynamic.md, section 5; `step` is twice what a kernel takes of a column at once.
double ksum(const dot &d, dim_t step) {
    double sum = 0;
    for (dim_t j = 0; j < d.p.k; j += step)
        sum = add(sum, -(d.of_weights(j, j + step) * d.s(j / d.p.group)));
    return sum;
}

double by_xnnpack_in_groups(const dot &d, order o) {
    const auto sixteenth = [&](dim_t g) { return f32(d.s(g) / 16); };
    const double z = d.x(0).z, s = d.x(0).s;
    if (o == order::xnnpack_groups) {
        double a = mul(ksum(d, 16), z + 128);
        for (dim_t g = 0; g < d.p.groups(); g++)
            a = fused(16 * d.sum(g * d.p.group, d.end(g), -128), sixteenth(g), a);
        return add(mul(a, s), d.c());
    }
    if (o == order::xnnpack_groups_avx2) {
        double a[4];
        for (dim_t l = 0; l < 4; l++) {
            a[l] = l == 0 ? mul(ksum(d, 16), z) : mul(0, z);
            for (dim_t g = 0; g < d.p.groups(); g++) {
                double part = 0;
                for (dim_t k = g * d.p.group; k < d.end(g); k++)
                    if (k % 8 / 2 == l)
                        part += d.sum(k, k + 1, 0);
                a[l] = fused(16 * part, sixteenth(g), a[l]);
            }
        }
        return fused(add(add(a[0], a[1]), add(a[2], a[3])), s, d.c());
    }
    double a = mul(ksum(d, o == order::xnnpack_groups_sse ? 16 : 2), z);
    for (dim_t g = 0; g < d.p.groups(); g++)
        a = add(a, mul(f32(16 * d.sum(g * d.p.group, d.end(g), 0)), sixteenth(g)));
    return add(mul(a, s), d.c());
}

double by_kleidiai_in_groups(const dot &d, dim_t h) {
    double sums = 0, a = 0;
    for (dim_t j = 0; j < d.p.k; j += 32)
        for (dim_t i = 0; i < 16; i += h)
            sums = add(sums, mul(d.of_weights(j + i, j + i + h) + d.of_weights(j + 16 + i, j + 16 + i + h),
                                 d.s(j / d.p.group)));
    for (dim_t g = 0; g < d.p.groups(); g++)
        a = fused(f32(d.sum(g * d.p.group, d.end(g), 0)), d.s(g), a);
    a = fused(sums, -d.x(0).z, a);
    return add(mul(a, d.x(0).s), d.c());
}

double by_ggml(const dot &d, order o) {
    if (o == order::ggml_avx2) {
        double a[8] = {};
        for (dim_t g = 0; g < d.p.groups(); g++)
            for (dim_t l = 0; l < 8; l++) {
                const dim_t first = g * 32 + 4 * l;
                a[l] = fused(mul(d.s(g), d.x(g).s), d.sum(first, first + 4, 0), a[l]);
            }
        double r[4];
        for (int l = 0; l < 4; l++)
            r[l] = add(a[l + 4], a[l]);
        return add(add(add(r[0], r[2]), add(r[1], r[3])), d.c());
    }
    double sum = 0;
    for (dim_t g = 0; g < d.p.groups(); g++)
        sum = add(sum, o == order::ggml_q8_0 ? mul(d.acc(g), mul(d.s(g), d.x(g).s))
                                             : mul(mul(d.acc(g), d.s(g)), d.x(g).s));
    return add(sum, d.c());
}

double combined(const dot &d) {
    const double s = d.x(0).s;
    switch (d.p.order) {
    case order::dynamic_row:
        return d.bias ? fused(d.all(), mul(s, d.s(0)), *d.bias) : mul(d.all(), mul(s, d.s(0)));
    case order::dynamic_group:
        return by_octet_in_groups(d);
    case order::xnnpack:
        return fused(mul(d.all(), s), d.s(0), d.c());
    case order::xnnpack_unfused:
        return add(mul(mul(d.all(), s), d.s(0)), d.c());
    case order::kleidiai:
        return add(mul(d.all(), mul(d.s(0), s)), d.c());
    case order::litert:
    case order::qnnpack:
        return add(d.c(), mul(d.all(), mul(s, d.s(0))));
    case order::onnxruntime: {
        const double y = mul(d.all(), mul(s, d.s(0)));
        return d.bias ? add(y, *d.bias) : y;
    }
    case order::kleidiai_groups:
        return by_kleidiai_in_groups(d, 8);
    case order::kleidiai_groups_of_4:
        return by_kleidiai_in_groups(d, 4);
    case order::ggml_q8_0:
    case order::ggml_q4_0:
    case order::ggml_avx2:
        return by_ggml(d, d.p.order);
    default:
        return by_xnnpack_in_groups(d, d.p.order);
    }
}

/// Post-ops, then the type of dst; codes as the rule f32_v3 of doc/arithmetic.md.
float stored(const product &p, double y, dim_t index) {
    if (p.has_relu)
        y = y > 0 ? y : 0; // of NaN too
    if (!p.addend.empty())
        y = add(y, p.addend[static_cast<std::size_t>(index)]);
    if (p.dst != data_type::s8 && p.dst != data_type::u8)
        return rounded(f32(y), p.dst);
    y = mul(y, quotient(1, p.dst_scale));
    if (p.dst_zero_point)
        y = add(y, *p.dst_zero_point);
    const double low = p.dst == data_type::u8 ? 0 : -128;
    return f32(within(to_even(within(y, -1e6, 1e6)), low, low + 255));
}

} // namespace

float rounded(float x, data_type type) {
    if (type == data_type::f32 || !std::isfinite(x) || x == 0)
        return x;
    const bool is_half = type == data_type::f16;
    const int bits = is_half ? 11 : 8, least = is_half ? -14 : -126;
    int exponent;
    std::frexp(x, &exponent); // x = f * 2^exponent, 1/2 <= f < 1
    const double unit = std::ldexp(1., std::max(exponent - 1, least) - (bits - 1));
    const double y = to_even(x / unit) * unit;
    const double largest = is_half ? 65504. : static_cast<double>(0x1.fep127f);
    if (std::fabs(y) > largest)
        return std::copysign(std::numeric_limits<float>::infinity(), x);
    return std::copysign(f32(y), x);
}

std::vector<float> result(const product &p) {
    const dim_t groups = p.groups(), of_zero_points = static_cast<dim_t>(p.zero_points.size()) / p.n;
    const bool is_tensor = p.source.span == source_span::tensor,
               has_groups = p.source.span == source_span::group;
    std::vector<parameters> all;
    std::vector<double> codes(p.x.size());
    const dim_t unit = is_tensor ? p.m * p.k : has_groups ? p.group : p.k, row = is_tensor ? p.m * p.k : p.k;
    for (dim_t first = 0; first < p.m * p.k; first += row)
        for (dim_t i = first; i < first + row; i += unit) {
            const dim_t count = std::min(unit, first + row - i);
            all.push_back(parameters_of(p.source, &p.x[static_cast<std::size_t>(i)], count));
            for (dim_t j = i; j < i + count; j++)
                codes[static_cast<std::size_t>(j)] =
                    code_of(p.source, all.back(), p.x[static_cast<std::size_t>(j)]);
            if (p.source.by == by::ggml || p.source.by == by::ggml_avx2)
                all.back().s = rounded(f32(all.back().s), data_type::f16);
        }
    const bool is_zero = std::all_of(p.x.begin(), p.x.end(), [](float x) { return x == 0; });
    std::vector<float> y;
    for (dim_t m = 0; m < p.m; m++)
        for (dim_t n = 0; n < p.n; n++) {
            dot d{p,
                  &codes[static_cast<std::size_t>(m * p.k)],
                  &all[static_cast<std::size_t>(is_tensor ? 0 : m * (has_groups ? groups : 1))],
                  has_groups,
                  {},
                  &p.scales[static_cast<std::size_t>(n * groups)],
                  p.bias.empty() ? nullptr : &p.bias[static_cast<std::size_t>(n)]};
            for (dim_t i = 0; i < p.k; i++) {
                const dim_t g = of_zero_points > 1 ? i / p.group : 0;
                d.w.push_back(
                    p.w[static_cast<std::size_t>(n * p.k + i)] -
                    (of_zero_points ? p.zero_points[static_cast<std::size_t>(n * of_zero_points + g)] : 0));
            }
            const bool is_bias_alone = p.order == order::litert && is_zero;
            y.push_back(stored(p, is_bias_alone ? d.c() : combined(d), m * p.n + n));
        }
    return y;
}

} // namespace octet::oracle::dynamic
