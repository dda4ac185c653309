#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// The tensors and sizes of a convolution or deconvolution.
struct OCTET_API convolution_desc {
    /// Sizes have one value per spatial dimension, outermost first; dilates are 0. `padding` has one value,
    /// which oneDNN 2.x passes.
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &bias, const memory::desc &dst, const memory::dims &strides,
                     const memory::dims &padding_l, const memory::dims &padding_r,
                     padding_kind padding = padding_kind::zero);
    /// A description without a bias.
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &dst, const memory::dims &strides, const memory::dims &padding_l,
                     const memory::dims &padding_r, padding_kind padding = padding_kind::zero);
    /// A description with dilates and a bias.
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &bias, const memory::desc &dst, const memory::dims &strides,
                     const memory::dims &dilates, const memory::dims &padding_l,
                     const memory::dims &padding_r, padding_kind padding = padding_kind::zero);
    /// A description with dilates, without a bias.
    convolution_desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &weights,
                     const memory::desc &dst, const memory::dims &strides, const memory::dims &dilates,
                     const memory::dims &padding_l, const memory::dims &padding_r,
                     padding_kind padding = padding_kind::zero);

    /// The constructor's arguments; absent tensors are zero descriptors.
    ///@{
    prop_kind prop;
    algorithm alg;
    memory::desc src, weights, bias, dst;
    memory::dims strides, dilates, padding_l, padding_r;
    ///@}
};

/// The primitive descriptor of a convolution or deconvolution that `Desc` describes.
template <typename Desc> struct convolution_primitive_desc : public primitive_desc_of<Desc> {
    using primitive_desc_of<Desc>::primitive_desc_of;
    convolution_primitive_desc() = default; ///< an empty one
    /// oneDNN 3.x: descriptor and primitive descriptor in one call, with a bias.
    convolution_primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                               const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                               const memory::dims &strides, const memory::dims &padding_l,
                               const memory::dims &padding_r, const primitive_attr &attr = {},
                               bool allow_empty = false)
        : primitive_desc_of<Desc>({prop, alg, src, weights, bias, dst, strides, padding_l, padding_r}, attr,
                                  e, allow_empty) {}
    /// oneDNN 3.x: descriptor and primitive descriptor in one call, without a bias.
    convolution_primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                               const memory::desc &weights, const memory::desc &dst,
                               const memory::dims &strides, const memory::dims &padding_l,
                               const memory::dims &padding_r, const primitive_attr &attr = {},
                               bool allow_empty = false)
        : primitive_desc_of<Desc>({prop, alg, src, weights, dst, strides, padding_l, padding_r}, attr, e,
                                  allow_empty) {}
    /// oneDNN 3.x: descriptor and primitive descriptor in one call, with a bias and dilations.
    convolution_primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                               const memory::desc &weights, const memory::desc &bias, const memory::desc &dst,
                               const memory::dims &strides, const memory::dims &dilates,
                               const memory::dims &padding_l, const memory::dims &padding_r,
                               const primitive_attr &attr = {}, bool allow_empty = false)
        : primitive_desc_of<Desc>(
              {prop, alg, src, weights, bias, dst, strides, dilates, padding_l, padding_r}, attr, e,
              allow_empty) {}
    /// oneDNN 3.x: descriptor and primitive descriptor in one call, with dilations, without a bias.
    convolution_primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                               const memory::desc &weights, const memory::desc &dst,
                               const memory::dims &strides, const memory::dims &dilates,
                               const memory::dims &padding_l, const memory::dims &padding_r,
                               const primitive_attr &attr = {}, bool allow_empty = false)
        : primitive_desc_of<Desc>({prop, alg, src, weights, dst, strides, dilates, padding_l, padding_r},
                                  attr, e, allow_empty) {}
};

/// Convolution of int8 with exact int32 accumulation, or of f32: 1D, 2D or 3D, grouped, depthwise, dilated.
///
///   acc(n, oc, oh, ow) = Σ (src(n, ic, ih, iw) - src_zp) * (weights(oc, ic, kh, kw) - weights_zp)
///   ih = oh * stride_h - padding_l_h + kh * (dilation_h + 1), iw likewise
///   dst = the attribute's requantization of acc and bias (`requantization_rule`), post-ops, dst zero point
///
/// Outside the image src equals src_zp, so taps there add nothing. The accumulator wraps modulo 2^32;
/// `accumulator_range` tells whether it can.
///
/// With f32 src and weights, acc = 0, then acc = fma(src, weights, acc) for kd, kh, kw, ic in this nesting,
/// each ascending, and with src 0 outside the image: every machine, thread count and layout gives the same
/// bytes. Rules are f32 (the default), f32_v3 and, without bias, ort_f32; there are no zero points of src and
/// weights.
///
/// Shapes   src {N, IC, [D, [H,]] W}, weights {OC, IC, [KD, [KH,]] KW} or {G, OC/G, IC/G, …}, bias {OC},
///          dst {N, OC, …}.
/// Types    src and weights u8 or s8, or both f32; bias f32, s32, s8 or u8 (fixed-point rules and ort_f32:
/// s32);
///          dst u8, s8, s32 or f32.
/// Layouts  any plain layout or strides; `any` gives channels-last activations and packed weights.
/// Units    strides and paddings in elements; dilates count the zeros between taps (0: dense kernel).
///          padding_r may be negative (rows at the end that no window reads).
/// Attributes
///          output scales and multipliers with masks over dst (usually 0 or 1 << 1); scales and zero points
///          per argument (weights mask 1 << 0, with groups (1 << 0) + (1 << 1)); post-ops.
/// Errors   invalid_arguments: shapes disagree (both are named); unimplemented: no implementation takes it.
struct OCTET_API convolution_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc : public convolution_desc {
        using convolution_desc::convolution_desc;
        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public convolution_primitive_desc<desc> {
        using convolution_primitive_desc::convolution_primitive_desc;

        /// Accumulators, in units of products of codes.
        struct range {
            std::int64_t lowest;  ///< bound of all partial and complete sums
            std::int64_t highest; ///< bound of the same sums
        };
        /// The worst case of these weights over all sources of src's type, in any order of summation. Inside
        /// int32 nothing wraps; up to 2^24 in magnitude f32 holds every accumulator exactly.
        range accumulator_range(const memory &weights) const;
    };

    convolution_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    convolution_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
