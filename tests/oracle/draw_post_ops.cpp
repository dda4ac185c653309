// Random chains of post-ops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "oracle/draw.hpp"

namespace octet::oracle {

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

} // namespace octet::oracle
