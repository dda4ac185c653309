#pragma once // SPDX-License-Identifier: Apache-2.0

// Code that float convolutions in all orders of sums share, transposed ones too.

#include <optional>

#include "network/onnx/ops/operators.hpp"
#include "network/ops/view_transpose_pad.hpp"

namespace octet::model {

struct conv_sizes {
    dim_t groups, channels, outputs; ///< channels of each group
    dim_t taps;
};

/// Whether sums begin with an image, the fourth input. Other nodes may have operands of what is fused behind
/// them there.
inline bool adds_image(const node &conv) { return conv.op == "ConvAdd"; }

/// The bias of a convolution of so many channels, if it has one; refuses one of another length.
std::optional<buffer> bias_of_channels(const lowering &l, dim_t channels);

/// Makes a convolution of products of matrices for each group, channel by channel; images lie in planes.
std::unique_ptr<step> convolution_of_planes(const lowering &l, const conv_sizes &s, const window_geometry &g);

} // namespace octet::model
