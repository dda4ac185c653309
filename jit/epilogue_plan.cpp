// Which numbers of an epilogue are planes, and their contents.

#include <algorithm>
#include <cstring>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "jit/eltwise.hpp"
#include "jit/epilogue.hpp"

namespace octet::impl::jit {

namespace {

/// True if values with this mask depend on nothing but the channel.
bool is_per_channel(int mask, const memory_desc &dst, int channel_dim) {
    for (int d = 0; d < dst.ndims; d++)
        if (mask & (1 << d) && d != channel_dim && dst.dims[d] != 1)
            return false;
    return true;
}

enum class operand_shape { per_channel, full, other };

operand_shape shape_of(const memory_desc &src1, const memory_desc &dst, int channel_dim) {
    bool per_channel = true;
    for (int d = 0; d < dst.ndims; d++)
        per_channel = per_channel && (d == channel_dim || src1.dims[d] == 1);
    if (per_channel)
        return operand_shape::per_channel;
    if (!same_dims(src1, dst) || src1.offset0 != dst.offset0)
        return operand_shape::other;
    for (int d = 0; d < dst.ndims; d++)
        if (dst.dims[d] != 1 && src1.strides[d] != dst.strides[d])
            return operand_shape::other;
    return operand_shape::full;
}

coordinates channel_at(int channel_dim, dim_t channel) {
    coordinates at{};
    at[channel_dim] = channel;
    return at;
}

std::uint32_t bits(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, sizeof u);
    return u;
}

bool works_on_f32(const post_op_entry &entry) {
    return std::holds_alternative<post_op::sum>(entry) || std::holds_alternative<post_op::eltwise>(entry) ||
           std::holds_alternative<post_op::binary>(entry) || std::holds_alternative<post_op::prelu>(entry);
}

/// Value of a masked attribute for one channel.
template <typename T>
T value_for(const masked_values<T> &values, const T *runtime, const memory_desc &dst, const coordinates &at,
            T otherwise) {
    if (!values.is_set())
        return otherwise;
    const T *data = values.runtime ? runtime : values.values.data();
    return data[masked_index(values.mask, dst.dims, dst.ndims, at)];
}

} // namespace

std::string epilogue_plan::refuses(const epilogue &e, const epilogue_shape &shape) {
    const auto masks = {e.output_scales.mask, e.src_scales.mask,  e.weights_scales.mask, e.dst_scales.mask,
                        e.multipliers.mask,   e.real_scales.mask, e.dst_zero_points.mask};
    for (const int mask : masks)
        if (!is_per_channel(mask, e.dst, shape.channel_dim))
            return text("attribute mask ", mask, " selects more than the output channel");
    if (e.bias.ndims != 0 && shape_of(e.bias, e.dst, shape.channel_dim) != operand_shape::per_channel)
        return "bias varies over more than the output channel";
    if (e.rule == requantization_rule::ort_f32 && e.dst.data_type == data_type::s32 &&
        e.dst_zero_points.is_set())
        return "ort_f32 with an s32 destination and a zero point";
    for (const post_op_entry &entry : e.post_ops) {
        if (const auto *op = std::get_if<post_op::binary>(&entry))
            if (shape_of(op->src1.data, e.dst, shape.channel_dim) == operand_shape::other)
                return "binary post-op whose src1 is neither per channel nor of dst's shape and layout";
        if (const auto *op = std::get_if<post_op::prelu>(&entry))
            if (!is_per_channel(op->mask, e.dst, shape.channel_dim))
                return "prelu weights vary over more than the output channel";
        if (std::holds_alternative<post_op::rescaled_sum>(entry))
            return "rescaled_sum post-op";
        if (std::holds_alternative<post_op::leaky_relu>(entry))
            return "leaky_relu post-op";
    }
    return refuses_multipliers(e.rule, e.multipliers.values);
}

