#pragma once // SPDX-License-Identifier: Apache-2.0

// Shapes of convolution and deconvolution. Both have the same tensors; they differ in which of src and dst is
// the image that windows slide over.

#include "api/operation.hpp"
#include "common/convolution_problem.hpp"

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

/// Spatial sizes of a convolution's kernel.
memory::dims kernel_of(const memory::desc &src, const memory::desc &weights);

/// Visits the parameters of a convolution from `image` to `positions` (operation.hpp): "strides:1x1 dilates:0x0
/// padding_l:1x1"; padding_r follows from the sizes.
template <typename Desc, typename Visit>
void visit_convolution(Desc &d, const Visit &visit, const memory::desc &image,
                       const memory::desc &positions) {
    const std::size_t n = spatial_ndims(d.src);
    visit.list("strides", d.strides, 'x', n, 1);
    visit.list("dilates", d.dilates, 'x', n, 0);
    visit.list("padding_l", d.padding_l, 'x', n, 0);
    visit.padding_r(d.padding_r, [&] {
        return sliding_windows{image,     positions, kernel_of(d.src, d.weights),
                               d.strides, d.dilates, d.padding_l};
    });
}

} // namespace octet::impl
