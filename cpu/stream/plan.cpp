// A function for each operation, which reads like the formula: steps on the stack of a `task_builder`.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/stream/plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "common/normalization.hpp"
#include "common/qlinear.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"
#include "common/text.hpp"
#include "cpu/stream/product_scale.hpp"
#include "cpu/stream/task_builder.hpp"
#include "jit/epilogue/code_sum.hpp"

namespace octet::impl::stream {

namespace {

using op = jit::stream_op;
using stage = jit::epilogue_stage;

// ---- division by destination scales

constexpr float safe_scale = 0x1p60f; // quotients of normal numbers by scales up to it are normal or nothing
constexpr float limit_of_quotient = 0x1p20f; // no code less a small zero point reaches it

bool is_safe_divisor(float s) { return s >= 1 / safe_scale && s <= safe_scale; }

/// True if a quotient is rounded to a code with nothing in between, and all beyond the limit saturates, NaN
/// as the lower limit: then a multiplication in range can give it.
bool may_divide_in_range(const epilogue &out, const masked_values<float> &scales, divisors runtime) {
    const masked_values<std::int32_t> &zp = out.dst_zero_points;
    return (!scales.runtime || runtime == divisors::in_range) && is_code(out.dst.data_type) &&
           out.post_ops.empty() && (is_ort(out.rule) || is_tflite(out.rule)) &&
           std::all_of(scales.values.begin(), scales.values.end(), is_safe_divisor) &&
           std::all_of(zp.values.begin(), zp.values.end(), jit::is_small_zero_point);
}

/// A parameter vector computed from each divisor.
template <typename F>
int from_divisors(task_builder &b, const masked_values<float> &scales, const memory_desc &md, const F &f) {
    return b.add_params({scales.mask, scales.runtime, [=](const arguments &args, const coordinates &at, int) {
                             const float *values =
                                 scales.runtime ? args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST)
                                                : scales.values.data();
                             return bits(f(values[masked_index(scales.mask, md.dims, md.ndims, at)]));
                         }});
}

/// True if the quotient is in range, and thus a number below 2^31.
bool divide(task_builder &b, const epilogue &out, const masked_values<float> &scales, divisors runtime) {
    if (!may_divide_in_range(out, scales, runtime)) {
        b.step(op::divide, b.values(scales, OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST, out.dst));
        return false;
    }
    const int first = from_divisors(b, scales, out.dst, [](float s) { return 1.f / s; });
    from_divisors(b, scales, out.dst, [](float s) { return s; });
    from_divisors(b, scales, out.dst, [](float s) { return s * -limit_of_quotient; });
    from_divisors(b, scales, out.dst, [](float s) { return s * limit_of_quotient; });
    b.step(op::divide_in_range, first);
    b.set_bound(2 * static_cast<double>(limit_of_quotient));
    return true;
}

// ---- reorder

/// Reals of a float rule: (src - zp) * scales.
void scaled(task_builder &b, const reorder_problem &p) {
    const bool is_integer_src = is_integer(p.src.data_type);
    const bool as_codes = is_ort(p.out_stage.rule) && is_integer_src;
    if (as_codes)
        b.subtract(p.src_zero_points, p.src);
    if (is_integer_src)
        b.step(op::to_f32);
    if (!as_codes)
        b.subtract(p.src_zero_points, p.src, true);
    if (p.src_scales.is_set())
        b.step(op::multiply, b.values(p.src_scales, OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC, p.src));
    if (p.out_stage.output_scales.is_set())
        b.step(op::multiply, b.values(p.out_stage.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, p.dst));
}

/// A sum post-op is fused everywhere but in reorder.
bool has_scaled_sum(const epilogue &out) {
    for (const post_op_entry &entry : out.post_ops)
        if (const auto *sum = stored_sum_of(entry))
            if (!out.fused_sum && sum->scale != 1.f)
                return true;
    return false;
}

} // namespace

