#pragma once // SPDX-License-Identifier: Apache-2.0

// Facts about images in ONNX's networks that passes and operators must see alike.

#include "network/graph/graph.hpp"

namespace octet::model {

/// The operator that copies a tensor into its other layout; a pass inserts it (onnx/layouts/layouts.cpp), no
/// file has it.
inline constexpr const char *layout_operator = "Reorder";

/// Inputs of a float Conv, the last of which is a pass's.
inline constexpr std::size_t conv_weights = 1, conv_bias = 2, conv_summand = 3;

/// Channels side by side in the layout of ONNX Runtime's NchwcTransformer.
inline constexpr dim_t channels_of_block = 16;

/// Whether ONNX Runtime computes a float Conv in blocks of channels.
bool computes_in_blocks(const graph &g, const node &conv);

} // namespace octet::model
