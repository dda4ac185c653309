#pragma once // SPDX-License-Identifier: Apache-2.0

// Layer normalization of rows that are contiguous, in vectors of the compiler.

#include "common/normalization_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::lanes {

candidate plan(const layer_normalization_problem &p, const machine &m);

} // namespace octet::impl::lanes
