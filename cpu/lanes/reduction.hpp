#pragma once // SPDX-License-Identifier: Apache-2.0

// Reductions in vectors of the compiler.

#include "common/reduction_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::lanes {

candidate plan(const reduction_problem &p, const machine &m);

} // namespace octet::impl::lanes
