#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// The logarithm of softmax along one axis, in oneDNN 2.6.3's arithmetic. With d = src - max along the axis
///
///   dst = (d - log Σ exp(d)) * scale
///
/// Where the axis is innermost in memory, exp and log are those of doc/eltwise.md and element i is added to lane
/// i mod 16; the lanes are added by halves. Elsewhere the sum is in ascending order, of the C library's expf and
/// logf. In a dst of bf16 or f16, d is rounded to that type before log Σ is subtracted. (softmax_forward with
/// algorithm::softmax_log has lanes along every axis.)
///
/// Shapes   1 to 6 dimensions; dst as src.
/// Types    f32, bf16, f16, s8, u8 on either side; codes are numbers, stored rounded to nearest even and saturated.
/// Layouts  any plain layout; `any` is row-major.
/// Attributes  output scales.
struct OCTET_API logsoftmax_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// `axis`: the dimension that is normalized, from 0. One descriptor is that of both sides.
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis);
        desc(prop_kind prop, const memory::desc &data, int axis); ///< oneDNN 2.x
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        memory::desc src, dst;
        int axis;
        ///@}

        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_of<desc> {
        using primitive_desc_of::primitive_desc_of;
        primitive_desc() = default;
        /// Descriptor and primitive descriptor in one call.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &dst,
                       int axis, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, src, dst, axis), attr, e, allow_empty) {}
        ///@}
    };

    logsoftmax_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    logsoftmax_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