task make_task(const reorder_problem &p, divisors d) {
    const requantization_rule rule = p.out_stage.rule;
    task_builder b(p.out_stage);
    b.load(p.src, OCTET_ARG_SRC);
    if (has_scaled_sum(p.out_stage))
        b.refuse("a sum post-op with a scale");
    if (p.concatenates)
        b.refuse("TFLite's older CONCATENATION from anything but 8-bit codes to 8-bit codes");
    if (is_snps_caffe(rule) && !p.out_stage.real_scales.is_set()) {
        scaled(b, p);
        if (p.dst_scales.is_set())
            divide(b, p.out_stage, p.dst_scales, d);
        b.step(op::round_half_away);
        return b.finish(stage::f32_value);
    }
    if (!is_float(rule) && is_integer(p.src.data_type)) {
        b.subtract(p.src_zero_points, p.src);
        return b.finish(stage::accumulator);
    }
    if (!is_float(rule)) { // TFLite QUANTIZE
        const bool is_bounded = p.dst_scales.is_set() && divide(b, p.out_stage, p.dst_scales, d);
        b.step(op::round_half_away);
        b.step(is_bounded ? op::convert_to_s32 : op::to_s32);
        return b.finish(stage::s32_value);
    }
    scaled(b, p);
    if (is_ort(rule) && p.dst_scales.is_set())
        divide(b, p.out_stage, p.dst_scales, d);
    return b.finish(stage::f32_value);
}

bool divides_by_arguments(const reorder_problem &p) {
    const jit::stream_program program = make_task(p, divisors::in_range).program;
    return p.dst_scales.runtime && std::any_of(program.begin(), program.end(), [](const jit::stream_step &s) {
               return s.op == op::divide_in_range;
           });
}

bool are_in_range(const reorder_problem &p, const arguments &args) {
    const auto *scales = args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST);
    return std::all_of(scales, scales + masked_count(p.dst_scales.mask, p.dst), is_safe_divisor);
}

// ---- eltwise

task make_task(const eltwise_problem &p) {
    const requantization_rule rule = p.out_stage.rule;
    task_builder b(p.out_stage);
    b.load(p.src, OCTET_ARG_SRC);
    const bool has_own_logistic = is_ort(rule) || is_snps_caffe(rule);
    if (is_tflite(rule) || is_litert_neon(rule) || (p.alg == algorithm::eltwise_logistic && has_own_logistic))
        b.refuse(text("this function with rule ", to_string(rule), " from anything but known 8-bit codes"));
    const bool from_codes = is_integer(p.src.data_type);
    if (from_codes) {
        b.subtract(p.src_zero_points, p.src);
        b.step(op::to_f32);
    } else {
        b.subtract(p.src_zero_points, p.src, true);
    }
    if (p.src_scale != 1.f)
        b.step_by(op::multiply, p.src_scale);
    b.eltwise(p.alg, p.alpha, p.beta);
    if (has_own_logistic)
        b.step_by(op::divide, p.dst_scale);
    if (is_snps_caffe(rule))
        b.step(op::round_half_away);
    return b.finish(stage::f32_value);
}

// ---- sum and PReLU

namespace {

/// One source as f32.
void load_real(task_builder &b, const memory_desc &src, int arg, float scale) {
    b.load(src, arg);
    if (is_integer(src.data_type))
        b.step(op::to_f32);
    if (scale != 1.f)
        b.step_by(op::multiply, scale);
}

} // namespace

task make_part_of_sum(const sum_problem &p, std::size_t first, std::size_t end, const memory_desc &between) {
    epilogue out = p.out_stage;
    if (end < p.srcs.size()) {
        out = {};
        out.rule = unchanged(true);
        out.dst = between;
    }
    task_builder b(out);
    if (!p.multipliers.empty())
        b.refuse("SNPS-Caffe's sum of codes");
    if (first > 0)
        b.load(between, OCTET_ARG_SRC);
    for (std::size_t i = first; i < end; i++) {
        load_real(b, p.srcs[i], OCTET_ARG_MULTIPLE_SRC + static_cast<int>(i), p.scales[i]);
        if (i > 0)
            b.binary(algorithm::binary_add);
    }
    return b.finish(stage::f32_value);
}

task make_task(const prelu_problem &p) {
    task_builder b(p.out_stage);
    if (is_tflite(p.out_stage.rule))
        b.refuse("TFLite's PRELU");
    load_real(b, p.src, OCTET_ARG_SRC, 1.f);
    load_real(b, p.weights, OCTET_ARG_WEIGHTS, 1.f);
    b.step(op::prelu);
    return b.finish(stage::f32_value);
}

