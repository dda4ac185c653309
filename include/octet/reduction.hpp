#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Reduction over the dimensions that are 1 in dst.
///
///   max, min, sum, mul; mean: sum / n
///   norm_lp_*: r^(1/p), norm_lp_power_p_*: r, with r = max(Σ |x|^p, epsilon) for *_max, Σ |x|^p + epsilon for *_sum
///
/// A result has n elements in row-major order: element i goes to lane i mod 16, in ascending order; then the
/// lanes are reduced by halves. So every instruction set, thread count and layout gives the same bytes. All
/// in f32; powers other than 1 and 2 and their roots are those of eltwise_pow (doc/eltwise.md). max and min
/// are binary_max(accumulator, x) and start from the infinities; with NaN they give x.
///
/// Shapes   dst has src's rank, each dimension equal or 1.
/// Types    f32, bf16, f16, s32, s8, u8 on both sides; rounded to nearest even, integers saturated.
/// Layouts  any plain layout; `any` is row-major.
/// Attributes  post-ops.
/// Errors   p below 1 for norms.
struct OCTET_API reduction : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Only norms read `p` and `epsilon`.
        desc(algorithm alg, const memory::desc &src, const memory::desc &dst, float p, float epsilon);

        /// The constructor's arguments.
        ///@{
        algorithm alg;
        memory::desc src, dst;
        float p, epsilon;
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
        primitive_desc(const engine &e, algorithm alg, const memory::desc &src, const memory::desc &dst,
                       float p, float epsilon, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(alg, src, dst, p, epsilon), attr, e, allow_empty) {}
        ///@}
    };

    reduction() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    reduction(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
