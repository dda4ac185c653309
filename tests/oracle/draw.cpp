// Random problems: operations, shapes, layouts, rules, zero points and post-ops that doc/operators.md
// allows. Start at draw(), at the end. Sizes are small but for the channels, whose counts lie around the
// widths of registers and of blocks; few problems have more than 200,000 products, so that hundreds run in
// a second at every level.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "oracle/arithmetic.hpp"
#include "oracle/draw.hpp"

namespace octet::oracle {

using type = data_type;

dims draw_shape(random_source &r, std::size_t least, std::size_t most, dim_t budget) {
    dims shape;
    do {
        shape.assign(static_cast<std::size_t>(
                         r.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most))),
                     1);
        for (dim_t &d : shape)
            d = r.chance(40)   ? r.between(1, 9)
                : r.chance(30) ? 1
                : r.chance(30) ? draw_channels(r)
                               : r.between(1, 20);
    } while (volume(shape) > budget);
    return shape;
}

type draw_code(random_source &r) { return r.pick({type::u8, type::s8}); }
type draw_number(random_source &r) { return r.pick({type::u8, type::s8, type::s32, type::f32, type::f32}); }
rule draw_tflite(random_source &r, bool one_step) {
    return one_step ? r.pick({rule::tflite_2step, rule::tflite_2step, rule::tflite_1step,
                              rule::tflite_single_rounding})
                    : r.pick({rule::tflite_2step, rule::tflite_single_rounding});
}
float draw_scale(random_source &r) { return r.real_f32(0.002, 0.1); }

void set_scale(problem &p, int arg, float scale) { p.attr.scales[arg] = {0, {scale}, false}; }
void set_scales(random_source &r, problem &p, std::initializer_list<int> args) {
    for (const int arg : args)
        set_scale(p, arg, draw_scale(r));
}
void set_zero_point(random_source &r, problem &p, int arg, type of) {
    p.attr.zero_points[arg] = {0, {draw_zero_point(r, of)}, false};
}
void draw_dst_zero_point(random_source &r, problem &p) {
    if (r.chance(40))
        set_zero_point(r, p, OCTET_ARG_DST, p.dst.type());
    else if (r.chance(5)) // far from all codes
        p.attr.zero_points[OCTET_ARG_DST] = {
            0,
            {static_cast<std::int32_t>(r.pick({600, -1000, 32640, 32768, -40000, 1 << 20, -(1 << 30)}))},
            false};
}

namespace {

void draw_reorder(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 6000);
    const auto any_type = [&] {
        return r.pick({type::f32, type::f32, type::s32, type::s8, type::u8, type::s16});
    };
    const type from = any_type(), to = any_type();
    p.src = draw_tensor(r, shape, from, false);
    p.dst = draw_tensor(r, shape, to, false);
    attributes &a = p.attr;
    const int rank = static_cast<int>(shape.size());
    const auto mask = [&] {
        return r.chance(40)   ? 0
               : r.chance(70) ? 1 << r.between(0, rank - 1)
                              : static_cast<int>(r.between(0, (1 << rank) - 1));
    };
    const auto scales = [&](int arg, double low, double high) {
        a.scales[arg] = draw_scales(r, shape, mask(), low, high);
    };
    const auto zero_points = [&](int arg, type t) {
        a.zero_points[arg] = draw_zero_points(r, shape, mask(), t);
    };
    const bool from_integer = from != type::f32, to_integer = to != type::f32;
    const int choice = static_cast<int>(r.between(0, 9));
    if (choice == 0)
        return; // codes are copied or converted
    if (choice <= 4 || !to_integer) {
        a.rule = r.pick({rule::f32, rule::f32, rule::f32_v3, rule::ort_f32});
        if (a.rule != rule::f32_v3 && r.chance(60))
            a.output_scales = draw_scales(r, shape, mask(), 0.01, 3);
        else if (a.rule != rule::f32) {
            if (r.chance(60))
                scales(OCTET_ARG_SRC, 0.01, 3);
            if (r.chance(60))
                r.chance(20) ? scales(OCTET_ARG_DST, 1e-9, 2e-9)
                             : scales(OCTET_ARG_DST, 0.01, 3); // also beyond s32
        }
    } else if (!from_integer) {
        a.rule = r.pick(
            {rule::tflite_2step, rule::tflite_1step, rule::tflite_single_rounding, rule::caffe_double_round});
        if (a.rule == rule::caffe_double_round)
            scales(OCTET_ARG_SRC, 0.01, 3);
        a.scales[OCTET_ARG_DST] =
            draw_scales(r, shape, a.rule == rule::caffe_double_round ? mask() : 0, 0.01, 3);
    } else if (choice == 5) {
        a.rule = draw_tflite(r);
        set_scales(r, p, {OCTET_ARG_SRC, OCTET_ARG_DST});
    } else if (choice == 6) {
        a.rule = rule::none;
    } else {
        draw_integer_rule(r, p, mask(), 1. / r.real(0.5, 60));
    }
    if (r.chance(40) && (from_integer || !is_tflite_rule(a.rule)))
        zero_points(OCTET_ARG_SRC, from);
    if (r.chance(40))
        zero_points(OCTET_ARG_DST, to);
    draw_post_ops(r, p, 1);
}

