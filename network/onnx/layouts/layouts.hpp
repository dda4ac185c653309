#pragma once // SPDX-License-Identifier: Apache-2.0

// Layouts of images inside an ONNX network. ONNX describes them channels first; Octet's kernels, like ONNX
// Runtime's, read and write them channels last.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Makes images between operators on images channels-last, and copies where an operator needs the other
/// layout. Inputs and outputs of the network stay as they are; dimensions never change.
void assign_layouts(graph &g);

} // namespace octet::model
