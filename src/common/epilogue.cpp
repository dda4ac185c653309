#include "common/epilogue.hpp"

#include <algorithm>
#include <cmath>

#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "common/requantize.hpp"
#include "common/scaled_sum.hpp"

namespace octet::impl {

bool reads_dst(const epilogue &e) {
    return std::any_of(e.post_ops.begin(), e.post_ops.end(), [](const post_op_entry &entry) {
        return std::holds_alternative<post_op::sum>(entry) ||
               std::holds_alternative<post_op::rescaled_sum>(entry) ||
               std::holds_alternative<post_op::qlinear_add>(entry) ||
               std::holds_alternative<post_op::scaled_add>(entry);
    });
}

std::int32_t number::as_s32() const {
    if (!is_f32_)
        return s32_;
    if (std::isnan(f32_))
        return int32_min; // what vcvtps2dq gives
    return saturate_s32(static_cast<std::int64_t>(clamp(round_to_even(f32_), -2147483648.f, 2147483648.f)));
}

float binary_op(algorithm alg, float a, float b) {
    switch (alg) {
    case algorithm::binary_add:
        return a + b;
    case algorithm::binary_sub:
        return a - b;
    case algorithm::binary_mul:
        return a * b;
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

memory_desc prelu_weights(int mask, const memory_desc &dst) {
    memory_desc md;
    md.ndims = dst.ndims;
    md.data_type = data_type::f32;
    md.format_kind = format_kind::plain;
    dim_t stride = 1;
    const auto place = [&](int d) {
        md.dims[d] = mask & (1 << d) ? dst.dims[d] : 1;
        md.strides[d] = stride;
        stride *= md.dims[d];
    };
    if (dst.ndims > 1)
        place(1);
    for (int d = dst.ndims - 1; d > 1; d--)
        place(d);
    place(0);
    return md;
}

namespace {

/// The buffer that a post-op reads, if any.
int post_op_argument(const post_op_entry &entry, int index) {
    const int base = OCTET_ARG_ATTR_MULTIPLE_POST_OP(index);
    if (std::holds_alternative<post_op::binary>(entry))
        return base | OCTET_ARG_SRC_1;
    if (std::holds_alternative<post_op::prelu>(entry))
        return base | OCTET_ARG_WEIGHTS;
    return 0;
}

} // namespace

bound_epilogue::bound_epilogue(const epilogue &e, const arguments &args)
    : e_(e), bias_(args.get<const void>(OCTET_ARG_BIAS)), dst_(args.get(OCTET_ARG_DST)),
      output_scales_(args.get<const float>(OCTET_ARG_ATTR_OUTPUT_SCALES)),
      src_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC)),
      weights_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS)),
      dst_scales_(args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST)),
      dst_zero_points_(args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST)) {
    for (int i = 0; i < static_cast<int>(e.post_ops.size()); i++)
        post_op_inputs_[i] = args.get<const void>(post_op_argument(e.post_ops[i], i));
}

template <typename T>
T bound_epilogue::value_at(const masked_values<T> &values, const T *runtime, const coordinates &at,
                           T otherwise) const {
    if (!values.is_set())
        return otherwise;
    const T *table = values.runtime ? runtime : values.values.data();
    return table[masked_index(values.mask, e_.dst.dims, e_.dst.ndims, at)];
}

float bound_epilogue::scale_at(const coordinates &at) const {
    if (e_.output_scales.is_set())
        return value_at(e_.output_scales, output_scales_, at, 1.f);
    const float product =
        value_at(e_.src_scales, src_scales_, at, 1.f) * value_at(e_.weights_scales, weights_scales_, at, 1.f);
    // f32_v3 divides by the destination scale after the post-ops, ort_f32 folds it in here.
    return e_.rule == requantization_rule::ort_f32 ? product / value_at(e_.dst_scales, dst_scales_, at, 1.f)
                                                   : product;
}

