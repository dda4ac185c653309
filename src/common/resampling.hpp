#pragma once // SPDX-License-Identifier: Apache-2.0

// The position of a destination element between source elements, along one axis, as each framework computes
// it, in its own precision.

#include "common/resampling_problem.hpp"

namespace octet::impl {

/// Two neighbours and their weights.
struct interpolation {
    dim_t low, high;
    float low_weight, high_weight;
};
/// An interpolation with integer weights.
struct fixed_interpolation {
    dim_t low, high;
    std::int64_t low_weight, high_weight;
};

/// Index of the nearest source element.
dim_t nearest_index(const resampling_problem &p, int axis, dim_t i);
/// Bits of the integer weights of a rule, whose sum is 1 << bits: TFLite's 10, XNNPACK's 11.
int fixed_weight_bits(requantization_rule rule);
/// How a sum by integer weights becomes a code: ties up, else away from zero.
bool weighs_half_up(requantization_rule rule);
/// Neighbours for rules f32, ort_f32 and caffe_double_round.
interpolation interpolate(const resampling_problem &p, int axis, dim_t i);
/// Neighbours for rules with integer weights: tflite_* and xnnpack_*.
fixed_interpolation interpolate_fixed(const resampling_problem &p, int axis, dim_t i);

} // namespace octet::impl
