// The oracle's arithmetic: doc/arithmetic.md, sections 1 and 3 to 6, in that order and with its names;
// functions.cpp has those of doc/eltwise.md. It is written from these pages and from the definitions they cite, one
// element at a time, and shares no line with the library (only the public headers' descriptors and
// enumerations): a mistake in the one is no mistake in the other. Where the pages give every operation the
// oracle gives the bits; where they give a formula and an error (exp, tanh, …: a fixed sequence whose
// coefficients are not on the page) it gives an interval around the value in long double. Float operations
// are plain C++ ones: without -mfma the compiler has nothing to fuse them with.
// SPDX-License-Identifier: Apache-2.0
#include "oracle/arithmetic.hpp"

#include <algorithm>
#include <limits>

namespace octet::oracle {

namespace {
constexpr std::int32_t s32_min = std::numeric_limits<std::int32_t>::min(),
                       s32_max = std::numeric_limits<std::int32_t>::max();
__extension__ using wide = __int128;

wide floor_shift(wide x, int s) { return x >> s; }
std::int32_t sat_wide(wide x) {
    return x > s32_max ? s32_max : x < s32_min ? s32_min : static_cast<std::int32_t>(x);
}
} // namespace

// ---- 1. terms

std::int32_t wrap(std::int64_t x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }
std::int32_t sat(double x) {
    return x >= 2147483647. ? s32_max : x <= -2147483648. ? s32_min : static_cast<std::int32_t>(x);
}
std::int32_t rne_sat(float x) {
    return std::isnan(x) ? s32_min : sat(std::nearbyint(static_cast<double>(x)));
}
std::int32_t rha_sat(double x) { return std::isnan(x) ? s32_min : sat(std::round(x)); }
std::int32_t srdhm(std::int32_t a, std::int32_t b) {
    return sat_wide(floor_shift(static_cast<wide>(a) * b + (1 << 30), 31));
}
std::int32_t rdp(std::int32_t x, int e) {
    if (e > 31)
        return 0;
    const double quotient = std::ldexp(static_cast<double>(x), -e);
    return static_cast<std::int32_t>(std::round(quotient));
}
double lowest(data_type type) {
    switch (type) {
    case data_type::u8:
        return 0;
    case data_type::s8:
        return -128;
    case data_type::s16:
        return -32768;
    default:
        return s32_min;
    }
}
double highest(data_type type) {
    switch (type) {
    case data_type::u8:
        return 255;
    case data_type::s8:
        return 127;
    case data_type::s16:
        return 32767;
    default:
        return s32_max;
    }
}

// ---- 3. rules

bool is_tflite(rule r) {
    return r == rule::tflite_2step || r == rule::tflite_1step || r == rule::tflite_single_rounding;
}

std::int32_t fixed_point(rule r, std::int32_t x, const fixed_point_multiplier &m) {
    const int e = m.shift;
    const wide product = static_cast<wide>(x) * m.multiplier;
    switch (r) {
    case rule::tflite_2step: {
        const std::int32_t shifted = wrap(static_cast<std::int64_t>(x) * (std::int64_t{1} << std::max(e, 0)));
        return rdp(srdhm(shifted, m.multiplier), std::max(-e, 0));
    }
    case rule::tflite_single_rounding:
    case rule::tflite_1step:
        return wrap(
            static_cast<std::int64_t>(floor_shift(product + (static_cast<wide>(1) << (30 - e)), 31 - e)));
    case rule::caffe2_2step:
    case rule::gemmlowp_fixedpoint:
        return rdp(srdhm(x, m.multiplier), e);
    case rule::gemmlowp_fixedpoint_exponent: {
        const std::int32_t shifted =
            sat_wide(static_cast<wide>(x) * (static_cast<wide>(1) << std::max(e, 0)));
        return rdp(srdhm(shifted, m.multiplier), std::max(-e, 0));
    }
    case rule::gemmlowp_legacy_scale: {
        const std::int64_t sum = wrap(static_cast<std::int64_t>(x) + m.offset);
        return rdp(wrap(sum * m.multiplier), e);
    }
    case rule::rounded_shift:
        return e > 0    ? sat_wide(floor_shift(product + (static_cast<wide>(1) << (e - 1)), e))
               : e == 0 ? sat_wide(product)
                        : sat_wide(product * (static_cast<wide>(1) << -e));
    case rule::qnnpack_avgpool:
        return wrap(static_cast<std::int64_t>(
            floor_shift(product - (x < 0 ? 1 : 0) + (static_cast<wide>(1) << (e - 1)), e)));
    case rule::xnnpack_rndnu: // litert_default.md, section 5: one rounding, ties up
        return sat_wide(floor_shift(product + (static_cast<wide>(1) << (e - 1)), e));
    case rule::ruy_2step: { // section 4.1: both roundings up
        const std::int32_t shifted = wrap(static_cast<std::int64_t>(x) * (std::int64_t{1} << std::max(e, 0)));
        const wide v =
            floor_shift(static_cast<wide>(shifted) * m.multiplier + (static_cast<wide>(1) << 30), 31);
        return static_cast<std::int32_t>(e < 0 ? floor_shift(v + (static_cast<wide>(1) << (-e - 1)), -e) : v);
    }
    case rule::half_away_1step: {
        const wide magnitude = product < 0 ? -product : product;
        const wide rounded = floor_shift(magnitude + (static_cast<wide>(1) << (30 - e)), 31 - e);
        return wrap(static_cast<std::int64_t>(product < 0 ? -rounded : rounded));
    }
    case rule::ev_rte15:
        return sat_wide(
            floor_shift(product + (floor_shift(product, e) & 1) + (static_cast<wide>(1) << (e - 1)) - 1, e));
    default:
        return 0; // no multiplier
    }
}

std::int32_t signed_fixed_point(rule r, std::int32_t x, fixed_point_multiplier m) {
    if (m.multiplier >= 0)
        return fixed_point(r, x, m);
    m.multiplier = -m.multiplier;
    return sat(-static_cast<double>(fixed_point(r, x, m)));
}

float to_f32(const value &x) { return x.is_integer ? static_cast<float>(x.i) : x.f; }
std::int32_t to_s32(const value &x) { return x.is_integer ? x.i : rne_sat(x.f); }

rule effective_rule(const problem &p) {
    const attributes &a = p.attr;
    if (a.rule != rule::automatic)
        return a.rule;
    if (!a.scales.empty())
        return rule::f32_v3;
    const bool has_accumulators =
        p.kind == primitive_kind::convolution || p.kind == primitive_kind::deconvolution ||
        p.kind == primitive_kind::inner_product || p.kind == primitive_kind::matmul ||
        (p.kind == primitive_kind::reorder && p.src.type() != data_type::f32);
    const bool adds_integers = !p.bias.is_set() || p.bias.type() != data_type::f32;
    if (has_accumulators && p.dst.type() == data_type::s32 && !a.output_scales.is_set() &&
        a.post_ops.empty() && adds_integers)
        return rule::none;
    return rule::f32;
}

float scale_of(const problem &p, int arg) {
    const auto found = p.attr.scales.find(arg);
    return found == p.attr.scales.end() ? 1.f : found->second.values[0];
}
std::int32_t zero_point_of(const problem &p, int arg) {
    const auto found = p.attr.zero_points.find(arg);
    return found == p.attr.zero_points.end() ? 0 : found->second.values[0];
}

namespace {

std::int32_t caffe_double_round(std::int32_t acc, double scale, bool is_f32) {
    int exponent;
    const double m = std::frexp(scale, &exponent); // r = -exponent
    const float x = static_cast<float>(acc);
    const double product =
        is_f32 ? static_cast<double>(x * static_cast<float>(m)) : static_cast<double>(x) * m;
    const float first = static_cast<float>(std::round(product));
    return rha_sat(static_cast<double>(std::ldexp(first, exponent)));
}

float float_rule(const problem &p, rule r, std::int32_t acc, const double *bias, std::size_t channel,
                 const index &at) {
    const attributes &a = p.attr;
    const auto weights_scales = a.scales.find(OCTET_ARG_WEIGHTS);
    const float s_src = scale_of(p, OCTET_ARG_SRC);
    const float s_w = weights_scales == a.scales.end() ? 1.f
                      : weights_scales->second.mask    ? weights_scales->second.values[channel]
                                                       : weights_scales->second.values[0];
    const float output_scale = a.output_scales.is_set() ? masked(a.output_scales, p.dst.shape(), at) : 1.f;
    if (r == rule::f32 || r == rule::fbgemm_f32) {
        const float x = static_cast<float>(acc);
        return (bias ? x + static_cast<float>(*bias) : x) * output_scale;
    }
    if (r == rule::f32_v3) {
        float x = static_cast<float>(acc);
        if (p.kind == primitive_kind::matmul) {
            x = x * s_src;
            x = x * s_w;
        } else {
            const float product = s_src * s_w;
            x = x * product;
        }
        return bias ? x + static_cast<float>(*bias) : x;
    }
    if (a.output_scales.is_set())
        return static_cast<float>(acc) * output_scale;
    const auto dst_scales = a.scales.find(OCTET_ARG_DST);
    const float s_dst = dst_scales == a.scales.end() ? 1.f : masked(dst_scales->second, p.dst.shape(), at);
    const float product = s_src * s_w;
    const float quotient = product / s_dst;
    return static_cast<float>(acc) * quotient;
}

} // namespace

value requantize(const problem &p, std::int32_t acc, const double *bias, std::size_t channel,
                 const index &at) {
    const rule r = effective_rule(p);
    if (r == rule::f32 || r == rule::f32_v3 || r == rule::fbgemm_f32)
        return real(float_rule(p, r, acc, bias, channel, at));
    if (bias)
        acc = wrap(static_cast<std::int64_t>(acc) + static_cast<std::int64_t>(*bias));
    switch (r) {
    case rule::ort_f32:
    case rule::xnnpack_f32:
        return real(float_rule(p, r, acc, nullptr, channel, at));
    case rule::none:
        return integer(acc);
    case rule::caffe_double_round:
        return integer(caffe_double_round(acc, masked(p.attr.real_scales, p.dst.shape(), at),
                                          p.attr.real_scales_are_f32));
    case rule::f64_scale:
        return integer(
            sat(std::nearbyint(static_cast<double>(acc) * masked(p.attr.real_scales, p.dst.shape(), at))));
    case rule::f64_half_away:
        return integer(
            sat(std::round(static_cast<double>(acc) * masked(p.attr.real_scales, p.dst.shape(), at))));
    case rule::onnx_f64: { // rne(acc * M + zp); the integer is without zp, which store adds again
        const auto zero_points = p.attr.zero_points.find(OCTET_ARG_DST);
        const double zp =
            zero_points == p.attr.zero_points.end() ? 0 : masked(zero_points->second, p.dst.shape(), at);
        const double product = static_cast<double>(acc) * masked(p.attr.real_scales, p.dst.shape(), at);
        return integer(sat(std::nearbyint(product + zp) - zp));
    }
    default:
        return integer(fixed_point(r, acc, masked(p.attr.multipliers, p.dst.shape(), at)));
    }
}

// ---- 4. multipliers

fixed_point_multiplier q31(rule r, double m) {
    if (m == 0)
        return {};
    int e;
    auto q = static_cast<std::int64_t>(std::round(std::ldexp(std::frexp(m, &e), 31)));
    if (q == std::int64_t{1} << 31) {
        q /= 2;
        e++;
    }
    if (e < -31)
        return {};
    if (r == rule::tflite_single_rounding && e > 30)
        return {s32_max, 30};
    return {static_cast<std::int32_t>(q), e};
}

// ---- 5. post-ops

namespace {

/// One element on its way through the chain.
struct chain {
    const problem &p;
    const index &at;
    std::size_t element;
    int op = 0; ///< index of the post-op

