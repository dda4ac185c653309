#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Element-wise operation of two tensors; dimensions of size 1 in either source are broadcast.
///
///   f32 (default)   dst = store(post_ops((scale_0 * src_0) op (scale_1 * src_1)))
///   tflite_2step, tflite_single_rounding with binary_add (TFLite ADD):
///                   u_i = M_i((src_i - zp_i) << 20); dst = M_dst(u_0 + u_1), post-ops, + dst_zp
///                   M_i from set_input_multiplier, M_dst from set_requantization
///
/// Types    s8, u8 (also s32, f32 with the f32 rule). Zero points per tensor.
struct OCTET_API binary : public primitive {
    struct OCTET_API desc {
        desc(algorithm alg, const memory::desc &src0, const memory::desc &src1, const memory::desc &dst);

        algorithm alg;
        memory::desc src0, src1, dst;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
    };

    binary() = default;
    binary(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
