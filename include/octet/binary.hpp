#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Element-wise operation of two tensors; dimensions of size 1 in either source are broadcast.
///
/// dst, before post-ops and dst_zp, with d_i = src_i - zp_i and r_i = s_i * d_i:
/// - f32 (default), f32_v3: (s_0 * src_0) op (s_1 * src_1), stored as everywhere; no source zero points.
/// - tflite_*, add and sub: M(u_0 ± u_1), u_i = M_i(d_i << 20), TFLite's ADD and SUB.
/// - tflite_*, mul: M(d_0 * d_1), TFLite's MUL.
/// - ort_f32, add and mul: QLinearAdd and QLinearMul of ONNX Runtime on x86. Zero points are part of the
///   arithmetic, so there are no post-ops.
/// - ort_f32, others: (r_0 op r_1) / s_dst, that is DequantizeLinear, op, QuantizeLinear.
/// - caffe2_2step, add: rha((d_0 * m_0 + d_1 * m_1) / 2^shift), Int8Add of Caffe2 and QNNPACK.
/// - xnnpack_*, add and sub: (d_0 * m_0 ± d_1 * m_1 + 2^(shift-1)) >> shift, XNNPACK's ADD and SUB:
///   multipliers of 21 bits, 2^-10 <= s_i / s_dst < 2^8. xnnpack_*, mul: the rule on d_0 * d_1 with s_0 * s_1
///   / s_dst in f32, 2^-16 to 2^8.
/// - caffe_double_round: rha((r_0 op r_1) / s_dst), SNPS-Caffe: dequantize, op, quantize.
///
/// Parameters   f32 rules: optional scales of SRC_0, SRC_1. tflite rules: multipliers (`set_requantization`,
///              and for add and sub `set_input_multiplier` of both sources; a negative one is applied as it
///              is), or scales of SRC_0, SRC_1 and DST, from which TFLite Micro's multipliers are derived.
///              Other rules: scales of SRC_0, SRC_1 and DST. Scales and zero points are per tensor.
/// Types        s8, u8 (also s32, f32, bf16, f16 with the f32 rules).
struct OCTET_API binary : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// `alg`: binary_*.
        ///@{
        desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst);
        ///@}

        /// The constructor's arguments.
        ///@{
        algorithm alg;
        memory::desc src0, src1, dst;
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
        primitive_desc(const engine &e, algorithm alg, const memory::desc &src0, const memory::desc &src1,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(alg, src0, src1, dst), attr, e, allow_empty) {}
        ///@}
    };

    binary() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    binary(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
