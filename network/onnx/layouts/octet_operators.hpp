#pragma once // SPDX-License-Identifier: Apache-2.0

// From the graph that ONNX Runtime would run to the operators that Octet has: no byte changes.

#include "network/graph/evaluator.hpp"
#include "octet/network.hpp"

namespace octet::model {

/// Writes ONNX Runtime's own operators in Octet's, moves DequantizeLinear behind what only moves elements,
/// and computes what is of constants alone. Comes after `transform_as_onnx_runtime`.
void use_octet_operators(graph &g, const evaluator &evaluate);

/// Marks the order of sums of products, where the options choose it: a single row's own, as ONNX Runtime has it,
/// or that of blocks one after the other.
void note_sums(graph &g, const network_options &options);

} // namespace octet::model
