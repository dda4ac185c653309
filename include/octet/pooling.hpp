#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Pooling over windows of 8-bit codes, 1D, 2D or 3D.
///
///   max:  the largest code inside the image.
///   average, n = window size (include padding) or number of valid taps (exclude padding):
///     default (oneDNN)                       store(f32(Σ src) / n)
///     a tflite rule without multipliers      Σ src / n, ties away from code 0 (equal source and destination
///     scales) a rule with multipliers, or ort_f32    requantize(Σ (src - src_zp)): the caller's factor
///     contains 1 / n (global pooling,
///                                            TFLite MEAN, ONNX Runtime and QNNPACK global average)
///   then post-ops and the destination zero point. A clip post-op holds the range of a fused activation.
///
/// Shapes   src {N, C, [D, [H,]] W}, dst {N, C, …}; types u8 or s8, equal on both sides.
/// Errors   invalid_arguments: shapes disagree, or a window lies wholly in the padding.
struct OCTET_API pooling_forward : public primitive {
    struct OCTET_API desc {
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             const memory::dims &strides, const memory::dims &kernel, const memory::dims &padding_l,
             const memory::dims &padding_r);

        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        memory::dims strides, kernel, padding_l, padding_r;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
    };

    pooling_forward() = default;
    pooling_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
