#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Softmax along one axis.
///
/// - f32 (default), f32_v3: e_i / Σ e with e_i = exp(src_i - max), or src_i - max - ln(Σ e) with
///   `softmax_log`; f32, bf16, f16, s32, s8 or u8 on both sides; output scales, scales, dst zero points and
///   post-ops as a reorder has them. Sums run over 16 lanes in order and then over the lanes pairwise, so that
///   every instruction set gives the same bytes. With `softmax_log` a dst of 16 bits is rounded as logsoftmax's.
/// - tflite_2step, tflite_single_rounding: TFLite's fixed-point softmax of s8 or u8 to s8 (scale 1/256, zero
///   point -128), u8 (1/256, 0) or s16 (1/65536, -32768). `set_input_multiplier(OCTET_ARG_SRC, …)` is
///   beta * scale * 2^26 in fixed point. No other attributes.
/// - ort_f32, codes: QLinearSoftmax, a table of exponentials, of s8 to s8 or u8 to u8; scales of SRC and DST,
///   zero point of DST. No other attributes.
/// - xnnpack_f32 and xnnpack_rndnu: LiteRT's table of floats on x86 and AArch64; ruy_2step: its table of 16
///   bits on AArch64. s8 or u8 to the same type or to s16. The scale of SRC is multiplied by beta; scale and
///   zero point of DST as for the tflite rules. No other attributes.
/// - ort_f32, f32 to f32: Softmax of ONNX Runtime 1.30 with AVX-512: e_i = eltwise_ort_exp(src_i - max), 16
///   lanes in order, lanes 8 apart, then neighbours, pairs and fours; e_i * (1 / Σ). No other attributes, no
///   softmax_log.
struct OCTET_API softmax_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// `axis`: the dimension that is normalized, from 0. Without `alg`, softmax_accurate.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst, int axis);
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis);
        desc(prop_kind prop, const memory::desc &data, int axis); ///< oneDNN 2.x
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        algorithm alg;
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
        /// oneDNN 3.x: descriptor and primitive descriptor in one call.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, int axis, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : primitive_desc_of(desc(prop, alg, src, dst, axis), attr, e, allow_empty) {}
        ///@}
    };

    softmax_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
};
/// oneDNN 2.6's name.
using softmax_v2_forward = softmax_forward;

} // namespace v0
} // namespace octet
