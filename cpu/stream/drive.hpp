#pragma once // SPDX-License-Identifier: Apache-2.0

// The streaming operators: element-wise work whose speed is that of memory. A function of one byte is a
// table, equal types and numbers are a copy (cpu/stream/bytes.hpp); everything else is a short program per
// element (cpu/stream/plan.hpp).

#include <memory>
#include <string>

#include "common/reorder_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::stream {

/// True if dst gets the elements of src as they are.
bool only_moves(const reorder_problem &p);

/// For eltwise, reorder, binary, sum and prelu.
template <typename Problem> candidate plan(const Problem &p, const machine &m);

} // namespace octet::impl::stream
