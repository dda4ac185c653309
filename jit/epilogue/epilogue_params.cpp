// The contents of an epilogue's parameter vectors: those known at creation, and those that come with each execution.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "common/eltwise_math.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

namespace {

coordinates channel_at(coordinates at, int channel_dim, dim_t channel) {
    if (channel_dim >= 0)
        at[channel_dim] = channel;
    return at;
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

bool epilogue_plan::has_argument_params() const {
    const auto is_runtime = [](const auto &values) { return values.is_set() && values.runtime; };
    bool has = params_.bias >= 0 || is_runtime(e_.output_scales) || is_runtime(e_.src_scales) ||
               is_runtime(e_.weights_scales) || is_runtime(e_.dst_scales) || is_runtime(e_.dst_zero_points);
    for (const int param : params_.post_op)
        has = has || param >= 0;
    return has;
}

void epilogue_plan::fill_constants(dim_t first, dim_t count, std::uint32_t *blocks,
                                   const coordinates &outer) const {
    fill(nullptr, first, count, blocks, outer);
}

void epilogue_plan::fill_arguments(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                                   const coordinates &outer) const {
    if (params_.bias >= 0)
        fill_bias(args, first, count, blocks, outer);
    if (!fill_float_rows(args, first, count, blocks, outer))
        fill(&args, first, count, blocks, outer);
}

/// The usual case, in which all that comes with the arguments are output scales and operands of binary post-ops in f32:
/// they are copied. False, and nothing written, in other cases.
bool epilogue_plan::fill_float_rows(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                                    const coordinates &outer) const {
    struct row {
        int param;
        const float *values; ///< the value of channel `first`
        dim_t stride;
    };
    const int dim = shape_.channel_dim;
    if (dim < 0 || e_.src_scales.runtime || e_.weights_scales.runtime || e_.dst_scales.runtime ||
        e_.dst_zero_points.runtime)
        return false;
    std::array<row, 1 + max_post_ops> rows; // nothing is allocated while a primitive runs
    std::size_t used = 0;
    if (e_.output_scales.runtime && params_.scale >= 0) {
        const int mask = e_.output_scales.mask;
        const auto *scales = args.get<const float>(OCTET_ARG_ATTR_OUTPUT_SCALES);
        if (mask != 0 && mask != 1 << dim)
            return false;
        rows[used++] = {params_.scale, scales + (mask == 0 ? 0 : first), mask == 0 ? 0 : 1};
    }
    for (int k = 0; k < static_cast<int>(e_.post_ops.size()); k++) {
        if (params_.post_op[k] < 0)
            continue;
        const memory_desc *src1 = src1_of(e_.post_ops[k]);
        if (!src1 || src1->data_type != data_type::f32)
            return false;
        const auto *values = args.get<const float>(operand_of(e_.post_ops[k], k));
        const dim_t stride = src1->dims[dim] == 1 ? 0 : src1->strides[dim];
        rows[used++] = {params_.post_op[k], values + broadcast_offset(*src1, channel_at(outer, dim, first)),
                        stride};
    }
    const dim_t block_words = params_.count * columns_per_block;
    for (std::size_t n = 0; n < used; n++)
        for (dim_t c = 0; c < count; c += columns_per_block)
            for (dim_t i = 0; i < columns_per_block; i++) // past the last channel it is repeated
                blocks[c / columns_per_block * block_words + rows[n].param * columns_per_block + i] =
                    bits(rows[n].values[std::min(c + i, count - 1) * rows[n].stride]);
    return true;
}

void epilogue_plan::fill_bias(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks,
                              const coordinates &outer) const {
    const auto *bias = args.get<const void>(OCTET_ARG_BIAS);
    const int dim = shape_.channel_dim;
    const dim_t stride = dim < 0 || e_.bias.dims[dim] == 1 ? 0 : e_.bias.strides[dim];
    const dim_t offset = broadcast_offset(e_.bias, outer) + first * stride;
    const dim_t block_words = params_.count * columns_per_block;
    std::uint32_t *param = blocks + params_.bias * columns_per_block;
    dim_t done = 0;
    if (e_.bias.data_type == data_type::f32 && stride == 1) // whole blocks of words as they are
        for (; done + columns_per_block <= count; done += columns_per_block)
            std::memcpy(param + done / columns_per_block * block_words,
                        static_cast<const float *>(bias) + offset + done, param_vector_bytes);
    for (dim_t c = done; c < div_up(count, columns_per_block) * columns_per_block; c++)
        param[c / columns_per_block * block_words + c % columns_per_block] =
            bits(load_f32(bias, e_.bias.data_type, offset + std::min(c, count - 1) * stride));
}

void epilogue_plan::fill(const arguments *args, dim_t first, dim_t count, std::uint32_t *blocks,
                         const coordinates &outer) const {
    const dim_t block_words = params_.count * columns_per_block;
    for (dim_t c = 0; c < count; c += columns_per_block)
        fill_block(args, first + c, first + count - 1, blocks + c / columns_per_block * block_words, outer);
}

/// The parameter vectors of one block that come with the arguments, or without arguments all others.
void epilogue_plan::fill_block(const arguments *args, dim_t first_channel, dim_t last_channel,
                               std::uint32_t *block, const coordinates &outer) const {
    const auto values_at = [&](const auto &values, int arg, const coordinates &at, auto otherwise) {
        using value = decltype(otherwise);
        return value_for<value>(values, args ? args->get<const value>(arg) : nullptr, e_.dst, at, otherwise);
    };
    const type_range range = range_of(e_.dst.data_type);
    const bool has_runtime_zero_point = e_.dst_zero_points.runtime;
    const bool rule_has_argument = has_runtime_zero_point && facts_of(e_.rule).real.adds_zero_point;
    const bool has_rule_params = params_.rule >= 0 && rule_has_argument == (args != nullptr);
    fixed_point_multiplier multipliers[columns_per_block];
    double real_scales[columns_per_block];
    std::int32_t zero_points[columns_per_block];
    for (int i = 0; i < columns_per_block; i++) {
        // Columns past the last channel repeat it: their results are computed and not stored.
        const coordinates at =
            channel_at(outer, shape_.channel_dim, std::min(first_channel + i, last_channel));
        const auto put = [&](int param, bool is_argument, const auto &word) {
            if (param >= 0 && is_argument == (args != nullptr))
                block[param * columns_per_block + i] = word();
        };

        const bool has_runtime_scales = e_.output_scales.runtime || e_.src_scales.runtime ||
                                        e_.weights_scales.runtime || e_.dst_scales.runtime;
        const auto scale_at = [&](const masked_values<float> &scales, int arg) {
            return values_at(scales, OCTET_ARG_ATTR_SCALES | arg, at, 1.f);
        };
        const auto scale = [&] {
            if (e_.output_scales.is_set())
                return values_at(e_.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, at, 1.f);
            float factor = scale_at(e_.src_scales, OCTET_ARG_SRC);
            if (params_.weights_scale < 0)
                factor = lane::mul(factor, scale_at(e_.weights_scales, OCTET_ARG_WEIGHTS));
            if (facts().factor_has_dst_scale())
                factor /= scale_at(e_.dst_scales, OCTET_ARG_DST);
            return factor;
        };
        put(params_.scale, has_runtime_scales, [&] { return bits(scale()); });
        put(params_.minus_magic_bias, has_runtime_scales, [&] { return bits(-0x1p23f * scale()); });
        put(params_.weights_scale, has_runtime_scales,
            [&] { return bits(scale_at(e_.weights_scales, OCTET_ARG_WEIGHTS)); });
        put(params_.inverse_dst_scale, has_runtime_scales,
            [&] { return bits(1.f / scale_at(e_.dst_scales, OCTET_ARG_DST)); });

        const auto zero_point = [&] {
            return values_at(e_.dst_zero_points, OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, at,
                             std::int32_t{0});
        };
        const bool clamps_f32 = facts().rounds_before_zero_point && ends_in_f32_;
        const bool adds_f32 = is_real(e_.dst.data_type) || (ends_in_f32_ && !clamps_f32);
        put(params_.zero_point, has_runtime_zero_point, [&] {
            const std::int32_t zp = zero_point();
            if (bytes_.adds_zero_point) // in both words
                return (static_cast<std::uint32_t>(zp) & 0xffff) * 0x10001u;
            return adds_f32 ? bits(static_cast<float>(zp)) : static_cast<std::uint32_t>(zp);
        });
        const auto bound = [&](std::int32_t code) {
            const std::int64_t x = std::int64_t{code} - zero_point();
            return clamps_f32 ? bits(static_cast<float>(x)) : static_cast<std::uint32_t>(saturate_s32(x));
        };
        put(params_.low, has_runtime_zero_point, [&] { return bound(range.low); });
        put(params_.high, has_runtime_zero_point, [&] { return bound(range.high); });

        if (has_rule_params) {
            multipliers[i] = value_for<fixed_point_multiplier>(e_.multipliers, nullptr, e_.dst, at, {});
            real_scales[i] = value_for<double>(e_.real_scales, nullptr, e_.dst, at, 0.5);
            zero_points[i] = rule_has_argument || !has_runtime_zero_point ? zero_point() : 0;
        }
        for (int k = 0; k < static_cast<int>(e_.post_ops.size()); k++)
            put(params_.post_op[k], true, [&] { return post_op_word(k, *args, at); });
    }
    if (has_rule_params)
        fill_rule_params(rule_, multipliers, real_scales, zero_points,
                         block + params_.rule * columns_per_block);
}

/// The per-channel operand of a binary or prelu post-op.
std::uint32_t epilogue_plan::post_op_word(int index, const arguments &args, const coordinates &at) const {
    const post_op_entry &entry = e_.post_ops[index];
    const auto read = [&](const memory_desc &operand) {
        return bits(load_f32(args.get<const void>(operand_of(entry, index)), operand.data_type,
                             broadcast_offset(operand, at)));
    };
    const memory_desc *src1 = src1_of(entry);
    return src1 ? read(*src1) : read(operand_desc(entry, e_.dst));
}

} // namespace octet::impl::jit