number bound_epilogue::requantize(std::int32_t acc, const coordinates &at) const {
    const bool has_bias = e_.bias.ndims != 0;
    const dim_t bias_offset = has_bias ? broadcast_offset(e_.bias, at) : 0;
    const float bias_f32 = has_bias ? load_f32(bias_, e_.bias.data_type, bias_offset) : 0.f;

    switch (e_.rule) {
    case requantization_rule::f32: {
        float x = static_cast<float>(acc);
        if (has_bias)
            x += bias_f32;
        return x * scale_at(at);
    }
    case requantization_rule::f32_v3: {
        float x = static_cast<float>(acc);
        if (e_.scale_src_first)
            x = x * value_at(e_.src_scales, src_scales_, at, 1.f) *
                value_at(e_.weights_scales, weights_scales_, at, 1.f);
        else
            x *= scale_at(at);
        return has_bias ? x + bias_f32 : x;
    }
    default:
        break;
    }

    // All other rules add the bias to the accumulator.
    if (has_bias)
        acc = wrapping_add(acc, load_s32(bias_, e_.bias.data_type, bias_offset));
    if (e_.rule == requantization_rule::ort_f32)
        return static_cast<float>(acc) * scale_at(at);
    if (e_.rule == requantization_rule::caffe_double_round) {
        const double scale = value_at<double>(e_.real_scales, nullptr, at, 1.);
        const float x = e_.real_scales_are_f32 ? caffe_double_round(acc, static_cast<float>(scale))
                                               : caffe_double_round(acc, scale);
        return number(x).as_s32();
    }
    if (e_.rule == requantization_rule::f64_scale)
        return f64_scale(acc, value_at<double>(e_.real_scales, nullptr, at, 1.));
    return impl::requantize(e_.rule, acc, value_at<fixed_point_multiplier>(e_.multipliers, nullptr, at, {}));
}

number bound_epilogue::apply_post_op(const post_op_entry &entry, int index, number x,
                                     const coordinates &at) const {
    const auto dst_before = [&](data_type type) {
        return type == data_type::undef ? e_.dst.data_type : type;
    };

    if (const auto *op = std::get_if<post_op::sum>(&entry)) {
        const float y = load_f32(dst_, dst_before(op->type), plain_offset(e_.dst, at)) -
                        static_cast<float>(op->zero_point);
        return e_.fused_sum ? std::fma(op->scale, y, x.as_f32()) : x.as_f32() + op->scale * y;
    }
    if (const auto *op = std::get_if<post_op::eltwise>(&entry)) {
        const float y = eltwise(op->algorithm, op->alpha, op->beta, x.as_f32());
        return op->scale == 1.f ? y : y * op->scale;
    }
    if (const auto *op = std::get_if<post_op::binary>(&entry)) {
        const memory_desc &src1 = op->src1.data;
        return binary_op(op->algorithm, x.as_f32(),
                         load_f32(post_op_inputs_[index], src1.data_type, broadcast_offset(src1, at)));
    }
    if (const auto *op = std::get_if<post_op::prelu>(&entry)) {
        const dim_t w = broadcast_offset(prelu_weights(op->mask, e_.dst), at);
        const float y = x.as_f32();
        return y >= 0.f ? y : y * static_cast<const float *>(post_op_inputs_[index])[w];
    }
    if (const auto *op = std::get_if<post_op::clip>(&entry))
        return clamp(x.as_s32(), op->low, op->high);
    if (const auto *op = std::get_if<post_op::add>(&entry))
        return saturate_s32(std::int64_t{x.as_s32()} + op->value);
    if (const auto *op = std::get_if<post_op::rescaled_sum>(&entry)) {
        const std::int32_t y = load_s32(dst_, dst_before(op->type), plain_offset(e_.dst, at));
        const std::int32_t term =
            requantize_signed(op->rule, wrap(std::int64_t{y} - op->zero_point), op->multiplier);
        return saturate_s32(std::int64_t{x.as_s32()} + term);
    }
    if (const auto *op = std::get_if<post_op::leaky_relu>(&entry)) {
        const std::int32_t y = x.as_s32();
        return requantize_signed(op->rule, y, y >= 0 ? op->identity : op->alpha);
    }
    // What x would be stored as.
    const auto code_of_x = [&](std::int32_t zero_point) {
        const type_range range = range_of(e_.dst.data_type);
        return static_cast<std::int32_t>(
            clamp<std::int64_t>(std::int64_t{x.as_s32()} + zero_point, range.low, range.high));
    };
    if (const auto *op = std::get_if<post_op::scaled_add>(&entry)) {
        const std::int32_t d = load_s32(dst_, e_.dst.data_type, plain_offset(e_.dst, at));
        const std::int64_t sum =
            std::int64_t{
                rescaled_code(op->rule, code_of_x(op->zero_point) - op->zero_point, op->multipliers.a)} +
            rescaled_code(op->rule, d - op->dst_zero_point, op->multipliers.b);
        return impl::requantize(op->rule, wrap(sum), op->multipliers.dst);
    }
    if (const auto *op = std::get_if<post_op::qlinear_add>(&entry)) {
        const auto c = static_cast<float>(code_of_x(op->zero_point));
        const float d = load_f32(dst_, e_.dst.data_type, plain_offset(e_.dst, at));
        return op->is_second ? std::fma(d, op->dst_scale, std::fma(c, op->scale, op->shift))
                             : std::fma(c, op->scale, std::fma(d, op->dst_scale, op->shift));
    }
    const auto &op = std::get<post_op::table>(entry);
    const type_range range = range_of(op.type);
    return load_s32(op.entries.data(), op.type, clamp(x.as_s32(), range.low, range.high) - range.low);
}

