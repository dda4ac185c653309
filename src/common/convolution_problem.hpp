#pragma once // SPDX-License-Identifier: Apache-2.0

// Convolutions and inner products, a convolution whose kernel covers the image.

#include "common/problem.hpp"

namespace octet::impl {

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
    dim_t prefetched_bytes = 0; ///< primitive_attr::set_prefetched_bytes
};

/// Depthwise convolutions in 1D and 2D: how their taps become dot products.
inline tap_patches patches_of(const convolution_problem &p) {
    return choose_patches({p.kernel[1], p.stride[1], p.dilation[1]},
                          {p.kernel[2], p.stride[2], p.dilation[2]});
}

} // namespace octet::impl