epilogue_plan::epilogue_plan(const epilogue &e, const epilogue_shape &shape, bool subtracts_row_sums)
    : e_(e), shape_(shape), rule_(make_rule_spec(e.rule, e.multipliers.values, e.real_scales_are_f32)),
      ends_in_f32_(e.post_ops.empty() ? is_float(e.rule) : works_on_f32(e.post_ops.back())) {
    const auto next = [this](int planes = 1) {
        const int first = planes_.count;
        planes_.count += planes;
        return first;
    };
    if (subtracts_row_sums)
        planes_.weights_zero_point = next();
    if (is_float(e.rule)) {
        if (e.bias.ndims != 0 && e.rule != requantization_rule::ort_f32)
            planes_.bias = next();
        if (e.output_scales.is_set() || e.src_scales.is_set() || e.weights_scales.is_set() ||
            e.dst_scales.is_set())
            planes_.scale = next();
        if (e.rule == requantization_rule::f32_v3 && e.scale_src_first && e.weights_scales.is_set())
            planes_.weights_scale = next();
        if (e.rule == requantization_rule::f32_v3 && e.dst_scales.is_set())
            planes_.inverse_dst_scale = next();
    } else {
        planes_.rule = next(rule_planes(rule_));
    }
    if (e.dst_zero_points.is_set())
        planes_.zero_point = next();
    const bool f32_bounds = ends_in_f32_ && e.rule == requantization_rule::ort_f32;
    if (e.dst.data_type != data_type::f32 && (f32_bounds || (!ends_in_f32_ && e.dst_zero_points.is_set()))) {
        planes_.low = next();
        planes_.high = next();
    }
    for (int i = 0; i < static_cast<int>(e.post_ops.size()); i++) {
        const bool is_binary = std::holds_alternative<post_op::binary>(e.post_ops[i]);
        const bool is_plane =
            (is_binary && !reads_full_tensor(i)) || std::holds_alternative<post_op::prelu>(e.post_ops[i]);
        planes_.post_op.push_back(is_plane ? next() : -1);
    }
}

bool epilogue_plan::reads_full_tensor(int post_op) const {
    const auto *op = std::get_if<post_op::binary>(&e_.post_ops[post_op]);
    return op && shape_of(op->src1.data, e_.dst, shape_.channel_dim) == operand_shape::full;
}

int epilogue_plan::temps(cpu_isa level) const {
    const bool ymm = level == cpu_isa::avx2 || level == cpu_isa::avx_vnni;
    int count = std::max(1, requantize_temps(rule_, level));
    if (ymm)
        count = std::max(count, 2); // packing and masks of a store
    for (const post_op_entry &entry : e_.post_ops) {
        int needed = ymm ? 5 : 3; // the largest of the small ones: saturating add, prelu with its mask
        if (const auto *op = std::get_if<post_op::eltwise>(&entry))
            needed = std::max(needed, eltwise_temps(op->algorithm, op->alpha, op->beta, level));
        count = std::max(count, needed);
    }
    return count;
}

std::string epilogue_plan::code_key() const {
    const auto integer = [](std::int64_t x) { return std::to_string(x) + ","; };
    const auto real = [&](float x) { return integer(bits(x)); };
    std::string key = integer(static_cast<int>(e_.rule)) + integer(rule_.shifts_left) +
                      integer(rule_.short_form) + integer(rule_.real_is_f32) +
                      integer(static_cast<int>(e_.dst.data_type)) + integer(planes_.count);
    for (const int plane :
         {planes_.weights_zero_point, planes_.bias, planes_.scale, planes_.weights_scale,
          planes_.inverse_dst_scale, planes_.zero_point, planes_.low, planes_.high, planes_.rule})
        key += integer(plane);
    for (int i = 0; i < static_cast<int>(e_.post_ops.size()); i++) {
        const post_op_entry &entry = e_.post_ops[i];
        key += "|" + integer(static_cast<int>(entry.index())) + integer(planes_.post_op[i]);
        if (const auto *op = std::get_if<post_op::sum>(&entry))
            key += real(op->scale) + integer(op->zero_point) + integer(static_cast<int>(op->type));
        if (const auto *op = std::get_if<post_op::eltwise>(&entry))
            key +=
                integer(static_cast<int>(op->algorithm)) + real(op->alpha) + real(op->beta) + real(op->scale);
        if (const auto *op = std::get_if<post_op::binary>(&entry))
            key +=
                integer(static_cast<int>(op->algorithm)) + integer(static_cast<int>(op->src1.data.data_type));
        if (const auto *op = std::get_if<post_op::clip>(&entry))
            key += integer(op->low) + integer(op->high);
        if (const auto *op = std::get_if<post_op::add>(&entry))
            key += integer(op->value);
        if (const auto *op = std::get_if<post_op::table>(&entry))
            key += integer(static_cast<int>(op->type)) + std::string(op->entries.begin(), op->entries.end());
    }
    return key;
}

