#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Softmax along one axis.
///
/// | rule | dst | parameters |
/// | --- | --- | --- |
/// | f32 (default), f32_v3 | e_i / Σ e, e_i = exp(src_i - max), or src_i - max - ln(Σ e) | as a reorder's |
/// | tflite_2step, tflite_single_rounding | TFLite's fixed-point softmax, no post-ops |
/// set_input_multiplier(SRC): beta * scale * 2^26 | | ort_f32 | QLinearSoftmax: a table of exponentials, no
/// post-ops | scales of SRC, DST; zero point DST |
///
/// f32 rules: any of f32, s32, s8, u8; the logarithm with `softmax_log`. Sums run over 16 lanes in order and
/// then over the lanes pairwise, so that every instruction set gives the same bytes. Others: src s8 or u8;
/// dst of ort_f32 has src's type; tflite rules: dst s8 (scale 1/256, zero point -128), u8 (1/256, 0) or s16
/// (1/65536, -32768).
struct OCTET_API softmax_forward : public primitive {
    struct OCTET_API desc {
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst, int axis);
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis)
            : desc(prop, algorithm::softmax_accurate, src, dst, axis) {}
        desc(prop_kind prop, const memory::desc &data, int axis)
            : desc(prop, data, data, axis) {} ///< oneDNN 2.x

        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        int axis;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
        /// oneDNN 3.x: descriptor and primitive descriptor in one call.
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, int axis, const primitive_attr &attr = {},
                       bool allow_empty = false);
    };

    softmax_forward() = default;
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
};
/// oneDNN 2.6's name.
using softmax_v2_forward = softmax_forward;

} // namespace v0
} // namespace octet
