// Random tensors and attributes: layouts, numbers, scales, multipliers, zero points and chains of post-ops.
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

// ---- post-ops

post_op::eltwise draw_function(random_source &r) {
    using a = algorithm;
    if (r.chance(60)) {
        const a f = r.pick({a::eltwise_relu, a::eltwise_relu, a::eltwise_square, a::eltwise_abs,
                            a::eltwise_sqrt, a::eltwise_linear, a::eltwise_bounded_relu, a::eltwise_clip,
                            a::eltwise_clip_v2, a::eltwise_round, a::eltwise_hardswish});
        const bool is_clip = f == a::eltwise_clip || f == a::eltwise_clip_v2;
        const float alpha = f == a::eltwise_relu           ? r.pick({0.f, 0.1f, -0.5f})
                            : f == a::eltwise_linear       ? r.real_f32(-2, 2)
                            : f == a::eltwise_bounded_relu ? r.pick({6.f, 40.f, 127.f, 1e10f})
                            : is_clip                      ? r.pick({-100.f, 0.f, -1.f, -1e10f})
                                                           : 0.f;
        const float beta = is_clip                  ? r.pick({6.f, 60.f, 254.f, 1e10f})
                           : f == a::eltwise_linear ? r.real_f32(-20, 20)
                                                    : 0.f;
        return {f, alpha, beta, r.chance(75) ? 1.f : r.real_f32(0.2, 2)};
    }
    const a f = r.pick({a::eltwise_tanh, a::eltwise_elu, a::eltwise_soft_relu, a::eltwise_soft_relu_v2,
                        a::eltwise_logsigmoid, a::eltwise_logistic, a::eltwise_exp, a::eltwise_gelu_tanh,
                        a::eltwise_gelu_erf, a::eltwise_swish, a::eltwise_swish, a::eltwise_log,
                        a::eltwise_mish, a::eltwise_pow});
    const float alpha = f == a::eltwise_elu            ? r.pick({1.f, 0.5f})
                        : f == a::eltwise_soft_relu_v2 ? r.pick({1.f, 2.f, 0.5f})
                        : f == a::eltwise_swish        ? r.pick({1.f, 1.f, 2.f, 0.5f})
                        : f == a::eltwise_pow          ? r.pick({1.f, 0.7f})
                                                       : 0.f;
    const float beta = f == a::eltwise_pow ? r.pick({0.f, 1.f, 2.f, 0.5f, -1.f, 0.7f, 3.f}) : 0.f;
    return {f, alpha, beta, r.chance(75) ? 1.f : r.real_f32(0.2, 2)};
}

