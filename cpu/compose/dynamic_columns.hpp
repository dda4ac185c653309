#pragma once // SPDX-License-Identifier: Apache-2.0

// Products whose source is quantized while they run, with one scale for each column: rows become codes, their exact
// sums are a static product, and what an order makes of sums and scales is a loop over columns.

#include "common/dynamic_matmul_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::dynamic_columns {

candidate plan(const dynamic_matmul_problem &p, const machine &m);

} // namespace octet::impl::dynamic_columns
