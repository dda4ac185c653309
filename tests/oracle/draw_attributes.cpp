// Random tensors and attributes: layouts, numbers, scales, multipliers, zero points.
// Factors are drawn so that most codes lie inside the range of 8 bits; some are not.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "oracle/draw.hpp"

namespace octet::oracle {

dim_t volume(const dims &d) { return std::accumulate(d.begin(), d.end(), dim_t{1}, std::multiplies<>()); }

dim_t draw_channels(random_source &r) {
    return r.pick<dim_t>(
        {1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 80, 96, 100, 128, 130, 160, 192, 200});
}

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Row-major, channels-last, or any order with gaps.
memory::desc draw_desc(random_source &r, const dims &shape, data_type type, bool may_be_any) {
    const std::size_t rank = shape.size();
    if (may_be_any && r.chance(40))
        return {shape, type, memory::format_tag::any};
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    const int kind = static_cast<int>(r.between(0, 9));
    if (kind >= 4 && kind < 8 && rank > 2)
        std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    if (kind >= 8)
        for (std::size_t d = rank; d > 1; d--)
            std::swap(order[d - 1],
                      order[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(d) - 1))]);
    const bool has_gaps = r.chance(15);
    dims strides(rank);
    dim_t stride = 1;
    for (std::size_t d = rank; d-- > 0;) {
        strides[order[d]] = stride;
        stride *= shape[order[d]];
        if (has_gaps && r.chance(40))
            stride += r.between(1, 5);
    }
    memory::desc result(shape, type, strides);
    if (r.chance(5))
        result.data.offset0 = r.between(1, 9);
    return result;
}

double draw_f32(random_source &r, int mode) {
    if (mode == 0)
        return static_cast<double>(r.real_f32(-100, 100));
    if (mode == 1) // magnitudes from denormals to beyond s32
        return static_cast<double>(std::ldexp(r.real_f32(-1, 1), static_cast<int>(r.between(-148, 40))));
    return static_cast<double>(
        r.pick({0.f,     -0.f,   0.5f,     -0.5f,     1.5f,          -2.5f,          127.5f,
                -128.5f, 255.5f, 1e10f,    -1e10f,    2147483648.f,  -2147483648.f,  2147483520.f,
                3e38f,   -3e38f, infinity, -infinity, std::nanf(""), -std::nanf(""), 1e-40f,
                -1e-40f, 1e-45f, 1.2e-38f, 88.5f,     -88.5f,        20.f,           -20.f}));
}

} // namespace

bool is_tflite_rule(rule r) {
    return r == rule::tflite_2step || r == rule::tflite_1step || r == rule::tflite_single_rounding;
}

namespace {
tensor filled(random_source &r, const memory::desc &desc) {
    tensor t(desc);
    const dims &shape = t.shape();
    const data_type type = t.type();
    t.values.resize(static_cast<std::size_t>(volume(shape)));
    const int mode =
        r.pick({0, 0, 0, 0, 0, 0, 1, 1, 2, 3}); // 2: the ends of the range; 3: few distinct numbers
    const bool is_special = r.chance(50);
    const auto code = [&](double low, double high) {
        return mode == 2 ? r.pick({low, high, high, 0.})
                         : static_cast<double>(mode == 3 ? r.between(0, 3)
                                                         : r.between(static_cast<std::int64_t>(low),
                                                                     static_cast<std::int64_t>(high)));
    };
    for (double &v : t.values)
        switch (type) {
        case data_type::u8:
            v = code(0, 255);
            break;
        case data_type::s8:
            v = code(-128, 127);
            break;
        case data_type::s16:
            v = code(-32768, 32767);
            break;
        case data_type::s32:
            v = mode == 1   ? static_cast<double>(static_cast<std::int32_t>(r.next()))
                : mode == 2 ? code(-2147483648., 2147483647.)
                            : static_cast<double>(r.between(-5000, 5000));
            break;
        default:
            v = draw_f32(r, mode == 1 || mode == 2 ? 1 : mode == 3 || (is_special && r.chance(30)) ? 2 : 0);
        }
    return t;
}

/// Dense, with the dimensions in this order from outermost to innermost.
memory::desc dense(const dims &shape, data_type type, const std::vector<std::size_t> &order) {
    dims strides(shape.size());
    dim_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = stride;
        stride *= shape[order[i]];
    }
    return {shape, type, strides};
}
} // namespace

tensor draw_tensor(random_source &r, const dims &shape, data_type type, bool may_be_any) {
    return filled(r, draw_desc(r, shape, type, may_be_any));
}

tensor draw_tensor_like(random_source &r, const tensor &other, const dims &shape, data_type type) {
    if (r.chance(20))
        return draw_tensor(r, shape, type, false);
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    const dim_t *strides = other.desc.data.strides;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
    return filled(r, dense(shape, type, order));
}

tensor draw_channels_last(random_source &r, const dims &shape, data_type type) {
    if (r.chance(50))
        return draw_tensor(r, shape, type, true);
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return filled(r, dense(shape, type, order));
}