namespace {

bool is_8_bit(data_type t) { return t == data_type::u8 || t == data_type::s8; }

void append_post_op(random_source &r, problem &p, int channel) {
    attributes &a = p.attr;
    const dims dst = p.dst.shape();
    const data_type t = p.dst.type();
    tensor operand;
    post_op_entry entry;
    const auto operand_shape = [&](int mask) {
        dims shape = dst;
        for (std::size_t d = 0; d < shape.size(); d++)
            if (!(mask & (1 << d)))
                shape[d] = 1;
        return shape;
    };
    const int all = (1 << dst.size()) - 1;
    const bool has_channel = channel < static_cast<int>(dst.size());
    const int per_channel = has_channel ? 1 << channel : 0;
    const rule tflite =
        r.pick({rule::tflite_2step, rule::tflite_2step, rule::tflite_single_rounding, rule::tflite_1step});
    const auto read_as = [&] {
        return !is_8_bit(t) || r.chance(70) ? data_type::undef : r.pick({data_type::u8, data_type::s8});
    };
    switch (r.between(0, 15)) {
    case 0:
    case 1:
        entry = post_op::sum{r.chance(50) ? 1.f : r.real_f32(-1.5, 1.5),
                             r.chance(60) ? 0 : draw_zero_point(r, t), read_as()};
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        entry = draw_function(r);
        break;
    case 6:
    case 7: {
        const int mask = r.chance(30)   ? 0
                         : r.chance(60) ? per_channel
                         : r.chance(70) ? all
                                        : static_cast<int>(r.between(0, all));
        const dims shape = operand_shape(mask);
        operand = draw_tensor(
            r, shape, r.pick({data_type::f32, data_type::f32, data_type::s8, data_type::u8, data_type::s32}),
            false);
        entry = post_op::binary{
            r.pick({algorithm::binary_add, algorithm::binary_add, algorithm::binary_sub,
                    algorithm::binary_mul, algorithm::binary_mul, algorithm::binary_div,
                    algorithm::binary_max, algorithm::binary_min, algorithm::binary_ge, algorithm::binary_gt,
                    algorithm::binary_le, algorithm::binary_lt, algorithm::binary_eq, algorithm::binary_ne}),
            operand.desc};
        break;
    }
    case 8: {
        const int mask = r.chance(30) ? 0 : r.chance(80) ? per_channel : static_cast<int>(r.between(0, all));
        operand = draw_tensor(r, operand_shape(mask), data_type::f32, false);
        entry = post_op::prelu{mask};
        break;
    }
    case 9:
    case 10: {
        const auto low = static_cast<std::int32_t>(r.between(-200, 50));
        entry = post_op::clip{r.chance(10) ? std::numeric_limits<std::int32_t>::min() : low,
                              r.chance(20) ? std::numeric_limits<std::int32_t>::max()
                                           : low + static_cast<std::int32_t>(r.between(0, 300))};
        break;
    }
    case 11:
        entry = post_op::add{static_cast<std::int32_t>(
            r.chance(10) ? r.next() : static_cast<std::uint64_t>(r.between(-100, 100)))};
        break;
    case 12:
        if (t != data_type::f32)
            entry = post_op::rescaled_sum{draw_multiplier(r, tflite, r.real(0.2, 2)), draw_zero_point(r, t),
                                          read_as(), tflite};
        else
            entry = post_op::add{7};
        break;
    case 13: {
        post_op::leaky_relu stage{draw_multiplier(r, tflite, r.real(0.3, 2)),
                                  draw_multiplier(r, tflite, r.real(0.01, 1)), tflite};
        if (r.chance(20))
            stage.alpha.multiplier = -stage.alpha.multiplier;
        entry = stage;
        break;
    }
    case 14: {
        post_op::table stage;
        stage.type = r.pick({data_type::u8, data_type::s8});
        for (std::uint8_t &e : stage.entries)
            e = static_cast<std::uint8_t>(r.next());
        entry = stage;
        break;
    }
    default:
        if (!is_8_bit(t))
            entry = post_op::add{-3};
        else if (r.chance(50))
            entry = post_op::qlinear_add{r.real_f32(0.2, 1.5), r.real_f32(0.2, 1.5), r.real_f32(-40, 40),
                                         draw_zero_point(r, t), r.chance(40)};
        else if (r.chance(35)) {
            const auto weight = [&] {
                return fixed_point_multiplier{static_cast<std::int32_t>(r.between(1, 1 << 21)), 0, 0};
            };
            entry = post_op::scaled_add{
                {weight(), weight(), {1, static_cast<std::int32_t>(r.between(17, 23)), 0}},
                draw_zero_point(r, t),
                draw_zero_point(r, t),
                rule::xnnpack_f32};
        } else
            entry = post_op::scaled_add{{draw_multiplier(r, tflite, r.real(0.1, 0.5)),
                                         draw_multiplier(r, tflite, r.real(0.1, 0.5)),
                                         draw_multiplier(r, tflite, r.real(0.5, 4) / 1048576)},
                                        draw_zero_point(r, t),
                                        draw_zero_point(r, t),
                                        tflite};
    }
    a.post_ops.push_back(entry);
    a.post_op_tensors.push_back(operand);
}

} // namespace

void draw_post_ops(random_source &r, problem &p, int channel) {
    for (int count = r.pick({0, 0, 0, 0, 1, 1, 1, 2, 2, 4}); count > 0; count--)
        append_post_op(r, p, channel);
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
