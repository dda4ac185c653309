#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Joins tensors along one dimension. Each source is converted on its own.
///
/// - none (default): the codes, if types are equal; else stored as the f32 rule does.
/// - f32 (default with scales of a source): store(scale_i * src_i), oneDNN.
/// - ort_f32: QLinearConcat, rne(s_i * (src_i - zp_i) / s_dst) + dst_zp.
/// - tflite_*: TFLite's older u8 scheme, rha(src_i * s + k) + dst_zp, s = s_i * (1 / s_dst), k = -zp_i * s.
/// - caffe_double_round: SNPS-Caffe, rha(s_i * (src_i - zp_i) / s_dst) + dst_zp.
/// With the last three, a source whose scale and zero point are the destination's is copied. Scales and zero
/// points of source i are attributes of OCTET_ARG_MULTIPLE_SRC + i, per tensor, given at creation; so are the
/// execution arguments.
///
/// Shapes   equal but for the joined dimension. Types f32, s32, s8, u8, s16; the last three rules: s8, u8.
struct OCTET_API concat : public primitive {
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        /// Without `dst` the destination has the first source's type and layout.
        ///@{
        primitive_desc(const memory::desc &dst, int dimension, const std::vector<memory::desc> &srcs,
                       const engine &e, const primitive_attr &attr = {}, bool allow_empty = false);
        primitive_desc(int dimension, const std::vector<memory::desc> &srcs, const engine &e,
                       const primitive_attr &attr = {}, bool allow_empty = false);
        ///@}
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, const memory::desc &dst, int dimension,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = {},
                       bool allow_empty = false);
        primitive_desc(const engine &e, int dimension, const std::vector<memory::desc> &srcs,
                       const primitive_attr &attr = {}, bool allow_empty = false);
        ///@}
    };

    concat() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    concat(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
