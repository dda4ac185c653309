#pragma once // SPDX-License-Identifier: Apache-2.0

// Shape functions of ONNX's operators: type and dimensions of their outputs, from those of their inputs. An
// operator's row names its function; the shapes of operators that move elements stand with these operators in
// onnx/ops.

#include "network/shapes/node_shapes.hpp"

namespace octet::model::shape {

// ---- Windows (windows.cpp)

void qlinear_conv(node_shapes &n);
void conv_integer(node_shapes &n);
void conv(node_shapes &n);
void conv_transpose(node_shapes &n);
void pooling(node_shapes &n);
void global_pooling(node_shapes &n);

// ---- Matrix products, element by element (products.cpp)

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
void truth(node_shapes &n);
void where(node_shapes &n);

// ---- Integers out of shapes (values.cpp)

void shape_of(node_shapes &n);
void size_of(node_shapes &n);
void range(node_shapes &n);
void constant_of_shape(node_shapes &n);
void non_zero(node_shapes &n);
void cast(node_shapes &n);

// ---- Rows (rows.cpp)

void reduce(node_shapes &n);
void arg_max(node_shapes &n);
void layer_normalization(node_shapes &n);
void skip_layer_normalization(node_shapes &n);
void embed_layer_normalization(node_shapes &n);
void attention(node_shapes &n);
void multi_head_attention(node_shapes &n);
void attention_mask(node_shapes &n);

} // namespace octet::model::shape
