// Which numbers of an epilogue are planes, and their contents.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "jit/epilogue/eltwise.hpp"
#include "jit/epilogue/epilogue.hpp"

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
    if (channel_dim >= 0)
        at[channel_dim] = channel;
    return at;
}

bool works_on_f32(const post_op_entry &entry) {
    return std::holds_alternative<post_op::sum>(entry) || std::holds_alternative<post_op::eltwise>(entry) ||
           std::holds_alternative<post_op::binary>(entry) || std::holds_alternative<post_op::prelu>(entry) ||
           std::holds_alternative<post_op::qlinear_add>(entry);
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
    }
    return refuses_multipliers(e.rule, e.multipliers.values);
}

bool epilogue_plan::can_be_interleaved() const {
    if (!bytes_.is_used || !planes_are_in_quarters(rule_) || reads_dst(e_))
        return false;
    for (int i = 0; i < static_cast<int>(e_.post_ops.size()); i++)
        if (reads_full_tensor(i))
            return false;
    return true;
}

bool epilogue_plan::is_f32_after(int post_ops) const {
    return post_ops == 0 ? is_float(e_.rule) : works_on_f32(e_.post_ops[post_ops - 1]);
}

/// Bound of |x| after a post-op on values up to `bound`.
double epilogue_plan::largest_after(const post_op_entry &entry, double bound) const {
    const auto reads_code = [&](data_type type) { return bytes_.is_used && type == data_type::undef; };
    if (const auto *op = std::get_if<post_op::sum>(&entry); op && reads_code(op->type))
        return bound + std::fabs(op->scale) * (256.0 + std::abs(static_cast<double>(op->zero_point)));
    if (const auto *op = std::get_if<post_op::qlinear_add>(&entry))
        return 256.0 * (std::fabs(op->scale) + std::fabs(op->dst_scale)) + std::fabs(op->shift);
    const auto *op = std::get_if<post_op::eltwise>(&entry);
    if (!op)
        return HUGE_VAL;
    const double alpha = std::fabs(op->alpha), beta = std::fabs(op->beta), scale = std::fabs(op->scale);
    switch (op->algorithm) {
    case algorithm::eltwise_relu:
        return bound * (alpha >= 0 ? std::max(1.0, alpha) : HUGE_VAL) * scale; // NaN is no alpha >= 0
    case algorithm::eltwise_linear:
        return (bound * alpha + beta) * scale;
    default:
        return HUGE_VAL;
    }
}

/// Bound of |x| after the first `post_ops` post-ops of a float rule and a division by the destination's scale,
/// infinite if the arguments of an execution decide it. Finite means that no value on the way is NaN.
double epilogue_plan::largest_result(int post_ops) const {
    const auto largest = [](const masked_values<float> &scales, bool is_divisor) {
        double bound = scales.is_set() ? 0 : 1;
        for (const float s : scales.values) {
            const double factor = is_divisor ? 1.0 / std::fabs(s) : std::fabs(s);
            if (!(factor < HUGE_VAL)) // NaN too
                return HUGE_VAL;
            bound = std::max(bound, factor);
        }
        return scales.runtime ? HUGE_VAL : bound;
    };
    if (!is_float(e_.rule) || (e_.bias.ndims != 0 && e_.rule != requantization_rule::ort_f32))
        return HUGE_VAL;
    // f32_v3 divides behind the post-ops, ort_f32 before them; no quotient is assumed smaller than its dividend.
    const double quotient = std::max(1.0, largest(e_.dst_scales, true));
    const bool divides_last = e_.rule == requantization_rule::f32_v3;
    double bound = shape_.largest_input * largest(e_.output_scales, false) * largest(e_.src_scales, false) *
                   largest(e_.weights_scales, false) * (divides_last ? 1.0 : quotient);
    bool overflows = !(bound <= FLT_MAX);
    for (int i = 0; i < post_ops; i++) {
        bound = largest_after(e_.post_ops[i], bound);
        overflows = overflows || !(bound <= FLT_MAX);
    }
    return overflows ? HUGE_VAL : bound * (divides_last ? quotient : 1.0);
}

