#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Batch normalization with given statistics, as networks run it, or with those of the batch.
///
///   a(c) = scale(c) / sqrt(variance(c) + epsilon),   b(c) = fma(-mean(c), a(c), shift(c))
///   dst(n, c, …) = fma(src(n, c, …), a(c), b(c)), with fuse_norm_relu max(that, 0); then post-ops
///
/// Every operation is f32 with one rounding; without flags scale is 1 and shift 0. oneDNN does not fold: its results
/// differ in the last bits.
///
/// Shapes   src and dst {N, C, …}, 2 to 5 dimensions; mean, variance, scale and shift {C}, dense; with
///          use_scale_shift {2, C}.
/// Types    f32.
/// Flags    without use_global_stats: a channel's statistics as layer normalization's of a row, results of training.
/// Attributes  post-ops.
struct OCTET_API batch_normalization_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// `data`: src and dst (oneDNN 2.x).
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, float epsilon,
             normalization_flags flags);
        desc(prop_kind prop, const memory::desc &data, float epsilon, normalization_flags flags)
            : desc(prop, data, data, epsilon, flags) {}
        ///@}

        /// What the constructor was given.
        ///@{
        prop_kind prop;
        memory::desc src, dst;
        float epsilon;
        normalization_flags flags;
        ///@}
    };

    /// The checked operation and its implementation. With `allow_empty` it is empty where it would throw.
    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        /// From a descriptor, as in oneDNN 2.x; without `attr` all attributes have their defaults.
        ///@{
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
        ///@}
        /// oneDNN 3.x: descriptor and primitive descriptor in one call.
        ///@{
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &dst,
                       float epsilon, normalization_flags flags, const primitive_attr &attr = {},
                       bool allow_empty = false);
        ///@}
        /// Of mean and variance; zero descriptors if they are not arguments.
        ///@{
        memory::desc mean_desc() const { return arg_desc(OCTET_ARG_MEAN); }
        memory::desc variance_desc() const { return arg_desc(OCTET_ARG_VARIANCE); }
        ///@}
    };

    batch_normalization_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    batch_normalization_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