    double before(data_type type) const { // dst's code, read as another 8-bit type where one is given
        const double y = p.dst.values[element];
        if (type == data_type::u8 && p.dst.type() == data_type::s8)
            return y < 0 ? y + 256 : y;
        if (type == data_type::s8 && p.dst.type() == data_type::u8)
            return y > 127 ? y - 256 : y;
        return y;
    }
    std::int32_t dst_zero_point() const {
        const auto z = p.attr.zero_points.find(OCTET_ARG_DST);
        return z == p.attr.zero_points.end() ? 0 : masked(z->second, p.dst.shape(), at);
    }
    double operand() const {
        const tensor &t = p.attr.post_op_tensors[static_cast<std::size_t>(op)];
        return t.values[position(t.shape(), at)];
    }
    std::int32_t code(const value &x, std::int32_t zero_point) const {
        const double c = static_cast<double>(to_s32(x)) + zero_point;
        return static_cast<std::int32_t>(std::min(std::max(c, lowest(p.dst.type())), highest(p.dst.type())));
    }

    value apply(const post_op::sum &s, const value &x) const {
        const float y = static_cast<float>(before(s.type)) - static_cast<float>(s.zero_point);
        if (p.kind == primitive_kind::reorder)
            return real(to_f32(x) + s.scale * y);
        return real(std::fma(s.scale, y, to_f32(x)));
    }
    value apply(const post_op::binary &b, const value &x) const {
        return real(binary_op(b.algorithm, to_f32(x), static_cast<float>(operand())));
    }
    value apply(const post_op::prelu &, const value &x) const {
        const float f = to_f32(x);
        return real(f >= 0.f ? f : f * static_cast<float>(operand()));
    }
    value apply(const post_op::clip &c, const value &x) const {
        return integer(std::min(std::max(to_s32(x), c.low), c.high));
    }
    value apply(const post_op::add &a, const value &x) const {
        return integer(sat(static_cast<double>(to_s32(x)) + a.value));
    }
    value apply(const post_op::rescaled_sum &s, const value &x) const {
        const std::int32_t y = wrap(static_cast<std::int64_t>(before(s.type)) - s.zero_point);
        return integer(sat(static_cast<double>(to_s32(x)) + signed_fixed_point(s.rule, y, s.multiplier)));
    }
    value apply(const post_op::leaky_relu &l, const value &x) const {
        const std::int32_t i = to_s32(x);
        return integer(i >= 0 ? fixed_point(l.rule, i, l.identity) : signed_fixed_point(l.rule, i, l.alpha));
    }
    value apply(const post_op::qlinear_add &q, const value &x) const {
        const auto c = static_cast<float>(code(x, q.zero_point));
        const auto y = static_cast<float>(before(data_type::undef));
        return real(q.is_second ? std::fma(y, q.dst_scale, std::fma(c, q.scale, q.shift))
                                : std::fma(c, q.scale, std::fma(y, q.dst_scale, q.shift)));
    }
    value apply(const post_op::scaled_add &s, const value &x) const {
        const std::int64_t c = code(x, s.zero_point) - s.zero_point;
        const auto y = static_cast<std::int64_t>(before(data_type::undef)) - s.dst_zero_point;
        if (s.rule == rule::xnnpack_f32) { // one rounding, ties up
            const double exact =
                static_cast<double>(c * s.multipliers.a.multiplier + y * s.multipliers.b.multiplier);
            return integer(sat(std::floor(std::ldexp(exact, -s.multipliers.dst.shift) + 0.5)));
        }
        const std::int64_t sum =
            static_cast<std::int64_t>(fixed_point(s.rule, wrap(c * 1048576), s.multipliers.a)) +
            fixed_point(s.rule, wrap(y * 1048576), s.multipliers.b);
        return integer(fixed_point(s.rule, wrap(sum), s.multipliers.dst));
    }
    value apply(const post_op::table &t, const value &x) const {
        const double entry =
            std::min(std::max<double>(to_s32(x), lowest(t.type)), highest(t.type)) - lowest(t.type);
        const std::uint8_t read = t.entries[static_cast<std::size_t>(entry)];
        return integer(t.type == data_type::u8 ? read : static_cast<std::int8_t>(read));
    }
    value apply(const post_op::eltwise &, const value &x) const { return x; }   // an interval: finish()
    value apply(const post_op::depthwise &, const value &x) const { return x; } // not drawn
};

/// Whether a stage keeps the order of values.
bool is_monotone(const post_op_entry &stage) {
    if (const auto *b = std::get_if<post_op::binary>(&stage))
        return b->algorithm == algorithm::binary_add || b->algorithm == algorithm::binary_sub ||
               b->algorithm == algorithm::binary_max || b->algorithm == algorithm::binary_min;
    return std::holds_alternative<post_op::sum>(stage) || std::holds_alternative<post_op::clip>(stage) ||
           std::holds_alternative<post_op::add>(stage);
}

// ---- 6. store

double store(const problem &p, value x, const index &at) {
    const data_type type = p.dst.type();
    const auto zero_points = p.attr.zero_points.find(OCTET_ARG_DST);
    const bool has_zero_point = zero_points != p.attr.zero_points.end();
    const std::int32_t zp = has_zero_point ? masked(zero_points->second, p.dst.shape(), at) : 0;
    if (type == data_type::f32) {
        const float f = to_f32(x);
        return static_cast<double>(has_zero_point ? f + static_cast<float>(zp) : f);
    }
    const double qmin = lowest(type), qmax = highest(type);
    if (x.is_integer)
        return std::min(std::max(static_cast<double>(x.i) + zp, qmin), qmax);
    // QLinearAveragePool adds the zero point before it rounds, as f32 does.
    const bool is_average_of_reals = p.kind == primitive_kind::pooling && has_scale(p, OCTET_ARG_SRC);
    const rule of = effective_rule(p);
    const bool rounds_first = of == rule::ort_f32 || of == rule::xnnpack_f32 || of == rule::fbgemm_f32;
    if (rounds_first && !is_average_of_reals) {
        const auto low = static_cast<float>(qmin - zp), high = static_cast<float>(qmax - zp);
        const float limited = std::isnan(x.f) ? low : std::min(std::max(x.f, low), high);
        return std::min(std::max(std::nearbyint(static_cast<double>(limited)) + zp, qmin), qmax);
    }
    const double largest = type == data_type::s32 ? 2147483520. : qmax; // the largest f32 below 2^31
    const float f = has_zero_point ? x.f + static_cast<float>(zp) : x.f;
    if (std::isnan(f))
        return type == data_type::u8 ? 0 : largest;
    return std::nearbyint(std::min(std::max(static_cast<double>(f), qmin), largest));
}

bool same(const value &a, const value &b) {
    return a.is_integer == b.is_integer && a.i == b.i &&
           ((a.f == b.f && std::signbit(a.f) == std::signbit(b.f)) || (std::isnan(a.f) && std::isnan(b.f)));
}

} // namespace

void finish(const problem &p, const value &first_low, const value &first_high, const index &at,
            std::size_t element, expectation &e) {
    value low = first_low, high = first_high;
    chain c{p, at, element};
    for (const post_op_entry &stage : p.attr.post_ops) {
        const bool is_interval = !same(low, high);
        if (const auto *f = std::get_if<post_op::eltwise>(&stage)) {
            e.is_known = e.is_known && (!is_interval || f->algorithm == algorithm::eltwise_clip);
            const bounds b = eltwise(f->algorithm, f->alpha, f->beta, to_f32(low)),
                         b2 = is_interval ? eltwise(f->algorithm, f->alpha, f->beta, to_f32(high)) : b;
            low = real(f->scale * b.low);
            high = real(f->scale * b2.high);
            if (f->scale < 0)
                std::swap(low, high);
        } else {
            e.is_known = e.is_known && (!is_interval || is_monotone(stage));
            low = std::visit([&](const auto &s) { return c.apply(s, low); }, stage);
            high = is_interval ? std::visit([&](const auto &s) { return c.apply(s, high); }, stage) : low;
        }
        c.op++;
    }
    const auto dst_scales = p.attr.scales.find(OCTET_ARG_DST);
    if (effective_rule(p) == rule::f32_v3 && dst_scales != p.attr.scales.end() && !low.is_integer) {
        const float reciprocal = 1.f / masked(dst_scales->second, p.dst.shape(), at);
        low.f = low.f * reciprocal;
        high.f = high.f * reciprocal;
    }
    e.low[element] = store(p, low, at);
    e.high[element] = store(p, high, at);
}

} // namespace octet::oracle
