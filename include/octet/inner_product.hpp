#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// int8 inner product (fully connected layer): dst(n, oc) = requantize(Σ (src(n, …) - src_zp) * (weights(oc,
/// …) - weights_zp)), the sum over input channels and, where present, spatial positions.
///
/// Shapes   src {N, IC, [D, [H,]] [W]}; weights {OC, IC, same spatial}; bias {OC}; dst {N, OC}.
/// Types, attributes and errors as in convolution_forward; weights mask 1 << 0, destination mask 1 << 1.
struct OCTET_API inner_product_forward : public primitive {
    struct OCTET_API desc {
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &bias,
             const memory::desc &dst);
        desc(prop_kind prop, const memory::desc &src, const memory::desc &weights, const memory::desc &dst);

        prop_kind prop;
        memory::desc src, weights, bias, dst;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &bias, const memory::desc &dst, const primitive_attr &attr = {},
                       bool allow_empty = false);
        primitive_desc(const engine &e, prop_kind prop, const memory::desc &src, const memory::desc &weights,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false);
    };

    inner_product_forward() = default;
    inner_product_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
