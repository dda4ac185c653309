#pragma once // SPDX-License-Identifier: Apache-2.0

// What a primitive has to compute, checked once and free of spelling: 1D, 2D and 3D are one form, inner
// product is a convolution whose kernel covers the image, absent attributes have their defaults.
// Implementations see only this.

#include <array>
#include <numeric>
#include <vector>

#include "common/epilogue.hpp"
#include "octet/primitive_attr.hpp"

namespace octet::impl {

using extent3 = std::array<dim_t, 3>; ///< depth, height, width

/// Zero points of one input. Values are indexed by the masked dimensions of that tensor; unset means 0.
struct zero_points {
    masked_values<std::int32_t> values;
    int arg; ///< OCTET_ARG_* of the tensor, for run-time values

    const std::int32_t *bind(const arguments &args) const {
        if (values.runtime)
            return args.get<const std::int32_t>(OCTET_ARG_ATTR_ZERO_POINTS | arg);
        return values.values.empty() ? nullptr : values.values.data();
    }
};

struct convolution_problem {
    memory_desc src, weights, dst;            ///< as the user gave them, layouts resolved
    dim_t mb = 1, groups = 1, oc = 1, ic = 1; ///< oc, ic per group
    extent3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
    extent3 stride{1, 1, 1}, dilation{1, 1, 1},
        pad{0, 0, 0};      ///< dilation 1: adjacent taps; pad: front, top, left
    int spatial_ndims = 0; ///< spatial dimensions in src and weights: 0 (inner product without them) to 3
    bool weights_have_groups = false;
    bool is_inner_product = false; ///< dst has no spatial dimensions
    bool sums_f32() const { return src.data_type == data_type::f32; }
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

/// A convolution's numbers; src is scattered over dst: od = id*stride + kd*dilation - pad.
struct deconvolution_problem : convolution_problem {};

/// Outputs of a deconvolution that are a stride apart meet every so-many-th tap.
inline extent3 tap_steps(const deconvolution_problem &p) {
    extent3 steps;
    for (std::size_t a = 0; a < 3; a++)
        steps[a] = p.stride[a] / std::gcd(p.stride[a], p.dilation[a]);
    return steps;
}
/// The packed layout that serves a deconvolution best: its taps in the order in which outputs meet them.
inline memory_desc packed_in_parts(const deconvolution_problem &p) {
    memory_desc weights = p.weights;
    const bool taps_are_neighbours = p.dilation[2] == std::gcd(p.stride[2], p.dilation[2]);
    set_packed_in_parts(
        weights, p.weights_have_groups ? packed_kind::grouped_deconvolution : packed_kind::deconvolution,
        tap_steps(p), taps_are_neighbours);
    const bool is_depthwise =
        !p.sums_f32() && p.weights_have_groups && p.groups > 1 && p.ic == 1 && p.spatial_ndims < 3;
    if (is_depthwise && taps_are_neighbours && p.dilation[1] == std::gcd(p.stride[1], p.dilation[1]))
        set_parts_in_patches(weights);
    return weights;
}

/// Depthwise convolutions in 1D and 2D: how their taps become dot products.
inline tap_patches patches_of(const convolution_problem &p) {
    return choose_patches({p.kernel[1], p.stride[1], p.dilation[1]},
                          {p.kernel[2], p.stride[2], p.dilation[2]});
}

struct matmul_problem {
    memory_desc src, weights, dst;
    bool sums_f32() const { return src.data_type == data_type::f32; }
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

struct reorder_problem {
    memory_desc src, dst;
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    masked_values<float> src_scales, dst_scales; ///< masks over the (common) dims
    bool concatenates = false; ///< tflite rules: rha(q * s + k), as TFLite's older CONCATENATION rescales
    epilogue out_stage;
};

/// The function of a window: octet/pooling.hpp.
enum class pooling_form {
    maximum,
    average_of_codes, ///< f32(Σ) / n: oneDNN
    rounded_average,  ///< Σ / n, ties away from code 0: TFLite
    requantized_sum,  ///< the rule's factor contains 1 / n
    rescaled_average, ///< TFLite's older MEAN: a factor first, then / n
    dequantized,      ///< real values are summed and divided: ONNX Runtime
    scaled_sum,       ///< (Σ - n * src_zp) times s_src / (s_dst * n), ties away from zero: SNPS-Caffe
};

struct pooling_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    pooling_form form = pooling_form::maximum;
    dim_t mb = 1, channels = 1;
    extent3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, pad{0, 0, 0};
    extent3 dilation{1, 1, 1}; ///< 1: adjacent taps
    int spatial_ndims = 0;
    float src_scale = 1.f, dst_scale = 1.f;
    fixed_point_multiplier multiplier; ///< rescaled_average
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    epilogue out_stage;
};

/// Whose arithmetic combines two operands: octet/binary.hpp.
enum class binary_form {
    f32,         ///< (s_0 * src_0) op (s_1 * src_1)
    scaled_sum,  ///< TFLite: the out stage's rule on the sum or difference of rescaled operands
    product,     ///< TFLite: the out stage's rule on the product
    qlinear_sum, ///< ONNX Runtime: raw codes, zero points folded into one constant
    qlinear_product,
    qnnpack_sum, ///< Caffe2: integer multipliers for both operands, one rounded shift, ties away from zero
    xnnpack_sum, ///< the same with ties up
    dequantized, ///< real operands; then divided by the destination's scale
};

struct binary_problem {
    memory_desc src0, src1, dst;
    algorithm alg = algorithm::undef;
    binary_form form = binary_form::f32;
    float scale0 = 1.f, scale1 = 1.f, dst_scale = 1.f;
    /// scaled_sum: applied after a left shift by 20; qnnpack_sum, xnnpack_sum: the shift is common to both.
    fixed_point_multiplier multiplier0, multiplier1;
    zero_points zero_points0{{}, OCTET_ARG_SRC_0}, zero_points1{{}, OCTET_ARG_SRC_1};
    /// qlinear forms: part of the arithmetic, not of out_stage.
    zero_points dst_zero_point{{}, OCTET_ARG_DST};
    epilogue out_stage;
};

/// common/eltwise_code.hpp is its meaning.
struct eltwise_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    float alpha = 0.f, beta = 0.f;
    float src_scale = 1.f, dst_scale = 1.f; ///< float rules
    /// tflite rules: of the source; relu of negative values has its own.
    fixed_point_multiplier multiplier, negative_multiplier;
    bool has_negative_multiplier = false;
    fixed_point_multiplier gate_multiplier; ///< tflite rules, hardswish: of the source, 3 being 1
    bool rescales = false;                  ///< clip: by `multiplier`
    std::int32_t low = 0, high = 0;         ///< clip: relative to the zero point
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    epilogue out_stage;
};

struct softmax_problem {
    memory_desc src, dst;
    int axis = 0;
    bool is_log = false;                    ///< f32 rules
    fixed_point_multiplier multiplier;      ///< tflite rules
    float src_scale = 1.f, dst_scale = 1.f; ///< ort_f32
    std::int32_t dst_zero_point = 0;        ///< ort_f32
    epilogue out_stage;                     ///< its rule decides; f32 rules also use the rest
};

struct resampling_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    resampling_coordinates coordinates = resampling_coordinates::half_pixel;
    dim_t mb = 1, channels = 1;
    extent3 in{1, 1, 1}, out{1, 1, 1};
    int spatial_ndims = 0;
    epilogue out_stage;
};

