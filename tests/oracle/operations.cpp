// The oracle's operations: sections 2 and 7 of doc/arithmetic.md and doc/operators.md, plain loops over the
// definition of each. Accumulators are sums modulo 2^32 of exact products. Start at expect(), at the end.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "oracle/arithmetic.hpp"

namespace octet::oracle {

namespace {

using codes = std::vector<std::uint32_t>; // modulo 2^32

/// Codes less their zero points.
codes centred(const problem &p, const tensor &t, int arg) {
    codes result(t.values.size());
    const auto z = p.attr.zero_points.find(arg);
    for_each(t.shape(), [&](const index &at, std::size_t i) {
        const std::int32_t zero_point = z == p.attr.zero_points.end() ? 0 : masked(z->second, t.shape(), at);
        result[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(t.values[i])) -
                    static_cast<std::uint32_t>(zero_point);
    });
    return result;
}

// ---- 2. accumulators

/// Spatial sizes and parameters as depth, height, width; missing ones are `fill`.
struct triple {
    dim_t v[3];
    triple(const dims &d, std::size_t first, dim_t fill) : v{fill, fill, fill} {
        const std::size_t n = d.size() - first;
        for (std::size_t i = 0; i < n; i++)
            v[3 - n + i] = d[first + i];
    }
    dim_t operator[](int i) const { return v[i]; }
};

/// Calls f(position in the image, position in the window) for each tap of one window inside the image.
template <typename F>
void for_each_tap(const triple &image, const triple &window, const triple &strides, const triple &dilates,
                  const triple &padding, const dim_t *out, F &&f) {
    dim_t tap[3], in[3];
    const auto inside = [&](int d) {
        in[d] = out[d] * strides[d] - padding[d] + tap[d] * (dilates[d] + 1);
        return in[d] >= 0 && in[d] < image[d];
    };
    for (tap[0] = 0; tap[0] < window[0]; tap[0]++) {
        if (!inside(0))
            continue;
        for (tap[1] = 0; tap[1] < window[1]; tap[1]++) {
            if (!inside(1))
                continue;
            for (tap[2] = 0; tap[2] < window[2]; tap[2]++)
                if (inside(2))
                    f((in[0] * image[1] + in[1]) * image[2] + in[2],
                      (tap[0] * window[1] + tap[1]) * window[2] + tap[2]);
        }
    }
}

dim_t volume(const triple &t) { return t[0] * t[1] * t[2]; }

/// Accumulators of a convolution, or of a deconvolution, which scatters what the convolution from dst to
/// src gathers.
codes convolve(const problem &p) {
    const bool transposed = p.kind == primitive_kind::deconvolution;
    const dims src = p.src.shape(), weights = p.weights.shape(), dst = p.dst.shape();
    const std::size_t g0 = p.grouped ? 1 : 0;
    const dim_t groups = p.grouped ? weights[0] : 1, ocs = weights[g0], ics = weights[g0 + 1];
    const triple in(src, 2, 1), out(dst, 2, 1), window(weights, g0 + 2, 1);
    const triple strides(p.strides, 0, 1), dilates(p.dilates, 0, 0), padding(p.padding_l, 0, 0);
    const triple &image = transposed ? out : in, &places = transposed ? in : out;
    const codes x = centred(p, p.src, OCTET_ARG_SRC), w = centred(p, p.weights, OCTET_ARG_WEIGHTS);
    codes acc(p.dst.values.size(), 0);
    const auto at = [](dim_t i) { return static_cast<std::size_t>(i); };
    dim_t place[3];
    for (dim_t n = 0; n < src[0]; n++)
        for (dim_t g = 0; g < groups; g++)
            for (dim_t oc = 0; oc < ocs; oc++)
                for (dim_t ic = 0; ic < ics; ic++) {
                    const std::uint32_t *x0 = &x[at((n * src[1] + g * ics + ic) * volume(in))];
                    const std::uint32_t *w0 = &w[at(((g * ocs + oc) * ics + ic) * volume(window))];
                    std::uint32_t *acc0 = &acc[at((n * dst[1] + g * ocs + oc) * volume(out))];
                    dim_t i = 0;
                    for (place[0] = 0; place[0] < places[0]; place[0]++)
                        for (place[1] = 0; place[1] < places[1]; place[1]++)
                            for (place[2] = 0; place[2] < places[2]; place[2]++, i++)
                                for_each_tap(image, window, strides, dilates, padding, place,
                                             [&](dim_t far, dim_t tap) {
                                                 acc0[transposed ? far : i] +=
                                                     x0[transposed ? i : far] * w0[tap];
                                             });
                }
    return acc;
}

codes inner_product(const problem &p) {
    const codes x = centred(p, p.src, OCTET_ARG_SRC), w = centred(p, p.weights, OCTET_ARG_WEIGHTS);
    const auto batch = static_cast<std::size_t>(p.dst.shape()[0]),
               channels = static_cast<std::size_t>(p.dst.shape()[1]);
    const std::size_t reduction = w.size() / channels;
    codes acc(batch * channels, 0);
    for (std::size_t i = 0; i < acc.size(); i++)
        for (std::size_t k = 0; k < reduction; k++)
            acc[i] += x[i / channels * reduction + k] * w[i % channels * reduction + k];
    return acc;
}

codes multiply(const problem &p) {
    const codes x = centred(p, p.src, OCTET_ARG_SRC), w = centred(p, p.weights, OCTET_ARG_WEIGHTS);
    const dims src = p.src.shape(), weights = p.weights.shape(), dst = p.dst.shape();
    const std::size_t rank = dst.size();
    codes acc(p.dst.values.size(), 0);
    for_each(dst, [&](const index &at, std::size_t i) {
        index row = at, column = at;
        for (dim_t k = 0; k < src[rank - 1]; k++) {
            row[rank - 1] = column[rank - 2] = k;
            acc[i] += x[position(src, row)] * w[position(weights, column)];
        }
    });
    return acc;
}

void dot_product(const problem &p, expectation &e) {
    const codes acc = p.kind == primitive_kind::matmul          ? multiply(p)
                      : p.kind == primitive_kind::inner_product ? inner_product(p)
                                                                : convolve(p);
    const bool is_matmul = p.kind == primitive_kind::matmul;
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        const std::size_t channel = static_cast<std::size_t>(at[is_matmul ? p.dst.shape().size() - 1 : 1]);
        const double *bias = !p.bias.is_set() ? nullptr
                             : is_matmul      ? &p.bias.values[position(p.bias.shape(), at)]
                                              : &p.bias.values[channel];
        finish(p, requantize(p, static_cast<std::int32_t>(acc[i]), bias, channel, at), at, i, e);
    });
}

