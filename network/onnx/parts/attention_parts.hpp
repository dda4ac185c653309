#pragma once // SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's Attention and QAttention as the operators that they consist of, which
// compute the same to the last bit.

#include "network/graph/graph.hpp"

namespace octet::model {

/// Whether an operator stays whole until passes have seen the graph, and is then written as parts.
bool is_attention(const std::string &op);

/// In their order; tensors between them are added to the graph, without shapes. Throws octet::error for
/// inputs, outputs and attributes that have no parts.
std::vector<node> attention_parts(graph &g, const node &whole);

} // namespace octet::model
