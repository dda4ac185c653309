#pragma once // SPDX-License-Identifier: Apache-2.0

// Scales and zero points of tensors of codes, for who fills inputs and reads outputs.

#include "network/graph/graph.hpp"

namespace octet::model {

/// In .onnx files operators have the parameters among their inputs; here their tensors get them. Comes when
/// the operators work on codes.
void note_quantization(graph &g);

} // namespace octet::model
