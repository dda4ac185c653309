// Finds the parts of an epilogue that need no code: bounds of a conversion that no value reaches, and
// post-ops at the end that the store does anyway, a clip by clamping codes and a table by looking codes up. A
// bound too small gives wrong codes, so an unknown value counts as infinite.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/element.hpp"
#include "common/requantize.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

/// Bound of |x| after a post-op on values up to `bound`.
double epilogue_plan::largest_after(const post_op_entry &entry, double bound) const {
    const auto reads_code = [&](data_type type) { return bytes_.is_used && type == data_type::undef; };
    if (const auto *op = stored_sum_of(entry); op && reads_code(op->type))
        return bound + std::fabs(op->scale) * (256.0 + std::abs(static_cast<double>(op->zero_point)));
    if (const auto *op = sum_of_reals_of(entry))
        return 256.0 * (std::fabs(op->scale) + std::fabs(op->dst_scale)) + std::fabs(op->shift);
    const auto *op = function_of(entry);
    if (!op)
        return HUGE_VAL;
    const double alpha = std::fabs(op->alpha), beta = std::fabs(op->beta), scale = std::fabs(op->scale);
    switch (op->algorithm) {
    case algorithm::eltwise_relu:
    case algorithm::eltwise_ort_relu:
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
    if (!is_float(e_.rule) || (e_.bias.ndims != 0 && facts().adds_bias_in_f32))
        return HUGE_VAL;
    // f32_v3 divides behind the post-ops, ort_f32 before them; no quotient is assumed smaller than its dividend.
    const double quotient = std::max(1.0, largest(e_.dst_scales, true));
    const bool divides_last = facts().divides_after_post_ops;
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

} // namespace

bool epilogue_plan::stays_in_s32(int post_ops) const { return largest_result(post_ops) < exclusive_bound; }

bool epilogue_plan::has_small_zero_points() const {
    const std::vector<std::int32_t> &values = e_.dst_zero_points.values;
    return e_.dst_zero_points.runtime || std::all_of(values.begin(), values.end(), is_small_zero_point);
}

namespace {

/// The interval that an f32 post-op clips to, if that is what it does.
std::optional<std::pair<float, float>> interval_of(const post_op_entry &entry) {
    const auto *op = function_of(entry);
    if (!op || op->scale != 1.f)
        return {};
    std::pair<float, float> interval;
    switch (op->algorithm) {
    case algorithm::eltwise_relu:
    case algorithm::eltwise_ort_relu:
        if (op->alpha != 0.f)
            return {};
        interval = {0.f, HUGE_VALF};
        break;
    case algorithm::eltwise_bounded_relu:
        interval = {0.f, op->alpha};
        break;
    case algorithm::eltwise_clip:
    case algorithm::eltwise_ort_clip:
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

/// Folds the last post-op into the store. All steps behind a final clip are monotone, so clipping the value
/// equals clamping its code to the codes of the bounds.
void epilogue_plan::fold_last_post_op() {
    const masked_values<std::int32_t> &zp = e_.dst_zero_points;
    if (!bytes_.is_used || e_.post_ops.empty() || zp.runtime || (zp.is_set() && zp.mask != 0) ||
        !has_small_zero_points())
        return;
    const std::int32_t zero_point = zp.is_set() ? zp.values[0] : 0;
    const type_range range = range_of(e_.dst.data_type);
    const auto code_of = [&](double x) {
        return static_cast<int>(std::clamp<double>(x, range.low, range.high));
    };
    const auto code_of_f32 = [&](float x) {
        return facts().rounds_before_zero_point ? code_of(std::nearbyint(x) + zero_point)
                                                : code_of(std::nearbyint(x + static_cast<float>(zero_point)));
    };
    const int last = static_cast<int>(e_.post_ops.size()) - 1;
    if (const auto *clip = limits_of(e_.post_ops[last])) {
        if (is_f32_after(last) && !facts().rounds_before_zero_point)
            return;
        bytes_.low = code_of(static_cast<double>(clip->low) + zero_point);
        bytes_.high = code_of(static_cast<double>(clip->high) + zero_point);
    } else if (const auto interval = interval_of(e_.post_ops[last])) {
        const bool scales_after = facts().divides_after_post_ops && e_.dst_scales.is_set();
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
    const auto *table = table_of(e_.post_ops.back());
    int count = static_cast<int>(e_.post_ops.size()) - 1;
    const auto is_code = [&](int post_ops) {
        return !is_f32_after(post_ops) || facts().rounds_before_zero_point;
    };
    if (!table || table->type != e_.dst.data_type || e_.dst_zero_points.is_set() || !is_code(count))
        return;
    bytes_.table = count;
    if (count > 0) {
        const auto *add = addend_of(e_.post_ops[static_cast<std::size_t>(count - 1)]);
        const bool stays_unlimited = !is_f32_after(count - 1) || stays_in_s32(count - 1);
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
    if (!is_real(e_.dst.data_type) && !zp.runtime && is_zero)
        zp = {};
}

} // namespace octet::impl::jit
