#pragma once

// Shapes of convolution and deconvolution. Both have the same tensors; they differ in which of src and dst is
// the image that windows slide over.

#include "common/problem.hpp"

namespace octet::impl {

enum class direction { forward, transposed };

/// What both descriptors hold.
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

/// "mb1_ic64oc64_ih56oh56kh3sh1dh0ph1_…"
std::string shape_text(const convolution_problem &p);

} // namespace octet::impl
