#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Sum of tensors of equal shape, each with a scale.
///
/// - f32 (default): store(scale_0 * src_0 + scale_1 * src_1 + …), every operation rounded to f32.
/// - caffe_double_round: SNPS-Caffe's EltwiseSum of two tensors. `scales` are those of the sources,
///   set_scales(OCTET_ARG_DST) the destination's. r_i = scale_i / s_dst, doubled together until one reaches
///   2^21 and rounded to integers m_i; acc = Σ m_i * (src_i - zp_i); dst = rha(acc / 2^shift) + dst_zp.
///
/// Sources are the execution arguments OCTET_ARG_MULTIPLE_SRC + i; zero points of source i are attributes of
/// the same index. Types f32, bf16, f16, s32, s8, u8; caffe_double_round: s8, u8.
struct OCTET_API sum : public primitive {
    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        /// Without `dst` the destination has the first source's type and layout.
        ///@{
        primitive_desc(const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const engine &e,
                       const primitive_attr &attr = {}, bool allow_empty = false);
        primitive_desc(const std::vector<float> &scales, const std::vector<memory::desc> &srcs,
                       const engine &e, const primitive_attr &attr = {}, bool allow_empty = false);
        ///@}
        /// oneDNN 3.x.
        ///@{
        primitive_desc(const engine &e, const memory::desc &dst, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = {},
                       bool allow_empty = false);
        primitive_desc(const engine &e, const std::vector<float> &scales,
                       const std::vector<memory::desc> &srcs, const primitive_attr &attr = {},
                       bool allow_empty = false);
        ///@}
    };

    sum() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    sum(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
