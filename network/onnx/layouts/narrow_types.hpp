#pragma once // SPDX-License-Identifier: Apache-2.0

// Types of tensors that no step has: codes that share bytes, and f16 in products of blocks.

#include "network/onnx/rewrites/ort_graph.hpp"

namespace octet::model {

/// Gives MatMulNBits and GatherBlockQuantized floats of f32, with a Cast where f16 comes or goes: ONNX Runtime widens
/// f16, computes in f32 and rounds once. A table of 4-bit codes gets those of u8.
void use_wide_types(ort_graph &g);

/// Gives all codes that share bytes bytes of their own, but for inputs and outputs of the network, which whoever
/// lowers the node refuses. Comes after `use_wide_types`.
void widen_shared_codes(graph &g);

} // namespace octet::model
