#pragma once

// The steps of `fuse_qdq`, in their order.

#include <map>
#include <string>

#include "network/graph/evaluator.hpp"
#include "network/passes/qdq_graph.hpp"

namespace octet::model {

/// Two pairs of QuantizeLinear and DequantizeLinear in a row become one, before anything else looks at them.
void merge_double_pairs(qdq_graph &g);

/// A MatMul of dequantized codes with an Add behind it becomes a Gemm, where ONNX Runtime makes one.
void form_gemms(qdq_graph &g);

/// Constant weights and biases become s8 and s32 codes with a DequantizeLinear, where ONNX Runtime quantizes them:
/// operators that stay on floats, too, have rounded ones.
void quantize_weights_and_biases(qdq_graph &g, const evaluator &evaluate);

/// Moving elements and quantizing commute: DequantizeLinear goes down through operators that move, QuantizeLinear
/// up, until they meet operators that compute.
void move_codes(qdq_graph &g);

/// Drops every Relu and Clip whose limits the quantized range behind it implies.
void drop_implied_limits(qdq_graph &g);

/// DequantizeLinear and QuantizeLinear with equal parameters cancel: (n * s) / s rounds to n for all codes.
void cancel_pairs(qdq_graph &g);

/// Operators between DequantizeLinear and QuantizeLinear become operators on codes. Returns, by output tensor, why
/// others stay on floats.
std::map<int, std::string> compute_on_codes(qdq_graph &g);

} // namespace octet::model