void draw_pooling(random_source &r, problem &p) {
    const std::size_t rank = r.pick<std::size_t>({1, 2, 2, 2, 2, 3});
    dims src, dst;
    do {
        p.strides.clear(), p.dilates.clear(), p.padding_l.clear(), p.padding_r.clear(), p.kernel.clear();
        src = dst = {r.between(1, 3), draw_channels(r)};
        for (std::size_t d = 0; d < rank; d++) {
            const dim_t kernel = r.pick<dim_t>({1, 2, 2, 3, 3, 4, 5, 7}),
                        stride = r.pick<dim_t>({1, 1, 2, 2, 3}), dilate = r.pick<dim_t>({0, 0, 0, 0, 1, 2}),
                        reach = (kernel - 1) * (dilate + 1) + 1;
            const dim_t low = r.chance(50) ? 0 : r.between(0, kernel - 1), out = r.between(1, 6);
            const dim_t in = std::max<dim_t>(
                (out - 1) * stride + reach - low - (r.chance(50) ? 0 : r.between(0, kernel - 1)), 1);
            p.kernel.push_back(kernel);
            p.strides.push_back(stride);
            p.dilates.push_back(dilate);
            p.padding_l.push_back(low);
            p.padding_r.push_back((out - 1) * stride + reach - low - in);
            src.push_back(in);
            dst.push_back(out);
        }
    } while (volume(dst) * volume(p.kernel) > 100000 || volume(src) > 30000 ||
             !windows_touch_the_image(p, src, dst));
    const type t = draw_code(r);
    p.src = draw_channels_last(r, src, t);
    p.dst = draw_channels_last(r, dst, t);
    p.alg = r.pick({algorithm::pooling_max, algorithm::pooling_avg_include_padding,
                    algorithm::pooling_avg_exclude_padding, algorithm::pooling_avg_exclude_padding});
    attributes &a = p.attr;
    const int choice = static_cast<int>(r.between(0, 6));
    if (p.alg == algorithm::pooling_max) {
        if (r.chance(50))
            a.rule = r.pick({rule::f32, rule::tflite_2step});
    } else if (choice == 0) {
        a.rule = r.pick({rule::automatic, rule::f32});
    } else if (choice == 1) {
        a.rule = draw_tflite(r);
    } else if (choice == 2) {
        draw_integer_rule(r, p, r.chance(50) ? 2 : 0,
                          r.real(0.2, 1.5) / static_cast<double>(volume(p.kernel)));
    } else if (choice == 3) {
        a.rule = rule::ort_f32;
        a.output_scales = {0, {r.real_f32(0.2, 1.5) / static_cast<float>(volume(p.kernel))}, false};
    } else if (choice == 4) {
        a.rule = draw_tflite(r);
        a.input_multipliers[OCTET_ARG_SRC] = draw_multiplier(r, a.rule, r.real(0.3, 1.8));
    } else {
        a.rule = choice == 5 ? rule::ort_f32 : rule::caffe_double_round;
        set_scales(r, p, {OCTET_ARG_SRC, OCTET_ARG_DST});
        if (r.chance(5)) // averages beyond s32
            set_scale(p, OCTET_ARG_DST, 1e-9f);
    }
    if (choice >= 2 && p.alg != algorithm::pooling_max) {
        if (r.chance(60))
            set_zero_point(r, p, OCTET_ARG_SRC, t);
        draw_dst_zero_point(r, p);
    }
    draw_post_ops(r, p, 1);
}

