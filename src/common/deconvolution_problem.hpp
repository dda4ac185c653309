#pragma once // SPDX-License-Identifier: Apache-2.0

// Deconvolutions: the numbers of the convolution that they transpose.

#include <numeric>

#include "common/convolution_problem.hpp"

namespace octet::impl {

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

} // namespace octet::impl