// ---- 7. reorder

template <typename T>
T of(const std::map<int, masked_values<T>> &m, int arg, T missing, const problem &p, const index &at) {
    const auto found = m.find(arg);
    return found == m.end() ? missing : masked(found->second, p.dst.shape(), at);
}

void reorder(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    const attributes &a = p.attr;
    const bool from_f32 = p.src.type() == data_type::f32;
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        const double code = p.src.values[i];
        const std::int32_t zp = of(a.zero_points, OCTET_ARG_SRC, 0, p, at);
        const float s_src = of(a.scales, OCTET_ARG_SRC, 1.f, p, at),
                    s_dst = of(a.scales, OCTET_ARG_DST, 1.f, p, at);
        float v = static_cast<float>(code);
        if (r == rule::ort_f32 && !from_f32)
            v = static_cast<float>(wrap(static_cast<std::int64_t>(code) - zp));
        else if (a.zero_points.count(OCTET_ARG_SRC))
            v = v - static_cast<float>(zp);
        value x;
        if (r == rule::f32 || r == rule::f32_v3 || r == rule::ort_f32) {
            v = v * s_src;
            if (a.output_scales.is_set())
                v = v * masked(a.output_scales, p.dst.shape(), at);
            x = real(r == rule::ort_f32 && has_scale(p, OCTET_ARG_DST) ? v / s_dst : v);
        } else if (is_tflite(r) && from_f32) {
            x = integer(rha_sat(static_cast<double>(v / s_dst)));
        } else if (r == rule::caffe_double_round && !a.real_scales.is_set()) {
            v = v * s_src;
            x = real(std::round(v / s_dst)); // stays f32, as SNPS-Caffe keeps codes
        } else {
            const std::int32_t acc = wrap(static_cast<std::int64_t>(code) - zp);
            if (is_tflite(r) && !a.multipliers.is_set())
                x = integer(
                    fixed_point(r, acc, q31(r, static_cast<double>(s_src) / static_cast<double>(s_dst))));
            else
                x = requantize(p, acc, nullptr, 0, at);
        }
        finish(p, x, at, i, e);
    });
}

