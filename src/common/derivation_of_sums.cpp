// The parameters of sums and means of codes, and of a range of floats, each exactly as its framework computes
// them (spec: doc/arithmetic.md). Those of a single product are in derivation.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/derivation.hpp"
#include "common/qlinear.hpp"
#include "common/rounding.hpp"
#include "common/scaled_sum.hpp"
#include "common/text.hpp"
#include "octet/float_environment.hpp"

namespace octet {
inline namespace v0 {

/// TFLite's MEAN: before it is divided, the multiplier gains as many bits as the count takes away, at most 32
/// and no more than leave the rule's shift at -31; the quotient is truncated, not rounded.
fixed_point_multiplier divide_by_count(fixed_point_multiplier factor, std::int64_t count) {
    if (count < 1)
        impl::throw_invalid("divide_by_count: count is ", count, ", allowed: at least 1");
    int log2_count = 0;
    while (log2_count < 62 && count >> (log2_count + 1))
        log2_count++;
    const int shift = std::min({log2_count, 32, 31 + factor.shift});
    const std::int64_t multiplier = (std::int64_t{factor.multiplier} << shift) / count;
    return {static_cast<std::int32_t>(multiplier), factor.shift - shift, factor.offset};
}

dynamic_quantization dynamic_quantization_of(float lowest, float highest) {
    const default_float_environment environment;
    if (lowest > highest)
        impl::throw_invalid("dynamic_quantization_of: range [", lowest, ", ", highest,
                            "], allowed: lowest <= highest");
    const float low = 0.f < lowest ? 0.f : lowest, high = highest < 0.f ? 0.f : highest; // NaN stays
    const float scale = high == low ? 1.f : (high - low) / 255.f;
    const float exact = 0.f - low / scale; // NaN of a NaN and of -inf / inf
    const float zero_point = exact < 255.f ? impl::round_to_even(std::max(exact, 0.f)) : 255.f;
    return {scale, static_cast<std::int32_t>(zero_point)};
}

add_multipliers add_multipliers_of(requantization_rule rule, float scale_a, float scale_b, float dst_scale) {
    const default_float_environment environment;
    impl::require_scale("add_multipliers_of", "scale_a", scale_a);
    impl::require_scale("add_multipliers_of", "scale_b", scale_b);
    impl::require_scale("add_multipliers_of", "dst_scale", dst_scale);
    return impl::scaled_sum_multipliers<double>(rule, scale_a, scale_b, dst_scale);
}

qlinear_add_factors qlinear_add_factors_of(float scale_a, std::int32_t zero_point_a, float scale_b,
                                           std::int32_t zero_point_b, float dst_scale,
                                           std::int32_t dst_zero_point) {
    const default_float_environment environment;
    impl::require_scale("qlinear_add_factors_of", "scale_a", scale_a);
    impl::require_scale("qlinear_add_factors_of", "scale_b", scale_b);
    impl::require_scale("qlinear_add_factors_of", "dst_scale", dst_scale);
    const impl::qlinear_sum sum(scale_a, zero_point_a, scale_b, zero_point_b, dst_scale, dst_zero_point);
    return {sum.ratio_x, sum.ratio_y, sum.fixed};
}

} // namespace v0
} // namespace octet
