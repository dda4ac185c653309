// The meaning of the epilogue for one element: the rule, then an overload of `apply` for each post-op.
// SPDX-License-Identifier: Apache-2.0
#include "common/bound_epilogue.hpp"

#include <cmath>

#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"

namespace octet::impl {

std::int32_t number::as_s32() const { return is_f32_ ? round_to_s32(f32_) : s32_; }

float binary_op(algorithm alg, float a, float b) {
    switch (alg) {
    case algorithm::binary_add:
        return lane::add(a, b);
    case algorithm::binary_sub:
        return a - b;
    case algorithm::binary_mul:
        return lane::mul(a, b);
    case algorithm::binary_div:
        return a / b;
    case algorithm::binary_max:
        return a > b ? a : b;
    case algorithm::binary_min:
        return a < b ? a : b;
    case algorithm::binary_ge:
        return a < b ? 0.f : 1.f;
    case algorithm::binary_gt:
        return a <= b ? 0.f : 1.f;
    case algorithm::binary_le:
        return a <= b ? 1.f : 0.f;
    case algorithm::binary_lt:
        return a < b ? 1.f : 0.f;
    case algorithm::binary_eq:
        return a == b ? 1.f : 0.f;
    default:
        return a != b ? 1.f : 0.f;
    }
}

bound_epilogue::bound_epilogue(const epilogue &e, const arguments &args)
    : e_(e), bias_(args.get<const void>(OCTET_ARG_BIAS)), dst_(args.get(OCTET_ARG_DST)),
      output_scales_(args.get<const float>(OCTET_ARG_ATTR_OUTPUT_SCALES)),
      src_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC)),
      weights_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS)),
      dst_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST)),
      dst_zero_points_(args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST)) {
    for (int i = 0; i < static_cast<int>(e.post_ops.size()); i++)
        post_op_inputs_[i] = args.get<const void>(operand_of(e.post_ops[i], i));
}

template <typename T>
T bound_epilogue::value_at(const masked_values<T> &values, const T *runtime, const coordinates &at,
                           T otherwise) const {
    if (!values.is_set())
        return otherwise;
    const T *table = values.runtime ? runtime : values.values.data();
    return table[masked_index(values.mask, e_.dst.dims, e_.dst.ndims, at)];
}

// ---- the rule

number bound_epilogue::requantize(std::int32_t acc, const coordinates &at) const {
    const rule_facts &facts = facts_of(e_.rule);
    if (e_.bias.ndims != 0 && !facts.f32.adds_bias_in_f32)
        acc = wrapping_add(acc, load_s32(bias_, e_.bias.data_type, broadcast_offset(e_.bias, at)));
    switch (facts.parameters) {
    case rule_parameters::scales:
        return scale(static_cast<float>(acc), at);
    case rule_parameters::multipliers:
        return impl::requantize(e_.rule, acc,
                                value_at<fixed_point_multiplier>(e_.multipliers, nullptr, at, {}));
    case rule_parameters::real_scales:
        return impl::requantize(e_.rule, acc, value_at<double>(e_.real_scales, nullptr, at, 1.),
                                e_.real_scales_are_f32, zero_point_at(at));
    default:
        return acc;
    }
}

float bound_epilogue::scale(float acc, const coordinates &at) const {
    const f32_facts &facts = facts_of(e_.rule).f32;
    const bool has_bias = e_.bias.ndims != 0 && facts.adds_bias_in_f32;
    const float bias = has_bias ? load_f32(bias_, e_.bias.data_type, broadcast_offset(e_.bias, at)) : 0.f;
    float x = acc;
    if (has_bias && !facts.adds_bias_after_scale)
        x += bias;
    if (e_.scale_src_first && facts.divides_after_post_ops)
        x = lane::mul(lane::mul(x, value_at(e_.src_scales, src_scales_, at, 1.f)),
                      value_at(e_.weights_scales, weights_scales_, at, 1.f));
    else
        x = lane::mul(x, scale_at(at));
    if (has_bias && facts.adds_bias_after_scale)
        x = lane::add(x, bias);
    return x;
}

float bound_epilogue::scale_at(const coordinates &at) const {
    if (e_.output_scales.is_set())
        return value_at(e_.output_scales, output_scales_, at, 1.f);
    const float product = lane::mul(value_at(e_.src_scales, src_scales_, at, 1.f),
                                    value_at(e_.weights_scales, weights_scales_, at, 1.f));
    return facts_of(e_.rule).f32.factor_has_dst_scale()
               ? product / value_at(e_.dst_scales, dst_scales_, at, 1.f)
               : product;
}

// ---- post-ops

/// The destination before the primitive ran, read as a type of its size.
std::int32_t bound_epilogue::code_before(data_type type, const coordinates &at) const {
    return load_s32(dst_, type == data_type::undef ? e_.dst.data_type : type, plain_offset(e_.dst, at));
}
float bound_epilogue::f32_before(data_type type, const coordinates &at) const {
    return load_f32(dst_, type == data_type::undef ? e_.dst.data_type : type, plain_offset(e_.dst, at));
}

/// The code that x would be stored as.
std::int32_t bound_epilogue::to_code(number x, std::int32_t zero_point) const {
    const type_range range = range_of(e_.dst.data_type);
    return static_cast<std::int32_t>(
        clamp<std::int64_t>(std::int64_t{x.as_s32()} + zero_point, range.low, range.high));
}

template <> number bound_epilogue::apply(const post_op::sum &op, number x, const context &p) const {
    const float y = f32_before(op.type, p.at) - static_cast<float>(op.zero_point);
    return e_.fused_sum ? lane::fma(y, op.scale, x.as_f32()) : lane::add(op.scale * y, x.as_f32());
}

