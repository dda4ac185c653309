#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Local response normalization, in oneDNN 2.6.3's arithmetic:
///
///   dst = src / (k + alpha / n * Σ src²)^beta
///
/// The sum is over a window of `local_size` channels around the element's (lrn_across_channels, n = local_size)
/// or over a window of `local_size` by `local_size` (by `local_size`) pixels of its channel (lrn_within_channel,
/// n = their number); elements outside are left out. The layout decides the order of operations, as the table of
/// doc/operators.md tells.
///
/// Shapes   {N, C, [[D,] H,] W}; dst as src.
/// Types    f32, bf16 and f16, the same on both sides; computed in f32.
/// Layouts  any plain layout; `any` is channels-last, for dst src's.
/// Attributes  none.
/// Errors   local_size below 1 or above 65536; lrn_within_channel without spatial dimensions.
struct OCTET_API lrn_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Arguments as in oneDNN. One descriptor, as in 2.x, is that of both sides.
        ///@{
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             memory::dim local_size, float alpha, float beta, float k);
        desc(prop_kind prop, algorithm alg, const memory::desc &data, memory::dim local_size, float alpha,
             float beta, float k = 1.f);
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        memory::dim local_size;
        float alpha, beta, k;
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
                       const memory::desc &dst, memory::dim local_size, float alpha, float beta, float k,
                       const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, alg, src, dst, local_size, alpha, beta, k), attr, e, allow_empty) {
        }
        ///@}
    };

    lrn_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    lrn_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
