#pragma once // SPDX-License-Identifier: Apache-2.0

// Products whose source is quantized while they run, in orders that add up groups: rows become codes, then tiles
// of them are multiplied (group_products.hpp). And the packing of their weights.

#include "common/dynamic_matmul_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::groups {

candidate plan(const dynamic_matmul_problem &p, const machine &m);
/// At any level, for weights that only a kernel reads.
candidate plan_packed(const dynamic_matmul_problem &p, const machine &m);
candidate plan_packing(const packing_problem &p, const machine &m);

/// `product`, which gives dense rows of f32, and post-ops and the type of dst as a second step where they need one.
candidate in_floats(const dynamic_matmul_problem &p, const machine &m,
                    plan_function<dynamic_matmul_problem> product);

/// True if weights are packed with the sums of their columns, at this level.
bool packs_sums(const dynamic_matmul_problem &p, const machine &m);

} // namespace octet::impl::groups