void epilogue_plan::fill(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks) const {
    const dim_t block_words = planes_.count * columns_per_block;
    for (dim_t c = 0; c < count; c += columns_per_block)
        fill_block(args, first + c, first + count - 1, blocks + c / columns_per_block * block_words);
}

void epilogue_plan::fill_block(const arguments &args, dim_t first_channel, dim_t last_channel,
                               std::uint32_t *block) const {
    const auto *output_scales = args.get<const float>(OCTET_ARG_ATTR_OUTPUT_SCALES);
    const auto *src_scales = args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_SRC);
    const auto *weights_scales = args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_WEIGHTS);
    const auto *dst_scales = args.get<const float>(OCTET_ARG_ATTR_SCALES | OCTET_ARG_DST);
    const auto *zero_points = args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST);
    const type_range range = range_of(e_.dst.data_type);

    fixed_point_multiplier multipliers[columns_per_block];
    double real_scales[columns_per_block];
    for (int i = 0; i < columns_per_block; i++) {
        // Columns past the last channel repeat it: their results are computed and not stored.
        const coordinates at = channel_at(shape_.channel_dim, std::min(first_channel + i, last_channel));
        const auto put = [&](int plane, std::uint32_t word) {
            if (plane >= 0)
                block[plane * columns_per_block + i] = word;
        };

        const float s_src = value_for(e_.src_scales, src_scales, e_.dst, at, 1.f),
                    s_wei = value_for(e_.weights_scales, weights_scales, e_.dst, at, 1.f);
        const float s_dst = value_for(e_.dst_scales, dst_scales, e_.dst, at, 1.f);
        float scale = planes_.weights_scale >= 0 ? s_src : s_src * s_wei;
        if (e_.rule == requantization_rule::ort_f32)
            scale /= s_dst;
        if (e_.output_scales.is_set())
            scale = value_for(e_.output_scales, output_scales, e_.dst, at, 1.f);
        put(planes_.scale, bits(scale));
        put(planes_.weights_scale, bits(s_wei));
        put(planes_.inverse_dst_scale, bits(1.f / s_dst));
        if (planes_.bias >= 0)
            put(planes_.bias, bits(load_f32(args.get<const void>(OCTET_ARG_BIAS), e_.bias.data_type,
                                            broadcast_offset(e_.bias, at))));

        const std::int32_t zp = value_for(e_.dst_zero_points, zero_points, e_.dst, at, 0);
        const bool f32_bounds = e_.rule == requantization_rule::ort_f32 && ends_in_f32_;
        const bool f32_codes = e_.dst.data_type == data_type::f32 || (ends_in_f32_ && !f32_bounds);
        put(planes_.zero_point, f32_codes ? bits(static_cast<float>(zp)) : static_cast<std::uint32_t>(zp));
        const std::int64_t low = std::int64_t{range.low} - zp, high = std::int64_t{range.high} - zp;
        put(planes_.low,
            f32_bounds ? bits(static_cast<float>(low)) : static_cast<std::uint32_t>(saturate_s32(low)));
        put(planes_.high,
            f32_bounds ? bits(static_cast<float>(high)) : static_cast<std::uint32_t>(saturate_s32(high)));

        multipliers[i] = value_for<fixed_point_multiplier>(e_.multipliers, nullptr, e_.dst, at, {});
        real_scales[i] = value_for<double>(e_.real_scales, nullptr, e_.dst, at, 0.5);
        for (int k = 0; k < static_cast<int>(e_.post_ops.size()); k++) {
            if (planes_.post_op[k] < 0)
                continue;
            const int arg = OCTET_ARG_ATTR_MULTIPLE_POST_OP(k);
            if (const auto *op = std::get_if<post_op::binary>(&e_.post_ops[k]))
                put(planes_.post_op[k],
                    bits(load_f32(args.get<const void>(arg | OCTET_ARG_SRC_1), op->src1.data.data_type,
                                  broadcast_offset(op->src1.data, at))));
            else if (const auto *prelu = std::get_if<post_op::prelu>(&e_.post_ops[k]))
                put(planes_.post_op[k],
                    bits(args.get<const float>(
                        arg | OCTET_ARG_WEIGHTS)[masked_index(prelu->mask, e_.dst.dims, e_.dst.ndims, at)]));
        }
    }
    if (planes_.rule >= 0)
        fill_rule_planes(rule_, multipliers, real_scales, block + planes_.rule * columns_per_block);
}

} // namespace octet::impl::jit
