#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Parametric ReLU: a factor for negative values that is a tensor; its dimensions of size 1 are broadcast.
///
/// - f32 (default): store(src > 0 ? src : src * weights).
/// - tflite_*: TFLite's PRELU, d >= 0 ? M(d) : M_alpha(d * (weights - weights_zp)) with d = src - src_zp.
///   M from `set_requantization` and M_alpha from `set_input_multiplier(OCTET_ARG_WEIGHTS)`, or scales of
///   SRC, WEIGHTS and DST, from which TFLite Micro's multipliers are derived.
///
/// Types   f32, bf16, f16, s32, s8, u8 of each tensor; tflite rules: s8, u8. Scales and zero points are per tensor.
struct OCTET_API prelu_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Weights have the rank of src, each dimension 1 or that of src.
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &dst);
        desc(prop_kind prop, const memory::desc &data, const memory::desc &weights); ///< oneDNN 2.x
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        memory::desc src, weights, dst;
        ///@}

        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_of<desc> {
        using primitive_desc_of::primitive_desc_of;
        primitive_desc() = default;
        /// oneDNN 3.x: descriptor and primitive descriptor in one call.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, src, weights, dst), attr, e, allow_empty) {}
        ///@}
    };

    prelu_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    prelu_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
