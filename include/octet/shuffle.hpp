#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Channel shuffle: an axis of C elements, seen as a matrix of C / group_size rows and group_size columns, is
/// transposed. With n = C / group_size
///
///   dst[c] = src[c mod n * group_size + c / n]
///
/// Shapes   1 to 5 dimensions; dst as src.
/// Types    f32, s32, bf16, f16, s16, s8, u8, the same on both sides; elements are copied.
/// Layouts  any plain layout; `any` is channels-last, for dst src's.
/// Attributes  none.
/// Errors   a group_size that does not divide C.
struct OCTET_API shuffle_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// Arguments as in oneDNN. One descriptor, as in 2.x, is that of both sides.
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis, int group_size);
        desc(prop_kind prop, const memory::desc &data, int axis, int group_size);
        ///@}

        /// The constructor's arguments.
        ///@{
        prop_kind prop;
        memory::desc src, dst;
        int axis, group_size;
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
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &dst,
                       int axis, int group_size, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, src, dst, axis, group_size), attr, e, allow_empty) {}
        ///@}
    };

    shuffle_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    shuffle_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