void draw_softmax(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 4, 4000);
    p.axis = static_cast<int>(r.between(0, static_cast<std::int64_t>(shape.size()) - 1));
    p.alg = algorithm::softmax_accurate;
    attributes &a = p.attr;
    const int choice = static_cast<int>(r.between(0, 4));
    if (choice <= 1) {
        p.alg = r.pick({algorithm::softmax_accurate, algorithm::softmax_accurate, algorithm::softmax_log});
        p.src = draw_tensor(r, shape, draw_number(r), false);
        p.dst = draw_tensor_like(r, p.src, shape, draw_number(r));
        if (r.chance(60))
            a.output_scales = {0, {r.real_f32(1, 256)}, false};
        draw_dst_zero_point(r, p);
        draw_post_ops(r, p, 1);
        return;
    }
    const type t = draw_code(r);
    p.src = draw_tensor(r, shape, t, false);
    if (choice == 2) {
        a.rule = draw_tflite(r, false);
        p.dst = draw_tensor_like(r, p.src, shape, r.pick({type::s8, type::u8, type::s16}));
        a.input_multipliers[OCTET_ARG_SRC] = draw_multiplier(r, a.rule, r.real(0.005, 0.3) * 67108864.);
    } else if (choice == 3) {
        a.rule = r.pick({rule::xnnpack_f32, rule::xnnpack_rndnu, rule::ruy_2step});
        const type to = a.rule != rule::ruy_2step && r.chance(20) ? type::s16 : t;
        p.dst = draw_tensor_like(r, p.src, shape, to);
        set_scales(r, p, {OCTET_ARG_SRC});
        set_scale(p, OCTET_ARG_DST, r.pick({1.f / 256, 1.f / 255, 1.f / 65536, r.real_f32(1e-4, 2)}));
        set_zero_point(r, p, OCTET_ARG_DST, to);
    } else {
        a.rule = rule::ort_f32;
        p.dst = draw_tensor_like(r, p.src, shape, t);
        set_scales(r, p, {OCTET_ARG_SRC});
        set_scale(p, OCTET_ARG_DST, r.pick({1.f / 256, 1.f / 255, 1.f / 128}));
        if (r.chance(60))
            set_zero_point(r, p, OCTET_ARG_DST, t);
    }
}

void draw_concat(random_source &r, problem &p) {
    const dims shape = draw_shape(r, 1, 5, 1500);
    p.axis = static_cast<int>(r.between(0, static_cast<std::int64_t>(shape.size()) - 1));
    attributes &a = p.attr;
    a.rule = r.pick({rule::automatic, rule::automatic, rule::f32, rule::tflite_2step, rule::ort_f32,
                     rule::caffe_double_round});
    const bool codes = a.rule != rule::automatic && a.rule != rule::f32;
    const bool equal = r.chance(40);
    const type t = codes ? draw_code(r) : r.pick({type::u8, type::s8, type::s32, type::f32, type::s16});
    dims dst = shape;
    dst[static_cast<std::size_t>(p.axis)] = 0;
    const int count = static_cast<int>(r.between(1, 5));
    for (int i = 0; i < count; i++) {
        dims part = shape;
        part[static_cast<std::size_t>(p.axis)] = r.between(1, 9);
        dst[static_cast<std::size_t>(p.axis)] += part[static_cast<std::size_t>(p.axis)];
        p.srcs.push_back(draw_tensor(r, part, codes || equal ? t : draw_number(r), false));
        if (codes || (a.rule == rule::f32 && !equal))
            set_scales(r, p, {OCTET_ARG_MULTIPLE_SRC + i});
        if (codes)
            set_zero_point(r, p, OCTET_ARG_MULTIPLE_SRC + i, t);
    }
    p.dst = draw_tensor(r, dst, t, false);
    if (codes) {
        set_scales(r, p, {OCTET_ARG_DST});
        set_zero_point(r, p, OCTET_ARG_DST, t);
        if (r.chance(30)) { // a source whose codes are copied
            a.scales[OCTET_ARG_MULTIPLE_SRC] = a.scales[OCTET_ARG_DST];
            a.zero_points[OCTET_ARG_MULTIPLE_SRC] = a.zero_points[OCTET_ARG_DST];
        }
    }
}

