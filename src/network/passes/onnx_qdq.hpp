#pragma once

// Graphs in QDQ form: float operators between DequantizeLinear and QuantizeLinear.

#include <map>
#include <string>

#include "network/graph/evaluator.hpp"

namespace octet::model {

/// Turns float operators between DequantizeLinear and QuantizeLinear into ONNX Runtime's operators on codes,
/// with the bytes that ONNX Runtime gives (graph optimisation on, 8-bit signed activations allowed, but for
/// `make_unsigned`, which it calls). What it leaves in float stays as it is. The graph has types and
/// dimensions and has been checked. `evaluate` quantizes constants. Returns, by output tensor, why operators stay in
/// float that have or need a form on codes.
std::map<int, std::string> fuse_qdq(graph &g, const evaluator &evaluate);

/// Where all s8 activations lie between a QuantizeLinear and one DequantizeLinear with one reader, they
/// become u8: the same numbers, zero points 128 higher. ONNX Runtime does so on x86, and some of its
/// arithmetic on u8 rounds other ties. In networks with other activations in s8, which it computes in float
/// there, all stay.
void make_unsigned(graph &g);

} // namespace octet::model
