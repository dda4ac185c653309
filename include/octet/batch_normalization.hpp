#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/normalization.hpp"

namespace octet {
inline namespace v0 {

/// Batch normalization with given statistics, as networks run it, or with those of the batch.
///
///   a(c) = scale(c) / sqrt(variance(c) + epsilon),   b(c) = fma(-mean(c), a(c), shift(c))
///   dst(n, c, …) = fma(src(n, c, …), a(c), b(c)), with fuse_norm_relu max(that, 0); then post-ops
///
/// Every operation is f32 with one rounding; without flags scale is 1 and shift 0. oneDNN does not fold: its
/// results differ in the last bits.
///
/// Shapes   src and dst {N, C, …}, 2 to 5 dimensions; mean, variance, scale and shift {C}, dense; with
///          use_scale_shift {2, C}.
/// Types    f32, bf16, f16.
/// Flags    without use_global_stats: a channel's statistics as layer normalization's of a row,
/// results of training. Attributes  post-ops.
struct OCTET_API batch_normalization_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc : public normalization_desc {
        /// `data`: src and dst (oneDNN 2.x).
        ///@{
        explicit desc(const normalization_desc &common) : normalization_desc(common) {}
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, float epsilon,
             normalization_flags flags);
        desc(prop_kind prop, const memory::desc &data, float epsilon, normalization_flags flags);
        ///@}

        /// Checks it and chooses an implementation: what a primitive_desc is made of.
        friend OCTET_API impl::primitive_desc_ptr check(const desc &d, const primitive_attr &attr,
                                                        const engine &e, bool allow_empty);
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    using primitive_desc = normalization_primitive_desc<desc>;

    batch_normalization_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    batch_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
