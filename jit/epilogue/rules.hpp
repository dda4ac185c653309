#pragma once

// The fixed-point rules and those with real scales for one vector of accumulators: the vector form of
// common/requantize.hpp, bit for bit. Multipliers, shifts and rounding constants are per output column and
// lie in memory as "planes": for each block of 16 columns, `rule_planes` vectors of 64 bytes, filled once by
// `fill_rule_planes`.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/rules.hpp"
#include "jit/base/emitter.hpp"

namespace octet::impl::jit {

constexpr int columns_per_block = 16;
constexpr int plane_bytes = 64;

/// What decides the code of a rule; the numbers themselves are data.
struct rule_spec {
    requantization_rule rule = requantization_rule::none;
    bool shifts_left = false;     ///< some column has a left shift
    bool real_is_f32 = false;     ///< caffe_double_round: scale and product in f32 instead of f64
    bool short_form = false;      ///< all factors below 1/4 (two steps: 1/2): a shorter code is exact
    bool has_negative = false;    ///< some multiplier is negative
    bool clamps_negative = false; ///< negative results are all alike: any value <= 0 stands for them

    const fixed_point_facts &fixed_point() const { return facts_of(rule).fixed_point; }

    friend bool operator==(const rule_spec &a, const rule_spec &b) {
        return a.rule == b.rule && a.shifts_left == b.shifts_left && a.real_is_f32 == b.real_is_f32 &&
               a.short_form == b.short_form && a.has_negative == b.has_negative &&
               a.clamps_negative == b.clamps_negative;
    }
};

rule_spec make_rule_spec(requantization_rule rule, const std::vector<fixed_point_multiplier> &multipliers,
                         bool real_is_f32, bool clamps_negative = false);

/// Of the magnitude of one multiplier.
rule_spec spec_of_factor(requantization_rule rule, fixed_point_multiplier m);

/// Planes per block of 16 columns; 0 for `none`.
int rule_planes(const rule_spec &spec);

/// True if the 16 bytes of a plane at 16 p hold numbers of columns 4 p to 4 p + 3 alone, so that those of
/// four blocks may be exchanged between blocks.
bool planes_are_in_quarters(const rule_spec &spec);

/// Fills the planes of one block. `multipliers` or `real_scales` has 16 entries (padding columns: any valid
/// value).
void fill_rule_planes(const rule_spec &spec, const fixed_point_multiplier *multipliers,
                      const double *real_scales, std::uint32_t *planes);

/// acc (s32 lanes) = rule(acc). `plane(i)` is the address of this column vector's part of plane i: 64 bytes,
/// or 32 at levels with 8 lanes (the second 8 columns of a block lie 32 bytes further in every plane).
void emit_requantize(emitter &e, const rule_spec &spec, const vec &acc,
                     const std::function<vec_operand(int)> &plane);

} // namespace octet::impl::jit
