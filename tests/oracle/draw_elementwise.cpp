// Element-wise problems: binary, eltwise, PReLU, sum.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "oracle/draw.hpp"

namespace octet::oracle {

namespace {

using type = data_type;

algorithm draw_binary_algorithm(random_source &r) {
    using a = algorithm;
    return r.pick({a::binary_add, a::binary_sub, a::binary_mul, a::binary_div, a::binary_max, a::binary_min,
                   a::binary_ge, a::binary_gt, a::binary_le, a::binary_lt, a::binary_eq, a::binary_ne});
}

/// Within the ratios that the delegate lets pass, often powers of two for ties.
void set_xnnpack_scales(random_source &r, problem &p) {
    const bool powers = r.chance(40);
    const auto power = [&](double low, double high) {
        const double exponent = r.real(low, high);
        return static_cast<float>(std::exp2(powers ? std::round(exponent) : exponent));
    };
    const float s0 = power(-8, 0), s1 = s0 * power(-4, 4);
    set_scale(p, OCTET_ARG_SRC_0, s0);
    set_scale(p, OCTET_ARG_SRC_1, s1);
    set_scale(p, OCTET_ARG_DST, p.alg == algorithm::binary_mul ? s0 * s1 * power(-7, 15) : s0 * power(-3, 4));
}

} // namespace

void draw_binary(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 5000);
    dims shape0 = shape, shape1 = shape;
    const int broadcast = static_cast<int>(r.between(0, 3)); // src_1 is broadcast twice as often as src_0
    for (std::size_t d = 0; d < shape.size(); d++)
        if (broadcast > 0 && r.chance(60))
            (broadcast == 1 ? shape0 : shape1)[d] = 1;
    p.alg = draw_binary_algorithm(r);
    attributes &a = p.attr;
    a.rule =
        r.pick({rule::automatic, rule::f32, rule::f32_v3, rule::tflite_2step, rule::tflite_single_rounding,
                rule::tflite_1step, rule::ort_f32, rule::ort_f32, rule::caffe2_2step,
                rule::caffe_double_round, rule::xnnpack_f32, rule::xnnpack_f32, rule::xnnpack_rndnu});
    const bool is_xnnpack = a.rule == rule::xnnpack_f32 || a.rule == rule::xnnpack_rndnu;
    const bool floats = a.rule == rule::automatic || a.rule == rule::f32 || a.rule == rule::f32_v3;
    if (is_tflite_rule(a.rule) || is_xnnpack)
        p.alg = r.pick({algorithm::binary_add, algorithm::binary_sub, algorithm::binary_mul});
    if (a.rule == rule::ort_f32 && r.chance(60))
        p.alg = r.pick({algorithm::binary_add, algorithm::binary_mul});
    if (a.rule == rule::caffe2_2step)
        p.alg = algorithm::binary_add;
    const type t = floats ? draw_number(r) : draw_code(r);
    p.src = draw_tensor(r, shape0, t, false);
    p.weights = draw_tensor_like(r, p.src, shape1, floats && r.chance(50) ? draw_number(r) : t);
    p.dst = draw_tensor_like(r, p.src, shape, floats && r.chance(50) ? draw_number(r) : t);
    if (floats) {
        if (r.chance(40))
            set_scales(r, p, {OCTET_ARG_SRC_0});
        if (r.chance(40))
            set_scales(r, p, {OCTET_ARG_SRC_1});
    } else if (is_tflite_rule(a.rule) && r.chance(40)) {
        const bool mul = p.alg == algorithm::binary_mul;
        a.multipliers = {
            0, {draw_multiplier(r, a.rule, mul ? r.real(0.002, 0.02) : r.real(0.5, 4) / 1048576)}, false};
        if (!mul)
            for (const int arg : {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1})
                a.input_multipliers[arg] = draw_multiplier(r, a.rule, r.real(0.05, 0.5));
    } else if (is_xnnpack) {
        set_xnnpack_scales(r, p);
    } else {
        set_scales(r, p, {OCTET_ARG_SRC_0, OCTET_ARG_SRC_1, OCTET_ARG_DST});
    }
    if (!floats && r.chance(70)) {
        set_zero_point(r, p, OCTET_ARG_SRC_0, t);
        set_zero_point(r, p, OCTET_ARG_SRC_1, p.weights.type());
    }
    draw_dst_zero_point(r, p);
    if (a.rule != rule::ort_f32 || (p.alg != algorithm::binary_add && p.alg != algorithm::binary_mul))
        draw_post_ops(r, p, 1);
}

