#pragma once // SPDX-License-Identifier: Apache-2.0

// Functions of 8-bit codes as tables: where a reorder or an eltwise depends on nothing but the code, its
// reference kernel runs once over all 256 codes at creation, and execution looks results up.

#include <memory>

#include "common/eltwise_problem.hpp"
#include "common/reorder_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::table {

/// Empty, or why the problem is no function of an 8-bit code alone.
std::string refuses(const eltwise_problem &p);
std::string refuses(const reorder_problem &p);

candidate plan(const eltwise_problem &p, const machine &m);
candidate plan(const reorder_problem &p, const machine &m);

/// The result for each code from the lowest, in the destination's type.
std::vector<std::uint8_t> entries_of(const eltwise_problem &p);
std::vector<std::uint8_t> entries_of(const reorder_problem &p);

} // namespace octet::impl::table
