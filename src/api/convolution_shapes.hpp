#pragma once // SPDX-License-Identifier: Apache-2.0

// Shapes of convolution and deconvolution. Both have the same tensors; they differ in which of src and dst is
// the image that windows slide over.

#include "common/problem.hpp"

namespace octet::impl {

enum class direction { forward, transposed };

/// The members that both descriptors hold.
struct convolution_extents {
    const memory_desc &src, &weights, &dst;
    const memory::dims &strides, &dilates, &padding_l, &padding_r;
};

/// Shapes of the descriptor as a problem; throws on any disagreement.
convolution_problem convolution_shapes(const char *operation, direction way, const convolution_extents &d);

template <typename Desc>
convolution_problem convolution_shapes(const char *operation, direction way, const Desc &d) {
    return convolution_shapes(operation, way,
                              convolution_extents{d.src.data, d.weights.data, d.dst.data, d.strides,
                                                  d.dilates, d.padding_l, d.padding_r});
}

/// "3x3": the spatial dimensions that there are. With dilations, `added` -1 counts the zeros between taps.
std::string spatial_text(const extent3 &values, int spatial_ndims, dim_t added = 0);

/// "strides:1x1 dilates:0x0 padding_l:1x1"; padding_r follows from the sizes.
std::string convolution_parameters(const convolution_problem &p);

} // namespace octet::impl
