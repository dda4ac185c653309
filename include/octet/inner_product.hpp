#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// int8 inner product (fully connected layer): dst(n, oc) = requantize(Σ (src(n, …) - src_zp) * (weights(oc, …) -
/// weights_zp)), the sum over input channels and spatial positions. Products of f32 are added position by position in
/// row-major order, channels ascending within one. Shapes: src {N, IC, [D, [H,]] [W]}; weights {OC, IC, same spatial};
/// bias {OC}; dst {N, OC}. Types, attributes and errors as in convolution_forward; weights mask 1 << 0, destination
/// mask 1 << 1. With `set_source_quantization` as in matmul, whose K are all dimensions but the first, in row-major
/// order; scales of groups (without spatial dimensions) have mask 3, groups {1, length} and values {OC, G}.
struct OCTET_API inner_product_forward : public primitive {
    /// The operation as the caller describes it. Checked when a primitive_desc is made of it.
    struct OCTET_API desc {
        /// The second form has no bias.
        ///@{
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
             const memory::desc &dst);
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &dst);
        ///@}

        /// The constructor's arguments; absent tensors are zero descriptors.
        ///@{
        prop_kind prop;
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
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst, const primitive_attr &attr = {},
                       bool allow_empty = false)
            : primitive_desc_of(desc(prop, src, weights, bias, dst), attr, e, allow_empty) {}
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false)
            : primitive_desc_of(desc(prop, src, weights, dst), attr, e, allow_empty) {}
        ///@}
    };

    inner_product_forward() = default;
    /// Ready to run. Its kernel comes from the primitive cache, or is made and kept there.
    inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
