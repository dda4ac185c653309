#pragma once // SPDX-License-Identifier: Apache-2.0

// The facts that decide the vector code of a requantization rule.

#include "common/rules.hpp"

namespace octet::impl::jit {

/// The facts that decide the code of a rule; the numbers themselves are data.
struct rule_spec {
    requantization_rule rule = requantization_rule::none;
    bool shifts_left = false; ///< some column has a left shift
    bool real_is_f32 = false; ///< caffe_double_round: scale and product in f32 instead of f64
    /// All factors are below 1/4 (two steps: 1/2; a product in f64: 1): a shorter code is exact.
    bool short_form = false;
    bool has_negative = false;    ///< some multiplier is negative
    bool clamps_negative = false; ///< negative results are all alike: any value <= 0 stands for them

    const fixed_point_facts &fixed_point() const { return facts_of(rule).fixed_point; }

    friend bool operator==(const rule_spec &a, const rule_spec &b) {
        return a.rule == b.rule && a.shifts_left == b.shifts_left && a.real_is_f32 == b.real_is_f32 &&
               a.short_form == b.short_form && a.has_negative == b.has_negative &&
               a.clamps_negative == b.clamps_negative;
    }
};

} // namespace octet::impl::jit
