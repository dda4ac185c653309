#pragma once

// Graphs in QDQ form: float operators between DequantizeLinear and QuantizeLinear.

#include "model/graph.hpp"

namespace octet::model {

/// Turns float operators between DequantizeLinear and QuantizeLinear into ONNX Runtime's operators on codes,
/// with the bytes that ONNX Runtime gives (graph optimisation on, 8-bit signed activations allowed). What it
/// leaves in float stays as it is. The graph has types and dimensions and has been checked.
void fuse_qdq(graph &g);

} // namespace octet::model
