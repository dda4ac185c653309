#pragma once // SPDX-License-Identifier: Apache-2.0

// Local response normalization of neighbouring elements at once: channels where these lie side by side, else pixels.
// Each element has the sequence of operations of cpu/ref/lrn.cpp.

#include "common/lrn_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::lanes {

candidate plan(const lrn_problem &p, const machine &m);

} // namespace octet::impl::lanes