namespace {

constexpr double exclusive_bound = 0x1p31 - 1024; // leaves room for a zero point and for rounding

/// The interval that an f32 post-op clips to, if that is what it does.
std::optional<std::pair<float, float>> interval_of(const post_op_entry &entry) {
    const auto *op = std::get_if<post_op::eltwise>(&entry);
    if (!op || op->scale != 1.f)
        return {};
    std::pair<float, float> interval;
    switch (op->algorithm) {
    case algorithm::eltwise_relu:
        if (op->alpha != 0.f)
            return {};
        interval = {0.f, HUGE_VALF};
        break;
    case algorithm::eltwise_bounded_relu:
        interval = {0.f, op->alpha};
        break;
    case algorithm::eltwise_clip:
        interval = {op->alpha, op->beta};
        break;
    default:
        return {};
    }
    if (!(interval.first <= interval.second))
        return {};
    return interval;
}

} // namespace

/// What follows a final clip is monotone, so clipping the value is clamping its code to the codes of the
/// bounds.
void epilogue_plan::fold_last_post_op() {
    const masked_values<std::int32_t> &zp = e_.dst_zero_points;
    if (!bytes_.is_used || e_.post_ops.empty() || zp.runtime || (zp.is_set() && zp.mask != 0))
        return;
    const std::int32_t zero_point = zp.is_set() ? zp.values[0] : 0;
    const type_range range = range_of(e_.dst.data_type);
    const auto code_of = [&](double x) {
        return static_cast<int>(std::clamp<double>(x, range.low, range.high));
    };
    const auto code_of_f32 = [&](float x) {
        return e_.rule == requantization_rule::ort_f32
                   ? code_of(std::nearbyint(x) + zero_point)
                   : code_of(std::nearbyint(x + static_cast<float>(zero_point)));
    };
    const int last = static_cast<int>(e_.post_ops.size()) - 1;
    if (const auto *clip = std::get_if<post_op::clip>(&e_.post_ops[last])) {
        if (is_f32_after(last) &&
            e_.rule != requantization_rule::ort_f32) // which rounds before the zero point
            return;
        bytes_.low = code_of(static_cast<double>(clip->low) + zero_point);
        bytes_.high = code_of(static_cast<double>(clip->high) + zero_point);
    } else if (const auto interval = interval_of(e_.post_ops[last])) {
        const bool scales_after = e_.rule == requantization_rule::f32_v3 && e_.dst_scales.is_set();
        if (!is_f32_after(last) || scales_after || largest_result(last) > exclusive_bound)
            return;
        bytes_.low = code_of_f32(interval->first);
        bytes_.high = code_of_f32(interval->second);
    } else {
        return fold_table();
    }
    emitted_post_ops_ = last;
}

/// A table of the destination's codes is looked up in packed codes, with an addition before it done on words.
void epilogue_plan::fold_table() {
    const auto *table = std::get_if<post_op::table>(&e_.post_ops.back());
    int count = static_cast<int>(e_.post_ops.size()) - 1;
    const auto is_code = [&](int post_ops) {
        return !is_f32_after(post_ops) || e_.rule == requantization_rule::ort_f32;
    };
    if (!table || table->type != e_.dst.data_type || e_.dst_zero_points.is_set() || !is_code(count))
        return;
    bytes_.table = count;
    if (count > 0) {
        const auto *add = std::get_if<post_op::add>(&e_.post_ops[static_cast<std::size_t>(count - 1)]);
        const bool stays_unlimited = !is_f32_after(count - 1) || largest_result(count - 1) < exclusive_bound;
        if (add && std::abs(std::int64_t{add->value}) <= 255 && is_code(count - 1) && stays_unlimited) {
            bytes_.added = add->value;
            count--;
        }
    }
    emitted_post_ops_ = count;
}

/// Without it an integer destination gets the same codes.
void epilogue_plan::drop_zero_point_of_zero() {
    masked_values<std::int32_t> &zp = e_.dst_zero_points;
    const bool is_zero =
        std::all_of(zp.values.begin(), zp.values.end(), [](std::int32_t value) { return value == 0; });
    if (e_.dst.data_type != data_type::f32 && !zp.runtime && is_zero)
        zp = {};
}

namespace {

/// The first operand comes without its zero point.
std::optional<code_sum> code_sum_of(const post_op_entry &entry, data_type type) {
    const auto *op = std::get_if<post_op::scaled_add>(&entry);
    if (!op)
        return {};
    std::optional<code_sum> sum = make_code_sum(op->rule, op->multipliers, {range_of(type), op->zero_point},
                                                {range_of(type), op->dst_zero_point});
    if (sum)
        sum->zero_point_a = 0;
    return sum;
}

} // namespace

