// Decides which parts of an epilogue are emitted, and which of its numbers are parameter vectors.
// epilogue_folds.cpp finds the parts that need no code; epilogue_params.cpp fills the parameter vectors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "common/requantize.hpp"
#include "common/text.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

namespace {

/// Mask of the dimensions that values with this mask vary over.
int varying_dims_of(int mask, const memory_desc &dst) {
    int dims = 0;
    for (int d = 0; d < dst.ndims; d++)
        if (mask & (1 << d) && dst.dims[d] != 1)
            dims |= 1 << d;
    return dims;
}
int varying_dims_of(const memory_desc &operand) { return varying_dims_of((1 << operand.ndims) - 1, operand); }

/// Dimensions that parameter vectors may vary over: their columns and the outer ones.
int param_dims(const epilogue_shape &shape) {
    return shape.outer_dims | (shape.channel_dim < 0 ? 0 : 1 << shape.channel_dim);
}

bool is_within(int dims, int allowed) { return (dims & ~allowed) == 0; }

/// How an operand of a binary post-op is read.
enum class operand_shape {
    params,
    full,      ///< as the destination, which has the same layout
    row,       ///< row by row, side by side along a row
    row_value, ///< row by row, one for all of a row
    other
};

bool has_layout_of(const memory_desc &src1, const memory_desc &dst) {
    if (!same_dims(src1, dst) || src1.offset0 != dst.offset0)
        return false;
    for (int d = 0; d < dst.ndims; d++)
        if (dst.dims[d] != 1 && src1.strides[d] != dst.strides[d])
            return false;
    return true;
}

operand_shape shape_of(const memory_desc &src1, const memory_desc &dst, const epilogue_shape &shape) {
    const int dims = varying_dims_of(src1);
    const bool has_rows = shape.row_dim >= 0;
    if (is_within(dims, has_rows ? 0 : param_dims(shape)))
        return operand_shape::params;
    if (has_layout_of(src1, dst))
        return operand_shape::full;
    if (has_rows && is_within(dims, 1 << shape.row_dim))
        return operand_shape::params;
    if (has_rows && src1.dims[shape.row_dim] == 1)
        return operand_shape::row_value;
    if (has_rows && src1.strides[shape.row_dim] == 1)
        return operand_shape::row;
    return is_within(dims, param_dims(shape)) ? operand_shape::params : operand_shape::other;
}

std::array<int, 7> masks_of(const epilogue &e) {
    return {e.output_scales.mask, e.src_scales.mask,  e.weights_scales.mask, e.dst_scales.mask,
            e.multipliers.mask,   e.real_scales.mask, e.dst_zero_points.mask};
}

} // namespace

std::string epilogue_plan::refuses(const epilogue &e, const epilogue_shape &shape) {
    const int allowed = param_dims(shape);
    for (const int mask : masks_of(e))
        if (!is_within(varying_dims_of(mask, e.dst), allowed))
            return text("attribute mask ", mask, " selects more than the output channel");
    if (!is_within(varying_dims_of(e.bias), allowed))
        return "bias varies over more than the output channel";
    for (const post_op_entry &entry : e.post_ops) {
        if (const memory_desc *src1 = src1_of(entry))
            if (shape_of(*src1, e.dst, shape) == operand_shape::other)
                return "binary post-op whose src1 is neither per channel nor of dst's shape and layout";
        if (const std::optional<int> mask = weights_mask_of(entry))
            if (!is_within(varying_dims_of(*mask, e.dst), allowed))
                return "prelu weights vary over more than the output channel";
    }
    return {};
}

int epilogue_plan::varying_dims(const epilogue &e, int row_dim) {
    epilogue_shape any_param{-1, 1, any_f32};
    any_param.outer_dims = -1;
    any_param.row_dim = row_dim;
    int dims = varying_dims_of(e.bias);
    for (const int mask : masks_of(e))
        dims |= varying_dims_of(mask, e.dst);
    for (const post_op_entry &entry : e.post_ops) {
        if (const memory_desc *src1 = src1_of(entry))
            if (shape_of(*src1, e.dst, any_param) == operand_shape::params)
                dims |= varying_dims_of(*src1);
        if (const std::optional<int> mask = weights_mask_of(entry))
            dims |= varying_dims_of(*mask, e.dst);
    }
    return dims;
}

