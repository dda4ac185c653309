#pragma once // SPDX-License-Identifier: Apache-2.0

// The numbers that the vector form of a rule reads (rules_emitter.hpp has its code). Multipliers, shifts and
// rounding constants are per output column and lie in memory as "parameter vectors": for each block of 16
// columns, `rule_params` vectors of 64 bytes, filled once by `fill_rule_params`.

#include <cstdint>
#include <vector>

#include "jit/epilogue/rule_spec.hpp"

namespace octet::impl::jit {

constexpr int columns_per_block = 16;
constexpr int param_vector_bytes = 64;

/// The rule in the shortest form that these factors allow. Without `real_scales` nothing is known of real ones.
rule_spec make_rule_spec(requantization_rule rule, const std::vector<fixed_point_multiplier> &multipliers,
                         bool real_is_f32, bool clamps_negative = false,
                         const std::vector<double> &real_scales = {});

/// The spec of a rule with the magnitude of one multiplier.
rule_spec spec_of_factor(requantization_rule rule, fixed_point_multiplier m);

/// Parameter vectors per block of 16 columns; 0 for `none`.
int rule_params(const rule_spec &spec);

/// True if the 16 bytes of a parameter vector at 16 p hold numbers of columns 4 p to 4 p + 3 alone, so that those of
/// four blocks may be exchanged between blocks.
bool params_are_in_quarters(const rule_spec &spec);

/// Fills the parameter vectors of one block. `multipliers` or `real_scales` has 16 entries (padding columns: any valid
/// value), and so has `zero_points` for a rule that adds them before it rounds.
void fill_rule_params(const rule_spec &spec, const fixed_point_multiplier *multipliers,
                      const double *real_scales, const std::int32_t *zero_points, std::uint32_t *params);

} // namespace octet::impl::jit
