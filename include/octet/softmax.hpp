#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Softmax along one axis.
///
///   tflite_2step, tflite_single_rounding   TFLite's fixed-point softmax: src s8 or u8; the input multiplier
///   is
///          beta * scale * 2^26 in fixed point (set_input_multiplier, arg SRC); dst s8 (scale 1/256, zero
///          point -128), u8 (1/256, 0) or s16 (1/65536, -32768).
///   Other rules are unimplemented.
struct OCTET_API softmax_forward : public primitive {
    struct OCTET_API desc {
        desc(prop_kind prop, const memory::desc &src, const memory::desc &dst, int axis);
        desc(prop_kind prop, const memory::desc &data, int axis)
            : desc(prop, data, data, axis) {} ///< oneDNN 2.x

        prop_kind prop;
        memory::desc src, dst;
        int axis;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
    };

    softmax_forward() = default;
    softmax_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