bool epilogue_plan::can_be_interleaved() const {
    if (!bytes_.is_used || !params_are_in_quarters(rule_) || reads_dst(e_))
        return false;
    for (int i = 0; i < static_cast<int>(e_.post_ops.size()); i++)
        if (reads_full_tensor(i))
            return false;
    return true;
}

bool epilogue_plan::is_f32_after(int post_ops) const {
    return post_ops == 0 ? is_float(e_.rule) : facts_of(e_.post_ops[post_ops - 1]).gives_f32;
}

namespace {

/// The first operand comes without its zero point.
std::optional<code_sum> code_sum_of(const post_op_entry &entry, data_type type) {
    const auto *op = sum_of_codes_of(entry);
    if (!op || is_xnnpack(op->rule))
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
    bytes_.is_used = is_code(e.dst.data_type);
    bytes_.low = range.low;
    bytes_.high = range.high;
    fold_last_post_op();
    ends_in_f32_ = is_f32_after(emitted_post_ops_);
    is_bounded_ =
        bytes_.is_used && ends_in_f32_ && stays_in_s32(emitted_post_ops_) && has_small_zero_points();
    bytes_.adds_zero_point = bytes_.is_used && has_common_zero_point && has_small_zero_points() &&
                             (!ends_in_f32_ || facts().rounds_before_zero_point);
    // If codes below that of 0 are clamped to it, the sign of an integer result doesn't matter.
    const std::int32_t zero_point = has_common_zero_point && !zp.runtime ? zp.values[0] : 0;
    const bool is_zero_known = !zp.is_set() || (has_common_zero_point && !zp.runtime);
    const bool clamps_negative = bytes_.is_used && is_zero_known && emitted_post_ops_ == 0 &&
                                 bytes_.low >= zero_point && bytes_.added == 0;
    rule_ = make_rule_spec(e.rule, e.multipliers.values, e.real_scales_are_f32, clamps_negative,
                           e.real_scales.values);

    const auto next = [this](int params = 1) {
        const int first = params_.count;
        params_.count += params;
        return first;
    };
    if (subtracts_row_sums)
        params_.weights_zero_point = next();
    if (is_float(e.rule)) {
        if (e.bias.ndims != 0 && facts().adds_bias_in_f32)
            params_.bias = next();
        if (e.output_scales.is_set() || e.src_scales.is_set() || e.weights_scales.is_set() ||
            e.dst_scales.is_set())
            params_.scale = next();
        if (facts().divides_after_post_ops && e.scale_src_first && e.weights_scales.is_set())
            params_.weights_scale = next();
        if (facts().divides_after_post_ops && e.dst_scales.is_set())
            params_.inverse_dst_scale = next();
        if (may_start_from_magic_bias())
            params_.minus_magic_bias = next();
    } else {
        params_.rule = next(rule_params(rule_));
    }
    if (zp.is_set())
        params_.zero_point = next();
    const bool clamps_f32 = ends_in_f32_ && facts().rounds_before_zero_point && !is_bounded_;
    const bool clamps_s32 = !ends_in_f32_ && zp.is_set() && !bytes_.adds_zero_point;
    if (!is_real(e.dst.data_type) && (clamps_f32 || clamps_s32)) {
        params_.low = next();
        params_.high = next();
    }
    for (int i = 0; i < static_cast<int>(e.post_ops.size()); i++) {
        const bool has_operand = facts_of(e.post_ops[i]).operand != 0;
        const bool is_param = has_operand && !reads_full_tensor(i) && !reads_row_tensor(i);
        params_.post_op.push_back(is_param ? next() : -1);
    }
}

bool epilogue_plan::reads_full_tensor(int post_op) const {
    const memory_desc *src1 = src1_of(e_.post_ops[post_op]);
    return src1 && shape_of(*src1, e_.dst, shape_) == operand_shape::full;
}

bool epilogue_plan::reads_row_tensor(int post_op) const {
    const memory_desc *src1 = src1_of(e_.post_ops[post_op]);
    return (src1 && shape_of(*src1, e_.dst, shape_) == operand_shape::row) || reads_row_value(post_op);
}

bool epilogue_plan::reads_row_value(int post_op) const {
    const memory_desc *src1 = src1_of(e_.post_ops[post_op]);
    return src1 && shape_of(*src1, e_.dst, shape_) == operand_shape::row_value;
}

} // namespace octet::impl::jit
