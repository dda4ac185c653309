#pragma once // SPDX-License-Identifier: Apache-2.0

// Products in ggml's order for AVX2: eight sums for each result, sum l of the elements 4 l to 4 l + 3 of every group
// of 32.

#include "common/dynamic_matmul_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::ggml_lanes {

candidate plan(const dynamic_matmul_problem &p, const machine &m);

} // namespace octet::impl::ggml_lanes
