#pragma once

// What a primitive has to compute, checked once and free of spelling: 1D, 2D and 3D are one form, inner
// product is a convolution whose kernel covers the image, absent attributes have their defaults.
// Implementations see only this.

#include <array>

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
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

/// Depthwise convolutions in 1D and 2D: how their taps become dot products.
inline tap_patches patches_of(const convolution_problem &p) {
    return choose_patches({p.kernel[1], p.stride[1], p.dilation[1]},
                          {p.kernel[2], p.stride[2], p.dilation[2]});
}

struct matmul_problem {
    memory_desc src, weights, dst;
    zero_points src_zero_points{{}, OCTET_ARG_SRC}, weights_zero_points{{}, OCTET_ARG_WEIGHTS};
    epilogue out_stage;
};

struct reorder_problem {
    memory_desc src, dst;
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    masked_values<float> src_scales, dst_scales; ///< masks over the (common) dims
    epilogue out_stage;
};

struct pooling_problem {
    memory_desc src, dst;
    algorithm alg = algorithm::undef;
    dim_t mb = 1, channels = 1;
    extent3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, pad{0, 0, 0};
    int spatial_ndims = 0;
    bool sum_only = false; ///< the rule's factor contains 1 / n
    zero_points src_zero_points{{}, OCTET_ARG_SRC};
    epilogue out_stage;
};

struct binary_problem {
    memory_desc src0, src1, dst;
    algorithm alg = algorithm::undef;
    masked_values<float> scale0, scale1;
    fixed_point_multiplier multiplier0, multiplier1; ///< fixed-point add: applied after a left shift by 20
    zero_points zero_points0{{}, OCTET_ARG_SRC_0}, zero_points1{{}, OCTET_ARG_SRC_1};
    epilogue out_stage;
};

struct softmax_problem {
    memory_desc src, dst;
    int axis = 0;
    requantization_rule rule = requantization_rule::tflite_2step;
    fixed_point_multiplier multiplier;
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
