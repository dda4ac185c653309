#pragma once

#include "network/graph/evaluator.hpp"

namespace octet::model {

/// Operators on floats that exporters and quantizers write as several nodes become one again, those of ONNX and of ONNX
/// Runtime: Gelu, LayerNormalization, FusedMatMul out of MatMul and factors, MatMulAdd out of MatMul and a row,
/// MatMulIntegerToFloat out of MatMulInteger, Cast and Mul. Comes after `fuse_qdq`. It decides what is computed, not how,
/// so it is no part of `network_options::fusion`.
void recognize_float_operators(graph &g);

/// Nodes all of whose inputs are constants become constants: dequantized weights, factors.
void fold_constants(graph &g, const evaluator &evaluate);

} // namespace octet::model
