#pragma once // SPDX-License-Identifier: Apache-2.0

// From the graph that ONNX Runtime would run to the operators that Octet has: no byte changes.

#include "network/graph/evaluator.hpp"

namespace octet::model {

/// Writes ONNX Runtime's own operators in Octet's, moves DequantizeLinear behind what only moves elements,
/// and computes what is of constants alone. Comes after `transform_as_onnx_runtime`.
void use_octet_operators(graph &g, const evaluator &evaluate);

/// Lets products of floats sum up single rows as ONNX Runtime does it: those whose order depends on the
/// number of rows.
void note_single_rows(graph &g);

} // namespace octet::model
