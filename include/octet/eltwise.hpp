#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Function of each element.
///
/// dst, before post-ops and dst_zp, with d = src - src_zp and r = s_src * d, the real value of a code:
/// - f32 (default): f(d), oneDNN's functions on codes.
/// - f32_v3: f(r), divided by s_dst after the post-ops.
/// - ort_f32: f(r) / s_dst, QLinearLeakyRelu (relu) and QLinearSigmoid (logistic, MLAS's polynomial).
/// - caffe_double_round: rha(f(r) / s_dst), SNPS-Caffe: dequantize, f, quantize.
/// - tflite_*, relu: d >= 0 ? M(d) : M_alpha(d), or max(M(d), 0) for alpha 0, LEAKY_RELU and RELU.
/// - tflite_*, bounded_relu and clip: clamp(d, rha(low / s), rha(high / s)); s_dst rescales d before.
/// - tflite_*, logistic and tanh: the fixed-point functions of TFLite Micro.
/// - tflite_*, hardswish and abs: TFLite Micro's in 16 and 32 bits; elu with alpha 1: its table, f32 per
///   code.
///
/// tflite rules take 8-bit codes. relu: M from `set_requantization` and M_alpha from
/// `set_input_multiplier(SRC)`, or scales of SRC and DST, from which TFLite's multipliers are derived.
/// bounded_relu is the clip [0, alpha]; the bounds are in codes of DST if its scale is set, as in desktop
/// TFLite, else of SRC, as RELU6 of TFLite Micro ignores its output's scale. logistic: dst scale 1/256, zero
/// point -128 (s8) or 0 (u8); tanh: 1/128 and 0 (s8) or 128 (u8); the input's factor s_src * 2^27 is derived,
/// or given by `set_input_multiplier(SRC)`.
///
/// Types    f32, bf16, f16, s32, s8, u8; scales and zero points are per tensor, scales given at creation.
struct OCTET_API eltwise_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// `alg`: eltwise_*; `alpha` and `beta` are its parameters (doc/eltwise.md), 0 where it has none.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst, float alpha,
             float beta = 0.f);
        desc(prop_kind prop, algorithm alg, const memory::desc &data, float alpha = 0.f,
             float beta = 0.f); ///< oneDNN 2.x
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        float alpha, beta;
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
                       const memory::desc &dst, float alpha = 0.f, float beta = 0.f,
                       const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, alg, src, dst, alpha, beta), attr, e, allow_empty) {}
        ///@}
    };

    eltwise_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    eltwise_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