void draw_eltwise(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 5000);
    attributes &a = p.attr;
    a.rule =
        r.pick({rule::automatic, rule::f32, rule::f32, rule::f32_v3, rule::tflite_2step,
                rule::tflite_single_rounding, rule::tflite_1step, rule::ort_f32, rule::caffe_double_round});
    const post_op::eltwise f = draw_function(r);
    p.alg = f.algorithm;
    p.alpha = f.alpha;
    p.beta = f.beta;
    const bool codes = is_tflite_rule(a.rule);
    if (codes) {
        p.alg = r.pick({algorithm::eltwise_relu, algorithm::eltwise_relu, algorithm::eltwise_bounded_relu,
                        algorithm::eltwise_clip, algorithm::eltwise_logistic, algorithm::eltwise_tanh});
        p.alpha = p.alg == algorithm::eltwise_relu   ? r.pick({0.f, 0.1f, 0.7f, -0.3f})
                  : p.alg == algorithm::eltwise_clip ? -1.f
                                                     : 6.f;
        p.beta = 1.f;
    }
    const type t = codes ? draw_code(r) : draw_number(r);
    const bool is_quantized = codes || a.rule == rule::ort_f32 || a.rule == rule::caffe_double_round;
    p.src = draw_tensor(r, shape, t, false);
    p.dst = draw_tensor_like(r, p.src, shape, codes || r.chance(50) ? t : draw_number(r));
    if (is_quantized)
        set_zero_point(r, p, OCTET_ARG_SRC, t);
    if (a.rule == rule::f32_v3 && r.chance(70))
        set_scales(r, p, {OCTET_ARG_SRC});
    if (a.rule == rule::f32_v3 && r.chance(50))
        set_scale(p, OCTET_ARG_DST, r.chance(20) ? 1e-8f : draw_scale(r)); // also beyond s32
    if (a.rule == rule::ort_f32 || a.rule == rule::caffe_double_round)
        set_scales(r, p, {OCTET_ARG_SRC, OCTET_ARG_DST});
    if (codes && (p.alg == algorithm::eltwise_bounded_relu || p.alg == algorithm::eltwise_clip)) {
        set_scales(r, p, {OCTET_ARG_SRC});
        if (r.chance(50))
            set_scales(r, p, {OCTET_ARG_DST});
    } else if (codes && p.alg == algorithm::eltwise_relu) {
        if (r.chance(50)) {
            set_scales(r, p, {OCTET_ARG_SRC, OCTET_ARG_DST});
        } else {
            a.multipliers = {0, {draw_multiplier(r, a.rule, r.real(0.2, 2))}, false};
            if (p.alpha != 0)
                a.input_multipliers[OCTET_ARG_SRC] = draw_multiplier(r, a.rule, r.real(0.02, 1));
        }
    } else if (codes) {
        set_scales(r, p, {OCTET_ARG_SRC});
    }
    if (codes && (p.alg == algorithm::eltwise_logistic || p.alg == algorithm::eltwise_tanh))
        a.zero_points[OCTET_ARG_DST] = {
            0,
            {p.alg == algorithm::eltwise_logistic ? (t == type::s8 ? -128 : 0) : (t == type::s8 ? 0 : 128)},
            false};
    else
        draw_dst_zero_point(r, p);
    draw_post_ops(r, p, 1);
}

void draw_prelu(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 5000);
    dims weights = shape;
    for (dim_t &d : weights)
        if (r.chance(40))
            d = 1;
    attributes &a = p.attr;
    const bool codes = r.chance(40);
    a.rule = codes ? draw_tflite(r) : r.pick({rule::automatic, rule::f32});
    const type t = codes ? draw_code(r) : draw_number(r);
    p.src = draw_tensor(r, shape, t, false);
    p.weights = draw_tensor_like(r, p.src, weights, codes ? t : draw_number(r));
    p.dst = draw_tensor_like(r, p.src, shape, codes || r.chance(50) ? t : draw_number(r));
    if (!codes)
        return;
    if (r.chance(50)) {
        set_scales(r, p, {OCTET_ARG_SRC, OCTET_ARG_WEIGHTS, OCTET_ARG_DST});
    } else {
        a.multipliers = {0, {draw_multiplier(r, a.rule, r.real(0.2, 2))}, false};
        a.input_multipliers[OCTET_ARG_WEIGHTS] = draw_multiplier(r, a.rule, r.real(0.001, 0.02));
    }
    set_zero_point(r, p, OCTET_ARG_SRC, t);
    set_zero_point(r, p, OCTET_ARG_WEIGHTS, t);
    draw_dst_zero_point(r, p);
}

void draw_sum(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 4000);
    const bool codes = r.chance(25);
    const std::size_t count =
        codes ? 2 : static_cast<std::size_t>(r.chance(10) ? r.between(6, 20) : r.between(1, 5));
    const type t = draw_code(r);
    for (std::size_t i = 0; i < count; i++) {
        const type from = codes ? t : draw_number(r);
        p.srcs.push_back(i ? draw_tensor_like(r, p.srcs[0], shape, from)
                           : draw_tensor(r, shape, from, false));
        p.sum_scales.push_back(codes ? draw_scale(r) : r.real_f32(-2, 2));
    }
    p.dst = draw_tensor_like(r, p.srcs[0], shape, codes ? t : draw_number(r));
    if (codes) {
        p.attr.rule = rule::caffe_double_round;
        set_scales(r, p, {OCTET_ARG_DST});
        for (int i = 0; i < 2; i++)
            set_zero_point(r, p, OCTET_ARG_MULTIPLE_SRC + i, t);
        draw_dst_zero_point(r, p);
    }
}

} // namespace octet::oracle
