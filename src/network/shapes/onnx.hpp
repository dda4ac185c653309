#pragma once // SPDX-License-Identifier: Apache-2.0

// What each ONNX operator gives: type and dimensions of its outputs, from those of its inputs. One small function
// per family; which operator has which is in the operators' table.

#include "network/shapes/node_shapes.hpp"

namespace octet::model::shape {

// ---- Windows (onnx_windows.cpp)

void qlinear_conv(node_shapes &n);
void conv_integer(node_shapes &n);
void conv(node_shapes &n);
void conv_transpose(node_shapes &n);
void pooling(node_shapes &n);
void global_pooling(node_shapes &n);

// ---- Matrix products, element by element (onnx_products.cpp)

void qlinear_matmul(node_shapes &n);
void matmul_integer(node_shapes &n);
void matmul_integer_to_float(node_shapes &n);
void matmul(node_shapes &n);
void qgemm(node_shapes &n);
void gemm(node_shapes &n);
void same(node_shapes &n);
void binary(node_shapes &n);
void variadic(node_shapes &n);
void power(node_shapes &n);
void qlinear_binary(node_shapes &n);
void quantize(node_shapes &n);
void dequantize(node_shapes &n);
void dynamic_quantize(node_shapes &n);
void comparison(node_shapes &n);
void where(node_shapes &n);

// ---- Moving elements (onnx_moves.cpp)

void concat(node_shapes &n);
void qlinear_concat(node_shapes &n);
void flatten(node_shapes &n);
void reshape(node_shapes &n);
void squeeze(node_shapes &n);
void unsqueeze(node_shapes &n);
void transpose(node_shapes &n);
void pad(node_shapes &n);
void tile(node_shapes &n);
void depth_to_space(node_shapes &n);
void space_to_depth(node_shapes &n);
void dropout(node_shapes &n);

// ---- Choosing elements (onnx_choices.cpp)

void gather(node_shapes &n);
void slice(node_shapes &n);
void split(node_shapes &n);
void expand(node_shapes &n);
void resize(node_shapes &n);

// ---- Integers out of shapes (onnx_values.cpp)

void shape_of(node_shapes &n);
void size_of(node_shapes &n);
void range(node_shapes &n);
void constant_of_shape(node_shapes &n);
void cast(node_shapes &n);

// ---- Rows (onnx_rows.cpp)

void reduce(node_shapes &n);
void arg_max(node_shapes &n);
void layer_normalization(node_shapes &n);
void skip_layer_normalization(node_shapes &n);
void embed_layer_normalization(node_shapes &n);
void attention_mask(node_shapes &n);

} // namespace octet::model::shape