void draw_resampling(random_source &r, problem &p) {
    attributes &a = p.attr;
    p.alg = r.pick({algorithm::resampling_nearest, algorithm::resampling_linear});
    a.rule = r.pick({rule::automatic, rule::f32, rule::f32, rule::tflite_2step, rule::tflite_single_rounding,
                     rule::ort_f32, rule::caffe_double_round, rule::xnnpack_f32, rule::xnnpack_rndnu});
    if (is_xnnpack(a.rule))
        p.alg = algorithm::resampling_linear;
    const bool codes = a.rule != rule::automatic && a.rule != rule::f32;
    const std::size_t rank = codes ? 2 : r.pick<std::size_t>({1, 2, 2, 3});
    dims src, dst;
    do {
        src = dst = {r.between(1, 3), draw_channels(r)};
        for (std::size_t d = 0; d < rank; d++) {
            src.push_back(r.between(1, 8));
            dst.push_back(r.between(1, 12));
        }
    } while (volume(src) > 8000 || volume(dst) > 8000);
    if (codes && (is_tflite_rule(a.rule) || is_xnnpack(a.rule))) {
        using c = resampling_coordinates;
        p.coordinates =
            p.alg == algorithm::resampling_nearest
                ? r.pick({c::half_pixel, c::asymmetric, c::align_corners, c::align_corners_half_pixel})
                : r.pick({c::half_pixel, c::asymmetric, c::align_corners});
    }
    const type t = codes ? draw_code(r) : draw_number(r);
    p.src = draw_tensor(r, src, t, true);
    p.dst = draw_tensor(r, dst,
                        codes || r.chance(20) ? t
                        : r.chance(40)        ? draw_code(r)
                                              : draw_number(r),
                        true);
    draw_post_ops(r, p, 1);
}

} // namespace

problem draw(std::uint64_t seed, std::uint64_t number) {
    random_source r(seed, number);
    problem p;
    using k = primitive_kind;
    p.kind = r.pick({k::convolution,   k::convolution,   k::convolution,   k::convolution,   k::convolution,
                     k::deconvolution, k::deconvolution, k::inner_product, k::inner_product, k::matmul,
                     k::matmul,        k::matmul,        k::reorder,       k::reorder,       k::reorder,
                     k::pooling,       k::pooling,       k::binary,        k::binary,        k::eltwise,
                     k::eltwise,       k::prelu,         k::softmax,       k::sum,           k::concat,
                     k::resampling,    k::resampling});
    p.threads = r.chance(80) ? 1 : 2;
    switch (p.kind) {
    case k::inner_product:
        draw_inner_product(r, p);
        break;
    case k::matmul:
        draw_matmul(r, p);
        break;
    case k::reorder:
        draw_reorder(r, p);
        break;
    case k::pooling:
        draw_pooling(r, p);
        break;
    case k::binary:
        draw_binary(r, p);
        break;
    case k::eltwise:
        draw_eltwise(r, p);
        break;
    case k::prelu:
        draw_prelu(r, p);
        break;
    case k::softmax:
        draw_softmax(r, p);
        break;
    case k::sum:
        draw_sum(r, p);
        break;
    case k::concat:
        draw_concat(r, p);
        break;
    case k::resampling:
        draw_resampling(r, p);
        break;
    default:
        draw_convolution(r, p);
    }
    return p;
}

} // namespace octet::oracle