// ---- 7. pooling

/// (x ± n / 2) / n, the sign that of x: truncated, so ties go away from 0.
std::int32_t divided(std::int64_t x, dim_t n) { return wrap((x > 0 ? x + n / 2 : x - n / 2) / n); }

void pooling(const problem &p, expectation &e) {
    const attributes &a = p.attr;
    const rule r = effective_rule(p);
    const dims src = p.src.shape(), dst = p.dst.shape();
    const triple image(src, 2, 1), out(dst, 2, 1), window(p.kernel, 0, 1), strides(p.strides, 0, 1),
        dilates(p.dilates, 0, 0), padding(p.padding_l, 0, 0);
    const std::int64_t zp = zero_point_of(p, OCTET_ARG_SRC);
    const float s_src = scale_of(p, OCTET_ARG_SRC), s_dst = scale_of(p, OCTET_ARG_DST);
    const bool has_multipliers = a.multipliers.is_set() || a.real_scales.is_set() || a.output_scales.is_set();
    for_each(dst, [&](const index &at, std::size_t i) {
        const double *x = &p.src.values[static_cast<std::size_t>((at[0] * src[1] + at[1]) * volume(image))];
        dim_t place[3] = {0, 0, 0}, taps = 0;
        for (std::size_t d = 2; d < dst.size(); d++)
            place[d + 3 - dst.size()] = at[d];
        double largest = -1000;
        std::int64_t sum = 0;
        float real_sum = 0;
        for_each_tap(image, window, strides, dilates, padding, place, [&](dim_t from, dim_t) {
            largest = std::max(largest, x[from]);
            sum += static_cast<std::int64_t>(x[from]);
            real_sum = real_sum + s_src * static_cast<float>(static_cast<std::int64_t>(x[from]) - zp);
            taps++;
        });
        const dim_t n = p.alg == algorithm::pooling_avg_include_padding ? volume(window) : taps;
        const float count = static_cast<float>(n);
        value y;
        if (p.alg == algorithm::pooling_max)
            y = r == rule::f32 || r == rule::f32_v3 || r == rule::ort_f32
                    ? real(static_cast<float>(largest))
                    : integer(static_cast<std::int32_t>(largest));
        else if (is_tflite(r) && a.input_multipliers.count(OCTET_ARG_SRC))
            y = integer(
                divided(fixed_point(r, wrap(sum - n * zp), a.input_multipliers.at(OCTET_ARG_SRC)), n));
        else if (has_multipliers || (zp != 0 && a.scales.empty()))
            y = requantize(p, wrap(sum - zp * taps), nullptr, 0, at);
        else if (is_tflite(r))
            y = integer(divided(sum, n));
        else if (r == rule::ort_f32) {
            const float mean = real_sum / count;
            y = real(mean / s_dst);
        } else if (r == rule::caffe_double_round) {
            const float factor = s_src / (s_dst * count);
            y = integer(rha_sat(static_cast<double>(static_cast<float>(sum - n * zp) * factor)));
        } else
            y = real(static_cast<float>(sum) / count);
        finish(p, y, at, i, e);
    });
}

// ---- 7. binary

