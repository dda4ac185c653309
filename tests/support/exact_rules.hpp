#pragma once // SPDX-License-Identifier: Apache-2.0

// The fixed-point rules of doc/arithmetic.md in exact arithmetic: one nearest() for every rounding that a
// rule makes.

#include <algorithm>

#include "exact.hpp"
#include "octet/requantization.hpp"

namespace octet::test::exact {

inline std::int32_t high_mul(std::int32_t a, std::int32_t b) {
    return saturated(nearest(wide{a} * b, 31, ties::up));
}

inline std::int32_t two_steps(std::int32_t x, std::int32_t q, int right_shift) {
    return static_cast<std::int32_t>(nearest(high_mul(x, q), right_shift, ties::away));
}

inline wide scaled_up(std::int32_t acc, int shift) { return acc * power_of_two(std::max(shift, 0)); }

inline std::int32_t tflite_2step(std::int32_t acc, fixed_point_multiplier m) {
    return two_steps(wrapped(scaled_up(acc, m.shift)), m.multiplier, std::max(-m.shift, 0));
}
inline std::int32_t ruy_2step(std::int32_t acc, fixed_point_multiplier m) {
    const std::int32_t high = high_mul(wrapped(scaled_up(acc, m.shift)), m.multiplier);
    return static_cast<std::int32_t>(nearest(high, std::max(-m.shift, 0), ties::up));
}
inline std::int32_t half_away_1step(std::int32_t acc, fixed_point_multiplier m) {
    return wrapped(nearest(wide{acc} * m.multiplier, 31 - m.shift, ties::away));
}
inline std::int32_t gemmlowp_fixedpoint_exponent(std::int32_t acc, fixed_point_multiplier m) {
    return two_steps(saturated(scaled_up(acc, m.shift)), m.multiplier, std::max(-m.shift, 0));
}
inline std::int32_t gemmlowp_fixedpoint(std::int32_t acc, fixed_point_multiplier m) {
    return two_steps(acc, m.multiplier, m.shift);
}
inline std::int32_t tflite_1step(std::int32_t acc, fixed_point_multiplier m) {
    return wrapped(nearest(wide{acc} * m.multiplier, 31 - m.shift, ties::up));
}
inline std::int32_t gemmlowp_legacy_scale(std::int32_t acc, fixed_point_multiplier m) {
    const std::int32_t sum = wrapped(wide{acc} + m.offset);
    return static_cast<std::int32_t>(nearest(wrapped(wide{sum} * m.multiplier), m.shift, ties::away));
}
inline std::int32_t rounded_shift(std::int32_t acc, fixed_point_multiplier m) {
    const wide product = wide{acc} * m.multiplier;
    return saturated(m.shift < 0 ? product * power_of_two(-m.shift) : nearest(product, m.shift, ties::up));
}
inline std::int32_t qnnpack_avgpool(std::int32_t acc, fixed_point_multiplier m) {
    return wrapped(nearest(wide{acc} * m.multiplier, m.shift, ties::away));
}
inline std::int32_t ev_rte15(std::int32_t acc, fixed_point_multiplier m) {
    return saturated(nearest(wide{acc} * m.multiplier, m.shift, ties::even));
}

inline std::int32_t requantize(requantization_rule rule, std::int32_t acc, fixed_point_multiplier m) {
    switch (rule) {
    case requantization_rule::tflite_2step:
        return tflite_2step(acc, m);
    case requantization_rule::tflite_single_rounding:
    case requantization_rule::tflite_1step:
        return tflite_1step(acc, m);
    case requantization_rule::gemmlowp_fixedpoint_exponent:
        return gemmlowp_fixedpoint_exponent(acc, m);
    case requantization_rule::gemmlowp_legacy_scale:
        return gemmlowp_legacy_scale(acc, m);
    case requantization_rule::rounded_shift:
    case requantization_rule::xnnpack_rndnu:
        return rounded_shift(acc, m);
    case requantization_rule::ruy_2step:
        return ruy_2step(acc, m);
    case requantization_rule::half_away_1step:
        return half_away_1step(acc, m);
    case requantization_rule::qnnpack_avgpool:
        return qnnpack_avgpool(acc, m);
    case requantization_rule::ev_rte15:
        return ev_rte15(acc, m);
    default: // caffe2_2step, gemmlowp_fixedpoint
        return gemmlowp_fixedpoint(acc, m);
    }
}

} // namespace octet::test::exact
