#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of quantized codes, as frameworks compute them: the meaning of eltwise_forward for one element,
// between the load and the epilogue. With 8-bit codes there are 256 values: implementations tabulate them.

#include "common/bound_epilogue.hpp"
#include "common/eltwise_problem.hpp"

namespace octet::impl {

/// Value of an integer code. `zero_point` is the source's.
number eltwise_of_code(const eltwise_problem &p, std::int32_t code, std::int32_t zero_point);
/// The function of an f32 source, as eltwise_of_code.
number eltwise_of_real(const eltwise_problem &p, float x, std::int32_t zero_point);

} // namespace octet::impl
