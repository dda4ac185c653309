#pragma once // SPDX-License-Identifier: Apache-2.0

// Shape functions of TFLite's operators: the dimensions of outputs for other sizes of the inputs. Types stay
// as the file has them. An operator's row names its function; functions that one operator alone uses stand
// beside it.

#include "network/shapes/node_shapes.hpp"

namespace octet::model::tflite_shape {

/// Dimensions of an input that must have four.
const memory::dims &image(const node_shapes &n, std::size_t i);
/// Element d is true if `axes` names dimension d of `rank`.
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
