#pragma once // SPDX-License-Identifier: Apache-2.0

// What TFLite's operators give for other sizes of their inputs: dimensions alone, types stay the file's. Which operator has which
// is in its row; shapes of one operator alone stand with it.

#include "network/shapes/node_shapes.hpp"

namespace octet::model::tflite_shape {

/// Dimensions of an input that must have four.
const memory::dims &image(const node_shapes &n, std::size_t i);
/// Which of `rank` dimensions a list of axes names.
std::vector<bool> named_axes(const node_shapes &n, const std::vector<std::int64_t> &axes, std::size_t rank);

void same(node_shapes &n);
void binary(node_shapes &n);
void conv_2d(node_shapes &n);
void depthwise_conv_2d(node_shapes &n);
void pool_2d(node_shapes &n);
void fully_connected(node_shapes &n);
void batch_matmul(node_shapes &n);
void reduce(node_shapes &n);
void pad(node_shapes &n);
void transpose_conv(node_shapes &n);

} // namespace octet::model::tflite_shape
