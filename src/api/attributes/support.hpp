#pragma once // SPDX-License-Identifier: Apache-2.0

// The attributes that an operation supports: facts that checks (checks.hpp) and derivations (derived.hpp)
// ask.

#include "octet/primitive_attr.hpp"

namespace octet::impl {

/// The attributes that an operation supports.
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

} // namespace octet::impl
