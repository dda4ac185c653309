#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Copies a tensor into another layout and type: quantize, dequantize, requantize, transpose, pack weights.
///
/// - f32 (default, oneDNN 2.x): store(post_ops((src - src_zp) * output_scale) + dst_zp); masks over any dims.
/// - f32_v3: the same with scale(SRC) before and 1 / scale(DST) after the post-ops.
/// - ort_f32: rne(clamp(v / scale(DST), qmin - dst_zp, qmax - dst_zp)) + dst_zp, a true division, with
///   v = (src - src_zp) * scale(SRC): QuantizeLinear, DequantizeLinear.
/// - tflite_* from f32: rha(src / scale(DST)) + dst_zp, TFLite's QUANTIZE.
/// - tflite_* from integers: multipliers as everywhere, or scales of SRC and DST, per tensor, from which the
///   multiplier of TFLite's requantizing QUANTIZE is derived.
/// - caffe_double_round with scales, to integers: rha((src - src_zp) * scale(SRC) / scale(DST)) + dst_zp.
/// - any other fixed-point rule, and rules with real scales (primitive_attr::set_requantization): integers
///   only.
/// - none: integers, src - src_zp + dst_zp, saturating.
/// store() saturates, then rounds to nearest even. Without attributes types are converted with f32's store.
///
/// Types    f32, bf16, f16, s32, s16, s8, u8, s4, u4, s2, u2 on both sides. Shapes must be equal. Packed layouts on
///          either side. A byte that dst shares with elements outside of it keeps those.
/// Errors   invalid_arguments as documented for each attribute.
struct OCTET_API reorder : public primitive {
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        /// From the two tensors, or from memory that has their descriptors.
        ///@{
        primitive_desc(const engine &src_engine, const memory::desc &src, const engine &dst_engine,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false);
        primitive_desc(const memory &src, const memory &dst, const primitive_attr &attr = {},
                       bool allow_empty = false);
        ///@}
        /// Takes the arguments in the order that oneDNN's page on quantization prints.
        ///@{
        primitive_desc(const memory::desc &src, const engine &src_engine, const memory::desc &dst,
                       const engine &dst_engine, const primitive_attr &attr = {}, bool allow_empty = false);
        ///@}
    };

    reorder() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    reorder(const primitive_desc &pd) : primitive(pd) {}
    /// Makes descriptor and primitive in one call.
    reorder(const memory &src, const memory &dst, const primitive_attr &attr = {})
        : primitive(primitive_desc(src, dst, attr)) {}

    using primitive::execute;
    /// Without run-time attributes: the two tensors are all the arguments.
    void execute(const stream &s, const memory &src, const memory &dst) const;
};

} // namespace v0
} // namespace octet