epilogue_plan::epilogue_plan(const epilogue &e, const epilogue_shape &shape, bool subtracts_row_sums)
    : e_(e), shape_(shape), emitted_post_ops_(static_cast<int>(e.post_ops.size())) {
    drop_zero_point_of_zero();
    for (const post_op_entry &entry : e.post_ops)
        code_sums_.push_back(code_sum_of(entry, e.dst.data_type));
    const masked_values<std::int32_t> &zp = e_.dst_zero_points;
    const bool has_common_zero_point = zp.is_set() && zp.mask == 0;
    const type_range range = range_of(e.dst.data_type);
    bytes_.is_used = e.dst.data_type == data_type::u8 || e.dst.data_type == data_type::s8;
    bytes_.low = range.low;
    bytes_.high = range.high;
    fold_last_post_op();
    ends_in_f32_ = is_f32_after(emitted_post_ops_);
    is_bounded_ = bytes_.is_used && ends_in_f32_ && largest_result(emitted_post_ops_) < exclusive_bound;
    bytes_.adds_zero_point =
        bytes_.is_used && has_common_zero_point && (!ends_in_f32_ || e.rule == requantization_rule::ort_f32);
    // Where codes below that of 0 are clamped to it, the sign of an integer result doesn't matter.
    const std::int32_t zero_point = has_common_zero_point && !zp.runtime ? zp.values[0] : 0;
    const bool is_zero_known = !zp.is_set() || (has_common_zero_point && !zp.runtime);
    const bool clamps_negative = bytes_.is_used && is_zero_known && emitted_post_ops_ == 0 &&
                                 bytes_.low >= zero_point && bytes_.added == 0;
    rule_ = make_rule_spec(e.rule, e.multipliers.values, e.real_scales_are_f32, clamps_negative);

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
    if (zp.is_set())
        planes_.zero_point = next();
    const bool clamps_f32 = ends_in_f32_ && e.rule == requantization_rule::ort_f32 && !is_bounded_;
    const bool clamps_s32 = !ends_in_f32_ && zp.is_set() && !bytes_.adds_zero_point;
    if (e.dst.data_type != data_type::f32 && (clamps_f32 || clamps_s32)) {
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

// ---- contents

bool epilogue_plan::has_argument_planes() const {
    const auto is_runtime = [](const auto &values) { return values.is_set() && values.runtime; };
    bool has = planes_.bias >= 0 || is_runtime(e_.output_scales) || is_runtime(e_.src_scales) ||
               is_runtime(e_.weights_scales) || is_runtime(e_.dst_scales) || is_runtime(e_.dst_zero_points);
    for (const int plane : planes_.post_op)
        has = has || plane >= 0;
    return has;
}

void epilogue_plan::fill_constants(dim_t first, dim_t count, std::uint32_t *blocks) const {
    fill(nullptr, first, count, blocks);
}

void epilogue_plan::fill_arguments(const arguments &args, dim_t first, dim_t count,
                                   std::uint32_t *blocks) const {
    if (planes_.bias >= 0)
        fill_bias(args, first, count, blocks);
    fill(&args, first, count, blocks);
}

void epilogue_plan::fill_bias(const arguments &args, dim_t first, dim_t count, std::uint32_t *blocks) const {
    const auto *bias = args.get<const void>(OCTET_ARG_BIAS);
    const dim_t stride = e_.bias.dims[shape_.channel_dim] == 1 ? 0 : e_.bias.strides[shape_.channel_dim];
    const dim_t block_words = planes_.count * columns_per_block;
    std::uint32_t *plane = blocks + planes_.bias * columns_per_block;
    for (dim_t c = 0; c < div_up(count, columns_per_block) * columns_per_block; c++)
        plane[c / columns_per_block * block_words + c % columns_per_block] = bits(
            load_f32(bias, e_.bias.data_type, e_.bias.offset0 + (first + std::min(c, count - 1)) * stride));
}

void epilogue_plan::fill(const arguments *args, dim_t first, dim_t count, std::uint32_t *blocks) const {
    const dim_t block_words = planes_.count * columns_per_block;
    for (dim_t c = 0; c < count; c += columns_per_block)
        fill_block(args, first + c, first + count - 1, blocks + c / columns_per_block * block_words);
}

/// The planes of one block that come with the arguments, or without arguments all others.
void epilogue_plan::fill_block(const arguments *args, dim_t first_channel, dim_t last_channel,
                               std::uint32_t *block) const {
    const auto values_at = [&](const auto &values, int arg, const coordinates &at, auto otherwise) {
        using value = decltype(otherwise);
        return value_for<value>(values, args ? args->get<const value>(arg) : nullptr, e_.dst, at, otherwise);
    };
    const type_range range = range_of(e_.dst.data_type);
    fixed_point_multiplier multipliers[columns_per_block];
    double real_scales[columns_per_block];
    for (int i = 0; i < columns_per_block; i++) {
        // Columns past the last channel repeat it: their results are computed and not stored.
        const coordinates at = channel_at(shape_.channel_dim, std::min(first_channel + i, last_channel));
        const auto put = [&](int plane, bool is_argument, const auto &word) {
            if (plane >= 0 && is_argument == (args != nullptr))
                block[plane * columns_per_block + i] = word();
        };

        const bool has_runtime_scales = e_.output_scales.runtime || e_.src_scales.runtime ||
                                        e_.weights_scales.runtime || e_.dst_scales.runtime;
        const auto scale_at = [&](const masked_values<float> &scales, int arg) {
            return values_at(scales, OCTET_ARG_ATTR_SCALES | arg, at, 1.f);
        };
        put(planes_.scale, has_runtime_scales, [&] {
            if (e_.output_scales.is_set())
                return bits(values_at(e_.output_scales, OCTET_ARG_ATTR_OUTPUT_SCALES, at, 1.f));
            float scale = scale_at(e_.src_scales, OCTET_ARG_SRC);
            if (planes_.weights_scale < 0)
                scale *= scale_at(e_.weights_scales, OCTET_ARG_WEIGHTS);
            if (e_.rule == requantization_rule::ort_f32)
                scale /= scale_at(e_.dst_scales, OCTET_ARG_DST);
            return bits(scale);
        });
        put(planes_.weights_scale, has_runtime_scales,
            [&] { return bits(scale_at(e_.weights_scales, OCTET_ARG_WEIGHTS)); });
        put(planes_.inverse_dst_scale, has_runtime_scales,
            [&] { return bits(1.f / scale_at(e_.dst_scales, OCTET_ARG_DST)); });

        const bool has_runtime_zero_point = e_.dst_zero_points.runtime;
        const auto zero_point = [&] {
            return values_at(e_.dst_zero_points, OCTET_ARG_ATTR_ZERO_POINTS | OCTET_ARG_DST, at,
                             std::int32_t{0});
        };
        const bool clamps_f32 = e_.rule == requantization_rule::ort_f32 && ends_in_f32_;
        const bool adds_f32 = e_.dst.data_type == data_type::f32 || (ends_in_f32_ && !clamps_f32);
        put(planes_.zero_point, has_runtime_zero_point, [&] {
            const std::int32_t zp = zero_point();
            if (bytes_.adds_zero_point) // in both words
                return (static_cast<std::uint32_t>(zp) & 0xffff) * 0x10001u;
            return adds_f32 ? bits(static_cast<float>(zp)) : static_cast<std::uint32_t>(zp);
        });
        const auto bound = [&](std::int32_t code) {
            const std::int64_t x = std::int64_t{code} - zero_point();
            return clamps_f32 ? bits(static_cast<float>(x)) : static_cast<std::uint32_t>(saturate_s32(x));
        };
        put(planes_.low, has_runtime_zero_point, [&] { return bound(range.low); });
        put(planes_.high, has_runtime_zero_point, [&] { return bound(range.high); });

        multipliers[i] = value_for<fixed_point_multiplier>(e_.multipliers, nullptr, e_.dst, at, {});
        real_scales[i] = value_for<double>(e_.real_scales, nullptr, e_.dst, at, 0.5);
        for (int k = 0; k < static_cast<int>(e_.post_ops.size()); k++)
            put(planes_.post_op[k], true, [&] { return post_op_word(k, *args, at); });
    }
    if (planes_.rule >= 0 && !args)
        fill_rule_planes(rule_, multipliers, real_scales, block + planes_.rule * columns_per_block);
}

/// The per-channel operand of a binary or prelu post-op.
std::uint32_t epilogue_plan::post_op_word(int index, const arguments &args, const coordinates &at) const {
    const int arg = OCTET_ARG_ATTR_MULTIPLE_POST_OP(index);
    if (const auto *op = std::get_if<post_op::binary>(&e_.post_ops[index]))
        return bits(load_f32(args.get<const void>(arg | OCTET_ARG_SRC_1), op->src1.data.data_type,
                             broadcast_offset(op->src1.data, at)));
    const auto &prelu = std::get<post_op::prelu>(e_.post_ops[index]);
    return bits(args.get<const float>(
        arg | OCTET_ARG_WEIGHTS)[masked_index(prelu.mask, e_.dst.dims, e_.dst.ndims, at)]);
}

} // namespace octet::impl::jit