template <> number bound_epilogue::apply(const post_op::eltwise &op, number x, const context &) const {
    const float y = eltwise(op.algorithm, op.alpha, op.beta, x.as_f32());
    return op.scale == 1.f ? y : y * op.scale;
}

template <> number bound_epilogue::apply(const post_op::binary &op, number x, const context &p) const {
    const memory_desc &src1 = op.src1.data;
    const float y = load_f32(post_op_inputs_[p.index], src1.data_type, broadcast_offset(src1, p.at));
    return binary_op(op.algorithm, x.as_f32(), y);
}

template <> number bound_epilogue::apply(const post_op::prelu &op, number x, const context &p) const {
    const auto *weights = static_cast<const float *>(post_op_inputs_[p.index]);
    const float y = x.as_f32();
    return y >= 0.f ? y : lane::mul(y, weights[broadcast_offset(prelu_weights(op.mask, e_.dst), p.at)]);
}

template <> number bound_epilogue::apply(const post_op::clip &op, number x, const context &) const {
    return clamp(x.as_s32(), op.low, op.high);
}

template <> number bound_epilogue::apply(const post_op::add &op, number x, const context &) const {
    return saturate_s32(std::int64_t{x.as_s32()} + op.value);
}

template <> number bound_epilogue::apply(const post_op::rescaled_sum &op, number x, const context &p) const {
    const std::int32_t y = wrap(std::int64_t{code_before(op.type, p.at)} - op.zero_point);
    return saturate_s32(std::int64_t{x.as_s32()} + requantize_signed(op.rule, y, op.multiplier));
}

template <> number bound_epilogue::apply(const post_op::leaky_relu &op, number x, const context &) const {
    const std::int32_t y = x.as_s32();
    return requantize_signed(op.rule, y, y >= 0 ? op.identity : op.alpha);
}

template <> number bound_epilogue::apply(const post_op::table &op, number x, const context &) const {
    const type_range range = range_of(op.type);
    return load_s32(op.entries.data(), op.type, clamp(x.as_s32(), range.low, range.high) - range.low);
}

template <> number bound_epilogue::apply(const post_op::qlinear_add &op, number x, const context &p) const {
    const auto c = static_cast<float>(to_code(x, op.zero_point));
    const float d = f32_before(data_type::undef, p.at);
    return op.is_second ? std::fma(d, op.dst_scale, std::fma(c, op.scale, op.shift))
                        : std::fma(c, op.scale, std::fma(d, op.dst_scale, op.shift));
}

template <> number bound_epilogue::apply(const post_op::scaled_add &op, number x, const context &p) const {
    const std::int32_t c = to_code(x, op.zero_point) - op.zero_point;
    const std::int32_t d = code_before(data_type::undef, p.at) - op.dst_zero_point;
    if (is_xnnpack(op.rule)) // below 2^30
        return static_cast<std::int32_t>(rounded_shift_right(
            c * op.multipliers.a.multiplier + d * op.multipliers.b.multiplier, op.multipliers.dst.shift));
    const std::int64_t sum = std::int64_t{rescaled_code(op.rule, c, op.multipliers.a)} +
                             rescaled_code(op.rule, d, op.multipliers.b);
    return impl::requantize(op.rule, wrap(sum), op.multipliers.dst);
}

/// Never reached: operations refuse chains with one, and a convolution cuts its chain there.
template <> number bound_epilogue::apply(const post_op::depthwise &, number x, const context &) const {
    return x;
}

// ---- the store

void bound_epilogue::finish(number x, const coordinates &at) const {
    for (int i = 0; i < static_cast<int>(e_.post_ops.size()); i++)
        x = std::visit([&](const auto &op) { return apply(op, x, context{at, i}); }, e_.post_ops[i]);
    store(x, at);
}

std::int32_t bound_epilogue::zero_point_at(const coordinates &at) const {
    return value_at(e_.dst_zero_points, dst_zero_points_, at, 0);
}

void bound_epilogue::store(number x, const coordinates &at) const {
    const dim_t offset = element_offset(e_.dst, at);
    if (x.is_f32() && facts_of(e_.rule).f32.divides_after_post_ops && e_.dst_scales.is_set())
        x = lane::mul(x.as_f32(), 1.f / value_at(e_.dst_scales, dst_scales_, at, 1.f));
    if (is_real(e_.dst.data_type))
        store_f32(dst_, e_.dst.data_type, offset,
                  e_.dst_zero_points.is_set() ? x.as_f32() + static_cast<float>(zero_point_at(at))
                                              : x.as_f32());
    else
        store_s32(dst_, e_.dst.data_type, offset,
                  x.is_f32() ? f32_as_code(x.as_f32(), at) : to_code(x, zero_point_at(at)));
}

std::int32_t bound_epilogue::f32_as_code(float x, const coordinates &at) const {
    const std::int32_t zero_point = zero_point_at(at);
    if (!facts_of(e_.rule).f32.rounds_before_zero_point)
        return down_convert(e_.dst_zero_points.is_set() ? x + static_cast<float>(zero_point) : x,
                            e_.dst.data_type);
    // NaN gives the lowest code, as maxps and minps do.
    const type_range range = range_of(e_.dst.data_type);
    const float low = static_cast<float>(std::int64_t{range.low} - zero_point);
    const float high = static_cast<float>(std::int64_t{range.high} - zero_point);
    const float clamped = lane::min(lane::max(x, low), high);
    const std::int64_t code = static_cast<std::int64_t>(round_to_even(clamped)) + zero_point;
    return static_cast<std::int32_t>(clamp<std::int64_t>(code, range.low, range.high));
}

} // namespace octet::impl
