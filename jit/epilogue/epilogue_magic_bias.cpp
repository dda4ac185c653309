// When accumulators may start from the bits of 2^23, so that they are floats without a conversion.
//
// A float rule converts each sum Σ to f32 and multiplies it by a scale s: two instructions, and the
// conversion runs on the ports that multiply. The floats from 2^23 to 2^24 lie 1 apart. Their bits are
// therefore consecutive integers: 0x4b000000 is 2^23, 0x4b000001 is 2^23 + 1, and so on. An accumulator that
// starts from 0x4b000000 instead of 0 holds, after the integer additions, the bits of the float 2^23 + Σ for
// every 0 <= Σ < 2^23. One fused multiply-add with the parameter vector -2^23 s then gives
//
//   (2^23 + Σ) s - 2^23 s  =  Σ s, rounded once,
//
// Conversion (exact below 2^24) and product give the same bits with one instruction more. (-2^23 s is exact, a power of
// two times s.)
//
// Outside of [0, 2^23) the bits are those of another float, and the result is wrong. It must not matter:
//
//   Σ < 0       the bits stand for a float below 2^23 that is no integer distance away, so the result is
//               some negative number. Right where all negative results are stored as one code, as with a
//               ReLU or an unsigned destination whose zero point is its lowest code.
//   Σ >= 2^23   the floats lie 2 and more apart, so the result is too large. Right where 2^23 s is already
//               stored as the highest code, and where no result leaves s32.
//
// Both are asked here. The bias of a column is part of Σ: biases beyond `largest_bias` are found at execution, and the
// driver then takes a kernel that starts from 0.
// SPDX-License-Identifier: Apache-2.0
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

/// The range of scales that are known and positive; of others 0 to infinity, for which no bias is right.
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
        params_.scale >= 0 && params_.bias < 0 && params_.weights_scale < 0 && params_.inverse_dst_scale < 0;
    const double largest_sum = shape_.largest_products + largest_bias;
    if (!is_float(e_.rule) || !only_multiplies || !rule_.clamps_negative || !(largest_sum < 0x1p28))
        return false;
    const interval by_output = interval_of(e_.output_scales), by_src = interval_of(e_.src_scales),
                   by_weights = interval_of(e_.weights_scales),
                   divisor = facts().factor_has_dst_scale() ? interval_of(e_.dst_scales) : interval{1, 1};
    constexpr double rounding = 0x1p-20; // relative error of the factors' product
    const interval scale{by_output.low * by_src.low * by_weights.low / divisor.high * (1 - rounding),
                         by_output.high * by_src.high * by_weights.high / divisor.low * (1 + rounding)};
    const double largest_float =
        from_bits(magic_bias_2p23 + static_cast<std::uint32_t>(largest_sum)) * scale.high;
    const std::int32_t zero_point = e_.dst_zero_points.is_set() ? e_.dst_zero_points.values[0] : 0;
    const bool saturates = 0x1p23 * scale.low + zero_point > range_of(e_.dst.data_type).high;
    return saturates && largest_float < 0x1p30;
}

} // namespace octet::impl::jit
