#pragma once // SPDX-License-Identifier: Apache-2.0

// The source of a product, quantized on the threads of primitives: the bytes of common/source_quantizer.hpp.

#include "common/dynamic_matmul_problem.hpp"
#include "common/machine.hpp"

namespace octet::impl {

/// Codes {rows, K}, and parameters of rows, {rows}, or of groups, {rows, groups}; a tensor's stand in every row.
void quantize_rows(const dynamic_matmul_problem &p, instruction_set isa, const void *src, std::uint8_t *codes,
                   source_parameters *parameters);

} // namespace octet::impl
