#pragma once // SPDX-License-Identifier: Apache-2.0

// What each TFLite operator gives for other sizes of its inputs: dimensions alone, types stay the file's. Which operator
// has which is in the operators' table.

#include "network/shapes/node_shapes.hpp"

namespace octet::model::tflite_shape {

void same(node_shapes &n);
void arg_extreme(node_shapes &n); ///< of ARG_MAX, ARG_MIN
void binary(node_shapes &n);
void conv_2d(node_shapes &n);
void depthwise_conv_2d(node_shapes &n);
void pool_2d(node_shapes &n);
void fully_connected(node_shapes &n);
void batch_matmul(node_shapes &n);
void batch_to_space_nd(node_shapes &n);
void broadcast_to(node_shapes &n);
void concatenation(node_shapes &n);
void depth_to_space(node_shapes &n);
void expand_dims(node_shapes &n);
void gather(node_shapes &n);
void pack(node_shapes &n);
void sequence(node_shapes &n); ///< of UNIDIRECTIONAL_SEQUENCE_LSTM
void shape(node_shapes &n);
void slice(node_shapes &n);
void space_to_batch_nd(node_shapes &n);
void space_to_depth(node_shapes &n);
void split(node_shapes &n);
void split_v(node_shapes &n);
void squeeze(node_shapes &n);
void strided_slice(node_shapes &n);
void svdf(node_shapes &n);
void reshape(node_shapes &n);
void reduce(node_shapes &n);
void pad(node_shapes &n);
void resize(node_shapes &n);
void tile(node_shapes &n);
void transpose(node_shapes &n);
void transpose_conv(node_shapes &n);
void unpack(node_shapes &n);

// What else a node says of itself.
bool adds_dimensions(const graph &g, const node &n);           ///< of BROADCAST_TO
bool names_first_axis(const graph &g, const node &n);          ///< input 1 of REVERSE_V2
bool has_negative_first_stride(const graph &g, const node &n); ///< of STRIDED_SLICE

} // namespace octet::model::tflite_shape