task make_task(const batch_normalization_problem &p) {
    task_builder b(p.out_stage);
    const auto params_of = [&](float folded_normalization::*number) {
        return b.add_params({1 << 1, true, [p, number](const arguments &args, const coordinates &at, int) {
                                 const bound_operands operands(p.operands, p.src.dims[1], args);
                                 const dim_t c = at[1];
                                 return bits(fold_normalization(args.get<const float>(OCTET_ARG_MEAN)[c],
                                                                args.get<const float>(OCTET_ARG_VARIANCE)[c],
                                                                p.epsilon, operands.scale(c),
                                                                operands.shift(c)).*
                                             number);
                             }});
    };
    if (p.computes_stats)
        b.refuse("statistics of the batch");
    b.load(p.src, OCTET_ARG_SRC);
    const int factor = params_of(&folded_normalization::factor);
    params_of(&folded_normalization::term);
    b.step(op::multiply_add, factor);
    if (p.has_relu)
        b.eltwise(algorithm::eltwise_relu, 0.f, 0.f);
    return b.finish(stage::f32_value);
}

// ---- binary

namespace {

void load0(task_builder &b, const binary_problem &p) { b.load(p.src0, OCTET_ARG_SRC_0); }
void load1(task_builder &b, const binary_problem &p) { b.load(p.src1, OCTET_ARG_SRC_1); }

/// True if a centred code has 16 bits, whatever the code.
bool is_narrow(const zero_points &z) {
    constexpr std::int32_t largest = 32767 - 255;
    return !z.values.runtime && std::all_of(z.values.values.begin(), z.values.values.end(),
                                            [](std::int32_t v) { return v >= -largest && v <= largest; });
}

/// The product of the centred codes. An unsigned code lies in the lower word of its lane, and so does its
/// difference from the zero point; then one instruction multiplies.
void multiply_centred(task_builder &b, const binary_problem &p) {
    const bool is_short =
        p.src1.data_type == data_type::u8 && is_narrow(p.zero_points0) && is_narrow(p.zero_points1);
    load0(b, p);
    b.subtract(p.zero_points0, p.src0);
    load1(b, p);
    if (!is_short) {
        b.subtract(p.zero_points1, p.src1);
        return b.step(op::multiply_pair);
    }
    if (p.zero_points1.values.is_set())
        b.step_by(op::subtract_s16, p.zero_points1.values.values[0] & 0xffff);
    b.step(op::multiply_pair_s16);
}

/// Rescaling a centred code is exactly x * integer + round(x * fraction / 2^scale_code_bits).
struct code_scale {
    std::int32_t integer, fraction;
};

/// Codes are so few that all are tried.
std::optional<code_scale> scale_of_codes(requantization_rule rule, const fixed_point_multiplier &m,
                                         const zero_points &z, data_type type) {
    const std::int32_t zero_point = z.values.values.empty() ? 0 : z.values.values[0];
    const type_range codes = range_of(type);
    if (z.values.runtime || !is_code(type) || zero_point < codes.low || zero_point > codes.high ||
        m.shift > 0)
        return {};
    constexpr double one = 1 << jit::scale_code_bits;
    const double real = std::ldexp(m.multiplier, add_left_shift + m.shift - 31), integer = std::floor(real);
    const code_scale scale{static_cast<std::int32_t>(integer),
                           static_cast<std::int32_t>(std::nearbyint((real - integer) * one))};
    for (std::int32_t x = codes.low - zero_point; x <= codes.high - zero_point; x++) {
        const auto rest = static_cast<std::int32_t>(
            rounded_shift_right(std::int64_t{x} * scale.fraction, jit::scale_code_bits));
        if (x * scale.integer + rest != rescaled_code(rule, x, m))
            return {};
    }
    return scale;
}

/// Both codes and the sum rescaled at once, where all numbers are known and that is exact.
std::optional<jit::code_sum> code_sum_of(const binary_problem &p) {
    const epilogue &out = p.out_stage;
    const auto codes = [](const memory_desc &md, const zero_points &z) {
        return jit::centred_codes{range_of(md.data_type), z.values.values.empty() ? 0 : z.values.values[0]};
    };
    if (!is_code(p.src0.data_type) || !is_code(p.src1.data_type) || p.zero_points0.values.runtime ||
        p.zero_points1.values.runtime || out.multipliers.runtime || out.multipliers.values.size() != 1)
        return {};
    return jit::make_code_sum(out.rule, {p.multiplier0, p.multiplier1, out.multipliers.values[0]},
                              codes(p.src0, p.zero_points0), codes(p.src1, p.zero_points1),
                              p.alg == algorithm::binary_sub);
}

task sum_of_rescaled(task_builder &b, const binary_problem &p) {
    if (const auto sum = code_sum_of(p)) {
        load0(b, p);
        load1(b, p);
        b.step(sum->ties_away ? op::code_sum_away_pair : op::code_sum_pair,
               b.constant_s32(jit::code_sum_word(*sum, 0)));
        for (int i = 1; i < jit::code_sum_params; i++)
            b.constant_s32(jit::code_sum_word(*sum, i));
        return b.finish(stage::s32_value);
    }
    const auto rescale = [&](const zero_points &z, const memory_desc &src, const fixed_point_multiplier &m) {
        b.subtract(z, src);
        if (const auto scale = scale_of_codes(p.out_stage.rule, m, z, src.data_type)) {
            b.step_by(op::scale_code, scale->integer);
            b.constant_s32(scale->fraction);
            return;
        }
        b.step(op::shift_left, add_left_shift);
        b.requantize(p.out_stage.rule, m);
    };
    load0(b, p);
    rescale(p.zero_points0, p.src0, p.multiplier0);
    load1(b, p);
    rescale(p.zero_points1, p.src1, p.multiplier1);
    b.step(p.alg == algorithm::binary_sub ? op::subtract_pair : op::add_pair);
    return b.finish(stage::accumulator);
}

/// As in cpu/ref/binary.cpp.
bool src0_is_scalar_inside(const binary_problem &p) {
    for (int d = p.dst.ndims - 1; d >= 0; d--)
        if (p.src0.dims[d] > 1 || p.src1.dims[d] > 1)
            return p.src0.dims[d] == 1;
    return false;
}

std::int32_t value_of(const zero_points &z, const arguments &args) {
    const std::int32_t *values = z.bind(args);
    return values ? *values : 0;
}

/// x * ratio_x + (y * ratio_y + fixed); a scalar operand is x.
task qlinear_sum_of(task_builder &b, const binary_problem &p) {
    const bool swaps = src0_is_scalar_inside(p);
    const auto sum = [p, swaps](const arguments &args) {
        const std::int32_t zp0 = value_of(p.zero_points0, args), zp1 = value_of(p.zero_points1, args),
                           dst_zp = value_of(p.dst_zero_point, args);
        return swaps ? qlinear_sum(p.scale1, zp1, p.scale0, zp0, p.dst_scale, dst_zp)
                     : qlinear_sum(p.scale0, zp0, p.scale1, zp1, p.dst_scale, dst_zp);
    };
    const bool is_runtime =
        p.zero_points0.values.runtime || p.zero_points1.values.runtime || p.dst_zero_point.values.runtime;
    const auto number = [&](float qlinear_sum::*member) {
        return b.add_params({0, is_runtime, [sum, member](const arguments &args, const coordinates &, int) {
                                 return bits(sum(args).*member);
                             }});
    };
    swaps ? load1(b, p) : load0(b, p);
    b.step(op::to_f32);
    swaps ? load0(b, p) : load1(b, p);
    b.step(op::to_f32);
    const int ratio_y = number(&qlinear_sum::ratio_y);
    number(&qlinear_sum::fixed);
    b.step(op::multiply_add, ratio_y);
    b.step(op::multiply_add_pair, number(&qlinear_sum::ratio_x));
    b.step(op::convert_to_s32);
    return b.finish(stage::s32_value);
}

task qlinear_product_of(task_builder &b, const binary_problem &p) {
    multiply_centred(b, p);
    b.step(op::to_f32);
    b.step_by(op::multiply, qlinear_product(p.scale0, 0, p.scale1, 0, p.dst_scale, 0).ratio);
    b.step(op::add, b.add_params({0, p.dst_zero_point.values.runtime,
                                  [z = p.dst_zero_point](const arguments &args, const coordinates &, int) {
                                      return bits(static_cast<float>(value_of(z, args)));
                                  }}));
    b.step(op::convert_to_s32);
    return b.finish(stage::s32_value);
}

task weighted_sum_of(task_builder &b, const binary_problem &p) {
    load0(b, p);
    b.subtract(p.zero_points0, p.src0);
    b.step_by(op::multiply_s32, p.multiplier0.multiplier);
    load1(b, p);
    b.subtract(p.zero_points1, p.src1);
    b.step_by(op::multiply_s32, p.multiplier1.multiplier);
    b.step(p.alg == algorithm::binary_sub ? op::subtract_pair : op::add_pair);
    b.step(p.form == binary_form::xnnpack_sum ? op::shift_right_up : op::divide_by_pot, p.multiplier0.shift);
    // A float rule may round what post-ops leave before the zero point, which is lost behind integers.
    const auto &post_ops = p.out_stage.post_ops;
    const bool ends_in_f32 = std::any_of(post_ops.begin(), post_ops.end(),
                                         [](const post_op_entry &e) { return facts_of(e).gives_f32; });
    if (ends_in_f32 && is_float(p.out_stage.rule)) {
        b.step(op::to_f32);
        return b.finish(stage::f32_value);
    }
    return b.finish(stage::s32_value);
}

task dequantized(task_builder &b, const binary_problem &p) {
    load0(b, p);
    b.subtract(p.zero_points0, p.src0);
    b.step(op::to_f32);
    b.step_by(op::multiply, p.scale0);
    load1(b, p);
    b.subtract(p.zero_points1, p.src1);
    b.step(op::to_f32);
    b.step_by(op::multiply, p.scale1);
    b.binary(p.alg);
    b.step_by(op::divide, p.dst_scale);
    if (is_snps_caffe(p.out_stage.rule))
        b.step(op::round_half_away);
    return b.finish(stage::f32_value);
}

/// The scaling of all products of centred codes, if it is known and results are codes or what a clip leaves of them.
std::optional<product_scale> product_scale_of(const binary_problem &p) {
    const epilogue &out = p.out_stage;
    const masked_values<std::int32_t> &zp = out.dst_zero_points;
    const auto is_small = [](std::int32_t z) { return z >= -128 && z <= 255; };
    const auto range_of_centred = [&](const memory_desc &md, const zero_points &z) {
        const type_range range = range_of(md.data_type);
        const std::int32_t zero_point = z.values.values.empty() ? 0 : z.values.values[0];
        return std::pair{range.low - zero_point, range.high - zero_point};
    };
    const auto all_clip = [&] {
        return std::all_of(out.post_ops.begin(), out.post_ops.end(),
                           [](const post_op_entry &entry) { return limits_of(entry) != nullptr; });
    };
    for (const memory_desc *md : {&p.src0, &p.src1, &p.dst})
        if (!is_code(md->data_type))
            return {};
    for (const masked_values<std::int32_t> *z : {&zp, &p.zero_points0.values, &p.zero_points1.values})
        if (z->runtime || !std::all_of(z->values.begin(), z->values.end(), is_small))
            return {};
    if (out.multipliers.runtime || out.multipliers.values.size() != 1 || !all_clip())
        return {};
    const auto [low0, high0] = range_of_centred(p.src0, p.zero_points0);
    const auto [low1, high1] = range_of_centred(p.src1, p.zero_points1);
    const auto [least, greatest] = std::minmax({low0 * low1, low0 * high1, high0 * low1, high0 * high1});
    return make_product_scale(out.rule, out.multipliers.values[0], least, greatest);
}

task product(task_builder &b, const binary_problem &p) {
    multiply_centred(b, p);
    const auto scale = product_scale_of(p);
    if (!scale)
        return b.finish(stage::accumulator);
    b.step(op::to_f32);
    b.step_by(scale->is_symmetric ? op::multiply_add_symmetric : op::multiply_add, scale->factor);
    b.constant(scale->offset);
    b.step(op::convert_to_s32);
    return b.finish(stage::s32_value);
}

task of_reals(task_builder &b, const binary_problem &p) {
    load_real(b, p.src0, OCTET_ARG_SRC_0, p.scale0);
    load_real(b, p.src1, OCTET_ARG_SRC_1, p.scale1);
    b.binary(p.alg);
    return b.finish(stage::f32_value);
}

} // namespace

task make_task(const binary_problem &p) {
    task_builder b(p.out_stage);
    switch (p.form) {
    case binary_form::f32:
        return of_reals(b, p);
    case binary_form::scaled_sum:
        return sum_of_rescaled(b, p);
    case binary_form::product:
        return product(b, p);
    case binary_form::qlinear_sum:
        return qlinear_sum_of(b, p);
    case binary_form::qlinear_product:
        return qlinear_product_of(b, p);
    case binary_form::qnnpack_sum:
    case binary_form::xnnpack_sum:
        return weighted_sum_of(b, p);
    default:
        return dequantized(b, p);
    }
}

} // namespace octet::impl::stream
