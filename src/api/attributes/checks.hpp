#pragma once

// What attributes may say for an operation: each check throws `invalid_arguments` naming the attribute, what was
// given and what is allowed. Checks of single values are in the setters (primitive_attr.cpp); here values meet
// the tensors and the rule.

#include <map>
#include <string>

#include "octet/primitive_attr.hpp"

namespace octet::impl {

/// What an operation lets its attributes do.
struct attribute_support {
    const char *operation;         ///< for messages
    bool accumulates = true;       ///< integer accumulator in, so every rule works
    bool sums_f32 = false;         ///< the accumulator is a sum of floats: float rules alone
    bool weights = true;           ///< has a weights argument
    int weights_channel_mask = 0;  ///< mask over weights that selects one value per destination channel
    int dst_channel_mask = 1 << 1; ///< the same over dst
    int src_row_mask = 1 << 0;     ///< dimensions of src that are dst's too: scales may vary over them
    /// How TFLite's kernel of the operation multiplies the scales where weights have one.
    scale_derivation tflite_derivation = scale_derivation::tflite_f64;
    bool real_scales_are_f32 = false; ///< SNPS-Caffe's, where they are derived
};

/// Scales and multipliers that contradict the rule.
void check_rule_parameters(const attribute_support &support, const primitive_attr &attr,
                           requantization_rule rule);

/// A post-op that the destination does not fit.
void check_post_op(const attribute_support &support, const memory_desc &dst, const post_op_entry &entry,
                   int index);

/// The mask's dimensions, and the number of values.
template <typename T>
void check_masked(const attribute_support &support, const std::string &what, const masked_values<T> &values,
                  const memory_desc &md);

/// Scales and zero points of arguments that the operation does not have.
void reject_unknown_arguments(const attribute_support &support, const primitive_attr &attr,
                              const std::map<int, const memory_desc *> &known);

} // namespace octet::impl
