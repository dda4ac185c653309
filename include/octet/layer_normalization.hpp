#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/normalization.hpp"

namespace octet {
inline namespace v0 {

/// Layer normalization: each row, that is all elements along the last dimension, gets mean 0 and variance 1.
///
///   mean = S(x) / n,   variance = S((x - mean)^2) / n,   d = (x - mean) * (1 / sqrt(variance + epsilon))
///   dst = fma(d, scale(c), shift(c)); only scale: d * scale(c); only shift: d + shift(c); then post-ops
///
/// S adds element i of the row to lane i mod 16, squares by a fused multiply-add, and then the lanes by
/// halves: every instruction set gives the same bytes. Every operation is f32 with one rounding.
///
/// Rule ort_f32 is LayerNormalization of ONNX Runtime 1.30 on machines with AVX2. mean is f32 of a sum in
/// binary64: element i to lane i mod 4, lanes by halves, the rest behind them. Squares by a fused
/// multiply-add to lane i mod 8, lanes by halves, the rest behind them, of which the first four are squared
/// and added in two roundings if there are as many. dst as above. Rows shorter than 8: Welford's updates,
/// then (x - mean) / sqrt(variance + epsilon) * scale(c) + shift(c), each operation rounded. No post-ops and
/// no use_global_stats with it.
///
/// Shapes   src and dst {…, C}, 2 to 6 dimensions; scale and shift {C}, dense, or {2, C} with
/// use_scale_shift; with
///          use_global_stats mean and variance are arguments, with the dimensions of src but the last.
/// Types    f32, bf16, f16.
/// Attributes  post-ops; rules f32 and ort_f32.
/// Results  forward_training without use_global_stats: also mean and variance, as above.
struct OCTET_API layer_normalization_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc : public normalization_desc {
        /// `data`: src and dst (oneDNN 2.x). Without `stats` mean and variance are row-major.
        ///@{
        explicit desc(const normalization_desc &common) : normalization_desc(common) {}
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, const memory::desc &stats,
             float epsilon, normalization_flags flags);
        desc(prop_kind prop, const memory::desc &data, const memory::desc &stats, float epsilon,
             normalization_flags flags);
        desc(prop_kind prop, const memory::desc &data, float epsilon, normalization_flags flags);
        ///@}

        memory::desc stats; ///< layout of mean and variance, or a zero descriptor

        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = normalization_primitive_desc<desc>;

    layer_normalization_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    layer_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