/// One reorder per source, into its part of dst; sources are OCTET_ARG_MULTIPLE_SRC + i.
struct concat_problem {
    std::vector<reorder_problem> parts;
};

struct sum_problem {
    std::vector<memory_desc> srcs;
    memory_desc dst;
    std::vector<float> scales;
    /// SNPS-Caffe: integer multipliers with a common shift.
    std::vector<fixed_point_multiplier> multipliers;
    std::vector<zero_points> src_zero_points;
    epilogue out_stage;
};

struct prelu_problem {
    memory_desc src, weights, dst;
    fixed_point_multiplier multiplier, negative_multiplier; ///< tflite rules
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

/// Scales and shifts of a normalization, {C}, or {2, C} as one tensor.
struct normalization_operands {
    bool has_scale = false, has_shift = false;
    bool are_joined = false; ///< OCTET_ARG_SCALE_SHIFT instead of OCTET_ARG_SCALE and OCTET_ARG_SHIFT
};

struct batch_normalization_problem {
    memory_desc src, dst;
    float epsilon = 0.f;
    normalization_operands operands;
    bool has_relu = false;
    bool computes_stats = false; ///< of the batch, instead of those that are given
    bool gives_stats = false;    ///< as results
    epilogue out_stage;
};

struct layer_normalization_problem {
    memory_desc src, dst; ///< over the last dimension
    memory_desc stats;    ///< mean and variance, if they are given or results; else ndims 0
    bool gives_stats = false;
    float epsilon = 0.f;
    normalization_operands operands;
    epilogue out_stage;
};

struct reduction_problem {
    memory_desc src, dst; ///< dimensions of dst that are 1 and of src are not are reduced
    algorithm alg = algorithm::undef;
    float p = 0.f, epsilon = 0.f;
    epilogue out_stage;
};

/// Coordinates of (outer, channel, depth, height, width) in a tensor with 0 to 3 spatial dimensions.
inline coordinates spatial_coordinates(int spatial_ndims, dim_t n, dim_t c, dim_t d, dim_t h, dim_t w) {
    switch (spatial_ndims) {
    case 0:
        return {n, c};
    case 1:
        return {n, c, w};
    case 2:
        return {n, c, h, w};
    default:
        return {n, c, d, h, w};
    }
}

} // namespace octet::impl
