#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Resizes the spatial dimensions, 1D, 2D or 3D, by the nearest element or by linear interpolation. c is the
/// coordinate in the source that `resampling_coordinates` describes.
///
/// - f32 (default), half_pixel only: oneDNN. Nearest round(c), ties away from 0; linear along width, height,
///   depth in turn, fma(far, weight, near * (1 - weight)).
/// - tflite_2step: TFLite. Nearest floor(c), with aligned corners the nearest; linear, 2D, with 10-bit
///   weights and ties away from code 0. tflite_single_rounding: the same, linear with ties up.
/// - ort_f32: ONNX Runtime's Resize of u8 and s8 in NCHW. Nearest with ties down; linear, 2D, truncated.
/// - xnnpack_*: XNNPACK, linear, 2D, with 11-bit weights and ties up. xnnpack_rndnu computes the c of half
///   pixels by one fused multiply-add.
/// - caffe_double_round: SNPS-Caffe. Nearest as f32; linear, 2D, rows and then columns, ties away from 0.
/// Codes are taken as they are: src and dst have one scale and zero point. Post-ops work on codes.
///
/// Shapes   src {N, C, [D, [H,]] W}, dst {N, C, …}. Types f32, bf16, f16, s32, s8, u8; other rules than f32: s8, u8.
struct OCTET_API resampling_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Without `factors` the sizes of src and dst give the ratio.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             resampling_coordinates coordinates = resampling_coordinates::half_pixel);
        /// oneDNN: `factors`, one per spatial dimension, say that dst's size is the integer part of factor *
        /// size.
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src,
             const memory::desc &dst);
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src);
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        std::vector<float> factors;
        resampling_coordinates coordinates = resampling_coordinates::half_pixel;
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
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, alg, src, dst), attr, e, allow_empty) {}
        ///@}
    };

    resampling_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    resampling_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
