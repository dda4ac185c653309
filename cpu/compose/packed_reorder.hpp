#pragma once // SPDX-License-Identifier: Apache-2.0

// Reorders with packed weights on one side: the values are computed on a row-major copy by the family of plain
// reorders, unless they only move; packing itself is one pass (cpu/weights/pack.hpp).

#include "common/reorder_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::packed_reorder {

candidate plan(const reorder_problem &p, const machine &m);

} // namespace octet::impl::packed_reorder
