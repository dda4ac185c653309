#pragma once // SPDX-License-Identifier: Apache-2.0

// Linear interpolation of 8-bit codes where weights are fractions with a power of two below the line, as
// TFLite's are by definition and the other rules' for factors that are powers of two: sums are integers and
// exact in every rule. jit/kernels/resampling/codes.hpp makes them.

#include <memory>

#include "common/resampling_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::resampling {

/// Null where the problem is another one. Channels are innermost.
std::shared_ptr<const kernel> create_for_codes(const resampling_problem &p, instruction_set isa);

} // namespace octet::impl::resampling