std::int32_t tflite_binary(const problem &p, rule r, std::int32_t d0, std::int32_t d1) {
    const auto &inputs = p.attr.input_multipliers;
    const bool given = p.attr.multipliers.is_set();
    const float s0 = scale_of(p, OCTET_ARG_SRC_0), s1 = scale_of(p, OCTET_ARG_SRC_1),
                s_dst = scale_of(p, OCTET_ARG_DST);
    if (p.alg == algorithm::binary_mul) {
        const auto m =
            given ? p.attr.multipliers.values[0]
                  : q31(r, static_cast<double>(s0) * static_cast<double>(s1) / static_cast<double>(s_dst));
        return fixed_point(r, wrap(static_cast<std::int64_t>(d0) * d1), m);
    }
    fixed_point_multiplier m0, m1, m;
    if (given) {
        m0 = inputs.at(OCTET_ARG_SRC_0);
        m1 = inputs.at(OCTET_ARG_SRC_1);
        m = p.attr.multipliers.values[0];
    } else if (p.alg == algorithm::binary_add) {
        const double a = static_cast<double>(s0), b = static_cast<double>(s1), t = 2 * std::max(a, b);
        m0 = q31(r, a / t);
        m1 = q31(r, b / t);
        m = q31(r, t / (1048576. * static_cast<double>(s_dst)));
    } else {
        const float t = 2.f * std::max(s0, s1);
        m0 = q31(r, static_cast<double>(s0 / t));
        m1 = q31(r, static_cast<double>(s1 / t));
        m = q31(r, static_cast<double>(t / (1048576.f * s_dst)));
    }
    const std::int64_t u0 = fixed_point(r, wrap(std::int64_t{1048576} * d0), m0),
                       u1 = fixed_point(r, wrap(std::int64_t{1048576} * d1), m1);
    return fixed_point(r, wrap(p.alg == algorithm::binary_add ? u0 + u1 : u0 - u1), m);
}

/// Beyond s32 the conversion gives its lowest number, and so the lowest code.
double qlinear_store(const problem &p, float t) {
    if (!(std::fabs(t) < 2147483648.f))
        return lowest(p.dst.type());
    return std::min(std::max(std::nearbyint(static_cast<double>(t)), lowest(p.dst.type())),
                    highest(p.dst.type()));
}

/// Whether the two sources of QLinearAdd change places: src_0 does not vary along the innermost axis that
/// is not 1 everywhere.
bool sources_change_places(const dims &a, const dims &b) {
    for (std::size_t d = a.size(); d-- > 0;)
        if (a[d] != 1 || b[d] != 1)
            return a[d] == 1;
    return false;
}

/// XNNPACK's ADD, SUB and MUL of what two codes are above their zero points.
value xnnpack_binary(const problem &p, rule r, std::int32_t d0, std::int32_t d1) {
    const float s0 = scale_of(p, OCTET_ARG_SRC_0), s1 = scale_of(p, OCTET_ARG_SRC_1),
                s_dst = scale_of(p, OCTET_ARG_DST);
    if (p.alg == algorithm::binary_mul) {
        const float s = (s0 * s1) / s_dst;
        if (r == rule::xnnpack_f32)
            return real(static_cast<float>(d0 * d1) * s);
        int exponent = 0; // s = M / 2^t with 24 bits of M
        const auto m =
            static_cast<std::int64_t>(std::ldexp(std::frexp(static_cast<double>(s), &exponent), 24));
        const int t = 24 - exponent;
        return integer(sat(std::floor(std::ldexp(static_cast<long double>(d0) * d1 * m, -t) + 0.5L)));
    }
    const float r0 = s0 / s_dst, r1 = s1 / s_dst;
    const int shift = 20 - std::ilogb(std::max(r0, r1));
    const double m0 = std::nearbyint(std::ldexp(static_cast<double>(r0), shift)),
                 m1 = std::nearbyint(std::ldexp(static_cast<double>(r1), shift)),
                 sum = m0 * d0 + (p.alg == algorithm::binary_sub ? -m1 : m1) * d1;
    return integer(sat(std::floor(std::ldexp(sum, -shift) + 0.5)));
}

