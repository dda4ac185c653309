#pragma once // SPDX-License-Identifier: Apache-2.0

// Floats times codes, as ONNX Runtime's MatMulNBits.

#include "network/lower/lowering.hpp"

namespace octet::model {

/// Inputs: floats, codes {inner, columns} of 8 bits, their scale and zero point (one or per column), a bias or none.
std::unique_ptr<step> lower_matmul_of_blocks(const lowering &l);

} // namespace octet::model
