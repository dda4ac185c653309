#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/convolution.hpp"

namespace octet {
inline namespace v0 {

/// Deconvolution (transposed convolution), int8 with exact int32 accumulation or f32: each source element is
/// scattered, times the kernel, over the destination.
///
///   acc(n, oc, oh, ow) = Σ (src(n, ic, ih, iw) - src_zp) * (weights(oc, ic, kh, kw) - weights_zp)
///   over all taps with oh = ih * stride_h - padding_l_h + kh * (dilation_h + 1), ow likewise
///   dst = the attribute's requantization of acc and bias (`requantization_rule`), post-ops, dst zero point
///
/// Shapes   as in convolution_forward, weights {[G,] OC/G, IC/G, [KD, [KH,]] KW} included. A convolution with
///          the same strides, dilates and paddings leads from dst's spatial sizes to src's, rounded down:
///          IH = (OH + padding_l_h + padding_r_h - ((KH - 1) * (dilation_h + 1) + 1)) / stride_h + 1.
/// Layouts, types, attributes, errors   as in convolution_forward; products of f32 are added by id, ih, iw,
/// ic.
struct OCTET_API deconvolution_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc : public convolution_desc {
        using convolution_desc::convolution_desc;
        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = convolution_primitive_desc<desc>;

    deconvolution_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    deconvolution_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
