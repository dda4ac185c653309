#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of batch and layer normalization: their operands and parameters.

#include "api/front.hpp"
#include "common/normalization_problem.hpp"
#include "common/rules.hpp"
#include "octet/types.hpp"

namespace octet::impl {

inline bool has(normalization_flags flags, normalization_flags flag) {
    return (flags & flag) != normalization_flags::none;
}

/// Throws for flags that contradict each other or that `allowed` lacks.
void check_flags(const char *operation, normalization_flags flags, normalization_flags allowed);
/// Throws `invalid_arguments` unless it is a number of at least 0.
void check_epsilon(const char *operation, float epsilon);

/// The layout of the operands of `flags` for so many channels, by argument.
struct operand_tensors {
    operand_tensors(normalization_flags flags, dim_t channels);
    void add_to(tensor_map &tensors) const;
    normalization_operands operands;
    memory_desc vector, joined; ///< {C} and {2, C}
};

/// "epsilon:1e-05 flags:use_global_stats+use_scale", and "prop:forward_training" where statistics are results.
constexpr auto normalization_parameters = [](auto &d, const auto &visit) {
    visit("epsilon", d.epsilon);
    visit("flags", d.flags);
    visit("prop", d.prop,
          d.prop == prop_kind::forward_training && !has(d.flags, normalization_flags::use_global_stats));
};

/// Throws `unimplemented` for any.
void require_no_attributes(const char *operation, const primitive_attr &attr);

/// Post-ops are the only attributes that normalizations and reductions have; rules are f32 and those of `other`.
epilogue lower_post_ops_alone(const char *operation, const primitive_attr &attr, const memory_desc &dst,
                              operators other = operators::reals);

} // namespace octet::impl
