// Where accumulators start so that they are floats without a conversion, and when this changes no code.

#include <algorithm>
#include <cmath>

#include "common/bits.hpp"
#include "common/element.hpp"
#include "jit/epilogue/epilogue_plan.hpp"

namespace octet::impl::jit {

namespace {

struct interval {
    double low, high;
};

/// Of scales that are known and positive; of others 0 to infinity, for which no bias is right.
interval interval_of(const masked_values<float> &scales) {
    if (!scales.is_set())
        return {1, 1};
    interval found{HUGE_VAL, 0};
    for (const float s : scales.values) {
        if (!(s > 0 && s < HUGE_VALF)) // NaN too
            return {0, HUGE_VAL};
        found = {std::min<double>(found.low, s), std::max<double>(found.high, s)};
    }
    return scales.runtime ? interval{0, HUGE_VAL} : found;
}

} // namespace

/// A float rule that only multiplies, to codes of which those below that of 0 are clamped, so that any negative
/// float stands for any negative sum. A sum of 2^23 or more gets a float that is too large: it must not be
/// stored as anything but the highest code, nor reach the end of s32.
bool epilogue_plan::may_start_from_magic_bias() const {
    const bool only_multiplies =
        planes_.scale >= 0 && planes_.bias < 0 && planes_.weights_scale < 0 && planes_.inverse_dst_scale < 0;
    const double largest_sum = shape_.largest_products + largest_bias;
    if (!is_float(e_.rule) || !only_multiplies || !rule_.clamps_negative || !(largest_sum < 0x1p28))
        return false;
    const interval by_output = interval_of(e_.output_scales), by_src = interval_of(e_.src_scales),
                   by_weights = interval_of(e_.weights_scales),
                   divisor = facts().factor_has_dst_scale() ? interval_of(e_.dst_scales) : interval{1, 1};
    constexpr double rounding = 0x1p-20; // of the factors' product
    const interval scale{by_output.low * by_src.low * by_weights.low / divisor.high * (1 - rounding),
                         by_output.high * by_src.high * by_weights.high / divisor.low * (1 + rounding)};
    const double largest_float =
        from_bits(magic_bias_2p23 + static_cast<std::uint32_t>(largest_sum)) * scale.high;
    const std::int32_t zero_point = e_.dst_zero_points.is_set() ? e_.dst_zero_points.values[0] : 0;
    const bool saturates = 0x1p23 * scale.low + zero_point > range_of(e_.dst.data_type).high;
    return saturates && largest_float < 0x1p30;
}

} // namespace octet::impl::jit
