#pragma once

#include "octet/primitive.hpp"

namespace octet {
inline namespace v0 {

/// Resizes the spatial dimensions, 1D, 2D or 3D, by the nearest element or by linear interpolation.
///
/// | rule | nearest | linear |
/// | --- | --- | --- |
/// | f32 (default) | oneDNN: round(c), ties away from 0 | oneDNN: Σ src * weights, in f32 on codes |
/// | tflite_2step | TFLite: floor(c), with align_corners rounded | 2D; TFLite's 10-bit weights, ties away
/// from code 0 | | tflite_single_rounding | the same | the same, ties up | | ort_f32 | ONNX Runtime, ties
/// down | 2D; ONNX Runtime's u8 and s8 Resize in NCHW: f32 weights, truncated | | caffe_double_round | as f32
/// | 2D; SNPS-Caffe: rows, then columns, in f32, ties away from 0 |
///
/// c is the coordinate in the source that `resampling_coordinates` describes; the f32 rule has half_pixel
/// only. Codes are taken as they are: src and dst have one scale and zero point. Post-ops work on codes.
///
/// Shapes   src {N, C, [D, [H,]] W}, dst {N, C, …}. Types f32, s32, s8, u8; other rules than f32: s8, u8.
struct OCTET_API resampling_forward : public primitive {
    struct OCTET_API desc {
        desc(prop_kind prop, algorithm alg, const memory::desc &src, const memory::desc &dst,
             resampling_coordinates coordinates = resampling_coordinates::half_pixel);
        /// oneDNN: `factors`, one per spatial dimension, say that dst's size is the integer part of factor *
        /// size.
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src,
             const memory::desc &dst);
        desc(prop_kind prop, algorithm alg, const std::vector<float> &factors, const memory::desc &src);

        prop_kind prop;
        algorithm alg;
        memory::desc src, dst;
        std::vector<float> factors;
        resampling_coordinates coordinates = resampling_coordinates::half_pixel;
    };

    struct OCTET_API primitive_desc : public primitive_desc_base {
        primitive_desc() = default;
        primitive_desc(const desc &d, const engine &e, bool allow_empty = false);
        primitive_desc(const desc &d, const primitive_attr &attr, const engine &e, bool allow_empty = false);
        /// oneDNN 3.x: descriptor and primitive descriptor in one call.
        primitive_desc(const engine &e, prop_kind prop, algorithm alg, const memory::desc &src,
                       const memory::desc &dst, const primitive_attr &attr = {}, bool allow_empty = false);
    };

    resampling_forward() = default;
    resampling_forward(const primitive_desc &pd) : primitive(pd) {}
};

} // namespace v0
} // namespace octet
