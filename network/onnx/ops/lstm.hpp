#pragma once // SPDX-License-Identifier: Apache-2.0

// LSTM's cell, with products of floats or of codes.

#include "network/onnx/ops/recurrent.hpp"

namespace octet::model {

/// Makes a product of gates; `weights` is the input W or R.
using gate_product_maker = std::function<std::unique_ptr<gate_product>(
    const buffer &src, std::size_t weights, dim_t direction, const buffer &dst, bool adds)>;

/// LSTM of these sizes; what is not in `z` comes from the node.
std::unique_ptr<step> lstm_step(const lowering &l, const recurrent_sizes &z, const gate_product_maker &make);

/// Gates i, o, f and c.
constexpr dim_t lstm_gates = 4;

} // namespace octet::model
