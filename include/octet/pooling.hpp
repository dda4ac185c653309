#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Pooling over windows of 8-bit codes or f32, 1D, 2D or 3D: the largest element inside the image, or an
/// average.
///
/// Averages, before post-ops and dst_zp; Σ runs over the taps inside the image, n is the window's size
/// (include padding) or the number of taps (exclude padding):
/// - f32 (default): f32(Σ src) / n, oneDNN.
/// - a tflite rule alone: Σ src / n, ties away from code 0, TFLite with equal scales of src and dst.
/// - any rule with multipliers or real scales, ort_f32 with an output scale: requantize(Σ (src - src_zp)),
///   the caller's factor contains 1 / n (global pooling, TFLite's MEAN, QNNPACK).
/// - ort_f32 with scales of SRC and DST: QLinearAveragePool, Σ s_src * (src - src_zp) in f32 and in window
///   order, then / n / s_dst; dst_zp is added before rounding.
/// - a tflite rule with set_input_multiplier(SRC): M(Σ src - n * src_zp) / n, ties away from 0,
///   TFLite's older MEAN, SNPS-Caffe.
/// - caffe_double_round with scales of SRC and DST: rha((Σ src - n * src_zp) * (s_src / (s_dst * n))),
///   SNPS-Caffe.
///
/// A clip post-op holds the range of a fused activation. f32 tensors have rule f32 and no scales; the result
/// is max(largest so far, x) from -infinity, or Σ src / n, in window order.
/// Shapes   src {N, C, [D, [H,]] W}, dst {N, C, …}; types u8, s8, f32, bf16 or f16, equal on both sides.
/// Units    strides and paddings in elements; dilation counts the skipped elements between taps.
/// Errors   invalid_arguments: shapes disagree, or a window lies wholly in the padding.
struct OCTET_API pooling_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Sizes have one value per spatial dimension, outermost first; without `dilation`, 0 elements are
        /// skipped.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             const memory::dims &strides, const memory::dims &kernel, const memory::dims &padding_l,
             const memory::dims &padding_r);
        /// oneDNN 3.x, and pooling_v2_forward of 2.x.
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             const memory::dims &strides, const memory::dims &kernel, const memory::dims &dilation,
             const memory::dims &padding_l, const memory::dims &padding_r);
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        memory::dims strides, kernel, dilation, padding_l, padding_r;
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
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, const memory::dims &strides, const memory::dims &kernel,
                       const memory::dims &dilation, const memory::dims &padding_l,
                       const memory::dims &padding_r, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : primitive_desc_of(desc(prop, alg, src, dst, strides, kernel, dilation, padding_l, padding_r),
                                attr, e, allow_empty) {}
        ///@}
    };

    pooling_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    pooling_forward(const primitive_desc &pd) : primitive(pd) {}
};
/// oneDNN 2.x's name where there is a dilation.
using pooling_v2_forward = pooling_forward;

} // namespace v0
} // namespace octet
