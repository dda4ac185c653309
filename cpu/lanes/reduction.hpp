#pragma once

// Reductions in vectors of the compiler.

#include "cpu/implementation.hpp"

namespace octet::impl::lanes {

offer plan(const reduction_problem &p, const machine &m);

} // namespace octet::impl::lanes