std::int32_t draw_zero_point(random_source &r, data_type type) {
    return static_cast<std::int32_t>(
        type == data_type::u8 ? r.pick<std::int64_t>({0, 128, 255, r.between(0, 255), r.between(0, 255)})
        : type == data_type::s8
            ? r.pick<std::int64_t>({0, -128, 127, r.between(-128, 127), r.between(-128, 127)})
            : r.between(-300, 300));
}

namespace {
std::size_t masked_count(const dims &shape, int mask) {
    dim_t count = 1;
    for (std::size_t d = 0; d < shape.size(); d++)
        count *= mask & (1 << d) ? shape[d] : 1;
    return static_cast<std::size_t>(count);
}
} // namespace

masked_values<std::int32_t> draw_zero_points(random_source &r, const dims &shape, int mask, data_type type) {
    masked_values<std::int32_t> result{mask, std::vector<std::int32_t>(masked_count(shape, mask)),
                                       r.chance(20)};
    for (std::int32_t &v : result.values)
        v = draw_zero_point(r, type);
    return result;
}

masked_values<float> draw_scales(random_source &r, const dims &shape, int mask, double low, double high) {
    masked_values<float> result{mask, std::vector<float>(masked_count(shape, mask)), r.chance(20)};
    for (float &v : result.values)
        v = r.real_f32(low, high);
    return result;
}

fixed_point_multiplier draw_multiplier(random_source &r, rule of, double real, bool may_be_wild) {
    int e;
    const double m = std::frexp(real, &e); // in [1/2, 1)
    const auto mantissa = [&](int bits) {
        return static_cast<std::int32_t>(std::min(std::floor(std::ldexp(m, bits)), std::ldexp(1., bits) - 1));
    };
    const bool is_wild = may_be_wild && r.chance(4);
    switch (of) {
    case rule::caffe2_2step:
        return {mantissa(31), std::min(std::max(-e, 0), 31), 0};
    case rule::gemmlowp_fixedpoint:
        return {r.chance(10) ? -mantissa(31) : mantissa(31), is_wild ? 31 : std::min(std::max(-e, 0), 31), 0};
    case rule::gemmlowp_fixedpoint_exponent:
        return {r.chance(10) ? -mantissa(31) : mantissa(31),
                is_wild ? static_cast<std::int32_t>(r.between(-31, 31)) : e, 0};
    case rule::gemmlowp_legacy_scale:
        return {mantissa(10), std::min(std::max(10 - e, 0), 31),
                static_cast<std::int32_t>(r.between(-500, 500))};
    case rule::rounded_shift: {
        const int bits = static_cast<int>(r.pick({7, 15, 31}));
        return {mantissa(bits), is_wild ? static_cast<std::int32_t>(r.between(-31, 62)) : bits - e, 0};
    }
    case rule::qnnpack_avgpool:
    case rule::xnnpack_rndnu:
        return {mantissa(24), std::min(std::max(24 - e, 16), 55), 0};
    case rule::ev_rte15:
        return {mantissa(15), std::min(std::max(15 - e, 1), 62), 0};
    default: // tflite rules
        return {may_be_wild && r.chance(1) ? 0 : mantissa(31),
                is_wild ? static_cast<std::int32_t>(r.between(-31, 30)) : e, 0};
    }
}

void draw_integer_rule(random_source &r, problem &p, int mask, double real) {
    attributes &a = p.attr;
    a.rule = r.pick({rule::tflite_2step,
                     rule::tflite_2step,
                     rule::tflite_single_rounding,
                     rule::tflite_1step,
                     rule::caffe2_2step,
                     rule::gemmlowp_fixedpoint,
                     rule::gemmlowp_fixedpoint_exponent,
                     rule::gemmlowp_legacy_scale,
                     rule::rounded_shift,
                     rule::caffe_double_round,
                     rule::qnnpack_avgpool,
                     rule::ev_rte15,
                     rule::f64_scale,
                     rule::xnnpack_rndnu,
                     rule::ruy_2step,
                     rule::ruy_2step,
                     rule::half_away_1step,
                     rule::f64_half_away,
                     rule::onnx_f64,
                     rule::onnx_f64});
    const std::size_t count = masked_count(p.dst.shape(), mask);
    const auto one = [&] { return std::min(real * r.real(0.3, 3), 0.49); };
    if (parameters_of(a.rule) == rule_parameters::real_scales) {
        a.real_scales_are_f32 = a.rule == rule::caffe_double_round && r.chance(50);
        a.real_scales.mask = mask;
        for (std::size_t i = 0; i < count; i++)
            a.real_scales.values.push_back(
                a.real_scales_are_f32 ? static_cast<double>(static_cast<float>(one())) : one());
        return;
    }
    a.multipliers.mask = mask;
    for (std::size_t i = 0; i < count; i++)
        a.multipliers.values.push_back(draw_multiplier(r, a.rule, one(), true));
}