void binary(const problem &p, expectation &e) {
    const rule r = effective_rule(p);
    const dims shape0 = p.src.shape(), shape1 = p.weights.shape();
    const float s0 = scale_of(p, OCTET_ARG_SRC_0), s1 = scale_of(p, OCTET_ARG_SRC_1),
                s_dst = scale_of(p, OCTET_ARG_DST);
    const std::int32_t z0 = zero_point_of(p, OCTET_ARG_SRC_0), z1 = zero_point_of(p, OCTET_ARG_SRC_1);
    const auto zp = static_cast<float>(zero_point_of(p, OCTET_ARG_DST));
    const bool swapped = sources_change_places(shape0, shape1);
    for_each(p.dst.shape(), [&](const index &at, std::size_t i) {
        const double x0 = p.src.values[position(shape0, at)], x1 = p.weights.values[position(shape1, at)];
        const auto f0 = static_cast<float>(x0), f1 = static_cast<float>(x1);
        if (r == rule::f32 || r == rule::f32_v3)
            return finish(p, real(binary_op(p.alg, s0 * f0, s1 * f1)), at, i, e);
        const std::int32_t d0 = static_cast<std::int32_t>(x0) - z0, d1 = static_cast<std::int32_t>(x1) - z1;
        if (is_tflite(r))
            return finish(p, integer(tflite_binary(p, r, d0, d1)), at, i, e);
        if (is_xnnpack(r))
            return finish(p, xnnpack_binary(p, r, d0, d1), at, i, e);
        if (r == rule::caffe2_2step) {
            const float r0 = s0 / s_dst, r1 = s1 / s_dst;
            const int sh = 21 - std::ilogb(std::max(r0, r1));
            const auto m0 =
                           static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(r0), sh))),
                       m1 =
                           static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(r1), sh)));
            return finish(p, integer(rdp(wrap(d0 * m0 + d1 * m1), sh)), at, i, e);
        }
        if (r == rule::ort_f32 && p.alg == algorithm::binary_add) {
            const float ra = (swapped ? s1 : s0) / s_dst, rb = (swapped ? s0 : s1) / s_dst;
            const auto za = static_cast<float>(swapped ? z1 : z0), zb = static_cast<float>(swapped ? z0 : z1);
            const float k = zp - std::fma(ra, za, rb * zb);
            e.low[i] = e.high[i] =
                qlinear_store(p, std::fma(swapped ? f1 : f0, ra, std::fma(swapped ? f0 : f1, rb, k)));
        } else if (r == rule::ort_f32 && p.alg == algorithm::binary_mul) {
            const float factor = (s0 * s1) / s_dst;
            const float product = static_cast<float>(d0 * d1) * factor;
            e.low[i] = e.high[i] = qlinear_store(p, product + zp);
        } else {
            const float y =
                binary_op(p.alg, s0 * static_cast<float>(d0), s1 * static_cast<float>(d1)) / s_dst;
            finish(p, real(r == rule::ort_f32 ? y : std::round(y)), at, i, e);
        }
    });
}

} // namespace

expectation expect(const problem &p) {
    expectation e;
    e.low.resize(p.dst.values.size());
    e.high.resize(p.dst.values.size());
    switch (p.kind) {
    case primitive_kind::reorder:
        reorder(p, e);
        break;
    case primitive_kind::pooling:
        pooling(p, e);
        break;
    case primitive_kind::binary:
        binary(p, e);
        break;
    case primitive_kind::eltwise:
    case primitive_kind::prelu:
        per_element(p, e);
        break;
    case primitive_kind::softmax:
        softmax(p, e);
        break;
    case primitive_kind::sum:
        sum(p, e);
        break;
    case primitive_kind::concat:
        concat(p, e);
        break;
    case primitive_kind::resampling:
        resampling(p, e);
        break;
    default:
        dot_product(p, e);
    }
    return e;
}

} // namespace octet::oracle
