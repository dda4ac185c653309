#pragma once

// Types and dimensions of the tensors that an ONNX graph computes; files need not have them.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Gives every computed tensor of an ONNX graph its type and dimensions, in the order of the nodes, and puts
/// the padding that `auto_pad` stands for into `pads`. Throws octet::error for nodes whose inputs do not fit
/// together, `unimplemented` with all operators that it does not know.
void infer_onnx_shapes(graph &g);

} // namespace octet::model
