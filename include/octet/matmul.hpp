#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Batched matrix product of int8 or of f32.
///
///   dst(…, m, n) = requantize( Σ_k (src(…, m, k) - src_zp) * (weights(…, k, n) - weights_zp) )
///
/// Shapes   src {[B…,] M, K}, weights {[B…,] K, N}, dst {[B…,] M, N}, 2 to 6 dimensions; a batch dimension
///          of src or weights may be 1 and is broadcast. Bias has dst's rank, each dimension 1 or dst's.
/// With f32 src and weights, acc = fma(src, weights, acc) for k ascending, from 0; see convolution_forward.
///
/// Types    src and weights u8 or s8, or both f32; bias f32, s32, s8 or u8 (fixed-point rules and ort_f32:
/// s32);
///          dst u8, s8, s32 or f32.
/// With `set_source_quantization`, src f32, f16 or bf16 is quantized while the product runs; doc/dynamic.md:
///
///   dst(m, n) = combine( Σ_k (code(src(m, k)) - src_zp(m)) * (weights(k, n) - weights_zp), scales, bias )
///
///          weights s8, u8, s4, u4, bias f32, dst f32, f16, bf16, or s8, u8 with its scale; scales of weights per
///          column or of groups of K; 2 dimensions of weights, whose N may not be broadcast.
/// Layouts  any plain layout or strides; `any` gives row-major activations and packed weights.
/// Attributes
///          zero points on both sides, per tensor or masked (weights usually 1 << (ndims - 1)); output scales
///          with masks over dst; post-ops.
/// Errors   as in convolution_forward.
struct OCTET_API matmul : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// The second form has no bias.
        ///@{
        desc(const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
             const memory::desc &dst);
        desc(const memory::desc &src, const memory::desc &weights, const memory::desc &dst);
        ///@}

        /// The constructor's arguments; absent tensors are zero descriptors.
        ///@{
        memory::desc src, weights, bias, dst;
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
        primitive_desc(const engine &e, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : primitive_desc_of(desc(src, weights, bias, dst), attr, e, allow_empty) {}
        primitive_desc(const engine &e, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(src, weights, dst), attr, e, allow_empty) {}
        ///@}
    };

    matmul() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    matmul(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