void bound_epilogue::finish(number x, const coordinates &at) const {
    for (int i = 0; i < static_cast<int>(e_.post_ops.size()); i++)
        x = apply_post_op(e_.post_ops[i], i, x, at);
    store(x, at);
}

void bound_epilogue::store(number x, const coordinates &at) const {
    const data_type type = e_.dst.data_type;
    const dim_t offset = element_offset(e_.dst, at);
    const std::int32_t zero_point = value_at(e_.dst_zero_points, dst_zero_points_, at, 0);

    if (x.is_f32() && e_.rule == requantization_rule::f32_v3 && e_.dst_scales.is_set())
        x = x.as_f32() * (1.f / value_at(e_.dst_scales, dst_scales_, at, 1.f));

    if (type == data_type::f32) {
        static_cast<float *>(dst_)[offset] =
            e_.dst_zero_points.is_set() ? x.as_f32() + static_cast<float>(zero_point) : x.as_f32();
    } else if (!x.is_f32()) {
        const type_range range = range_of(type);
        const std::int64_t code = std::int64_t{x.as_s32()} + zero_point;
        store_s32(dst_, type, offset,
                  static_cast<std::int32_t>(clamp<std::int64_t>(code, range.low, range.high)));
    } else if (e_.rule == requantization_rule::ort_f32) {
        // Rounded before the zero point is added; NaN gives the lowest code, as maxps and minps do.
        const type_range range = range_of(type);
        const float low = static_cast<float>(std::int64_t{range.low} - zero_point);
        const float high = static_cast<float>(std::int64_t{range.high} - zero_point);
        const float clamped = x.as_f32() > low ? (x.as_f32() < high ? x.as_f32() : high) : low;
        const std::int64_t code = static_cast<std::int64_t>(round_to_even(clamped)) + zero_point;
        store_s32(dst_, type, offset,
                  static_cast<std::int32_t>(clamp<std::int64_t>(code, range.low, range.high)));
    } else {
        const float y =
            e_.dst_zero_points.is_set() ? x.as_f32() + static_cast<float>(zero_point) : x.as_f32();
        store_s32(dst_, type, offset, down_convert(y, type));
    }
}

} // namespace octet::impl
