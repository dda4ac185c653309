#pragma once // SPDX-License-Identifier: Apache-2.0

// Resampling of channels-last tensors in generated code: neighbours and weights of every line and column are
// tabled at creation, the kernel (jit/kernels/resampling/positions.hpp) makes a line of output positions.

#include <memory>
#include <string>

#include "common/resampling_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::resampling {

candidate plan(const resampling_problem &p, const machine &m);
} // namespace octet::impl::resampling
