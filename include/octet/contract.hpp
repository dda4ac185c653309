#pragma once // SPDX-License-Identifier: Apache-2.0

// From the scales of an accumulating operator to the attributes of its primitive, under any requantization
// rule: the framework's own multipliers, or those that another framework would derive from the same scales.
// Networks do this for their nodes; who calls primitives by hand can do it for theirs. Part of
// octet::network.

#include <cstdint>
#include <vector>

#include "octet/export.hpp"
#include "octet/primitive_attr.hpp"
#include "octet/requantization.hpp"

namespace octet {
inline namespace v0 {
namespace model {

/// A scaled accumulator: real = src_scale * weights_scale * acc, and real = dst_scale * (code -
/// dst_zero_point).
struct accumulator {
    float src_scale = 0;               ///< positive
    float dst_scale = 0;               ///< positive
    std::vector<float> weights_scales; ///< one, or one per output channel
    std::int32_t dst_zero_point = 0;   ///< for ranges alone; set it on the attributes, too
    scale_derivation derivation = scale_derivation::tflite_f64; ///< for rules that start from a double
    /// Masks of the output channel over dst and weights, if there are several scales.
    ///@{
    int dst_mask = 0, weights_mask = 0;
    ///@}
    /// Bounds of |acc|, as many as weights_scales (gemmlowp_legacy_scale).
    std::vector<std::int64_t> magnitudes;
};

/// Sets rule, multipliers or scales. `automatic` stands for tflite_2step. Throws octet::error for `none` (it
/// gives no 8-bit codes) and for a factor that the rule cannot represent.
OCTET_API void set_contract(primitive_attr &attr, requantization_rule rule, const accumulator &acc);

/// Appends the range of a fused activation, given in codes, in the units of the rule's post-ops.
OCTET_API void append_range(octet::post_ops &ops, requantization_rule rule, const accumulator &acc,
                            std::int32_t low, std::int32_t high);

/// Returns whether the rule adds the bias after the scale, in real units, instead of to the accumulator.
OCTET_API bool has_real_bias(requantization_rule rule);

/// Returns whether the multiplier depends on `accumulator::magnitudes`; `legacy_scale_multiplier` computes it
/// then.
OCTET_API bool needs_magnitudes(requantization_rule rule);

/// (acc * multiplier) * 2^-shift for gemmlowp's legacy stage. Its product wraps at 32 bits, so the multiplier
/// is the widest of at most 16 bits with which an accumulator of this magnitude stays inside.
OCTET_API fixed_point_multiplier legacy_scale_multiplier(double real, std::int64_t magnitude);

} // namespace model
} // namespace v0
} // namespace octet