namespace {

int draw_dst_mask(random_source &r, const problem &p, int channel) {
    const int rank = static_cast<int>(p.dst.shape().size());
    return r.chance(35) ? 0 : r.chance(90) ? 1 << channel : static_cast<int>(r.between(0, (1 << rank) - 1));
}

void draw_float_rule(random_source &r, problem &p, const dot_shape &s, double real) {
    attributes &a = p.attr;
    a.rule = r.pick({rule::automatic, rule::f32, rule::f32, rule::f32_v3, rule::f32_v3, rule::ort_f32,
                     rule::ort_f32, rule::xnnpack_f32, rule::fbgemm_f32, rule::none});
    const bool per_argument =
        a.rule == rule::f32_v3 ||
        ((a.rule == rule::automatic || a.rule == rule::ort_f32 || a.rule == rule::xnnpack_f32) &&
         r.chance(40));
    if (a.rule == rule::none)
        return;
    if (per_argument) {
        a.scales[OCTET_ARG_SRC] = draw_scales(r, p.src.shape(), 0, 0.05, 0.4);
        a.scales[OCTET_ARG_WEIGHTS] =
            draw_scales(r, p.weights.shape(), r.chance(60) ? s.weights_mask : 0, real * 1.5, real * 5);
        if (r.chance(60))
            a.scales[OCTET_ARG_DST] =
                draw_scales(r, p.dst.shape(), r.chance(80) ? 0 : draw_dst_mask(r, p, s.channel), 0.3, 3);
        if (r.chance(10))
            a.scales.erase(r.pick({OCTET_ARG_SRC, OCTET_ARG_WEIGHTS}));
    } else if (r.chance(85)) {
        a.output_scales = draw_scales(r, p.dst.shape(), draw_dst_mask(r, p, s.channel), real * 0.3, real * 3);
        if (r.chance(5))
            a.output_scales.values[0] = -a.output_scales.values[0];
    }
}

} // namespace

void draw_dot_attributes(random_source &r, problem &p, const dot_shape &s) {
    attributes &a = p.attr;
    // A sum of random products of codes is around 5000 times the root of their number.
    const double real = (r.chance(5)   ? r.real(1, 100)
                         : r.chance(3) ? 0.01
                                       : 1) *
                        50 / (5000 * std::sqrt(static_cast<double>(s.reduction)));
    if (r.chance(35))
        draw_float_rule(r, p, s, real);
    else
        draw_integer_rule(r, p, draw_dst_mask(r, p, s.channel), real);
    const bool any_bias = a.rule == rule::f32 || a.rule == rule::f32_v3 || a.rule == rule::fbgemm_f32 ||
                          a.rule == rule::automatic;
    if (!s.bias.empty()) {
        const data_type t = any_bias ? r.pick({data_type::f32, data_type::s32, data_type::s8, data_type::u8})
                            : a.rule == rule::none ? r.pick({data_type::s32, data_type::s8, data_type::u8})
                                                   : data_type::s32;
        p.bias = draw_tensor(r, s.bias, t, false);
        p.bias.desc = {s.bias, t, dims{}};
    }
    const bool is_matmul = p.kind == primitive_kind::matmul;
    const auto any_mask = [&](const dims &shape) {
        return static_cast<int>(r.between(0, (1 << shape.size()) - 1));
    };
    if (r.chance(45))
        a.zero_points[OCTET_ARG_SRC] = draw_zero_points(r, p.src.shape(),
                                                        r.chance(85) ? 0
                                                        : is_matmul  ? any_mask(p.src.shape())
                                                                     : static_cast<int>(r.between(1, 3)),
                                                        p.src.type());
    if (r.chance(25))
        a.zero_points[OCTET_ARG_WEIGHTS] =
            draw_zero_points(r, p.weights.shape(),
                             r.chance(40)   ? 0
                             : r.chance(80) ? s.weights_mask
                             : is_matmul    ? any_mask(p.weights.shape())
                                            : static_cast<int>(r.between(1, p.grouped ? 7 : 3)),
                             p.weights.type());
    if (r.chance(40))
        a.zero_points[OCTET_ARG_DST] = draw_zero_points(
            r, p.dst.shape(), r.chance(50) ? 0 : draw_dst_mask(r, p, s.channel), p.dst.type());
    draw_post_ops(r, p, s.channel);
}

bool windows_touch_the_image(const problem &p, const dims &src, const dims &dst) {
    for (std::size_t d = 0; d < p.kernel.size(); d++)
        for (dim_t out = 0; out < dst[d + 2]; out++) {
            bool touches = false;
            for (dim_t tap = 0; tap < p.kernel[d]; tap++) {
                const dim_t in = out * p.strides[d] - p.padding_l[d] + tap * (p.dilates[d] + 1);
                touches = touches || (in >= 0 && in < src[d + 2]);
            }
            if (!touches)
                return false;
        }
    return true;
}

} // namespace octet::oracle
