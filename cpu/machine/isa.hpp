#pragma once // SPDX-License-Identifier: Apache-2.0

// The facts about this machine that plans and generated code depend on (common/machine.hpp): the instruction
// sets of the CPU up to the cap that a user may set (OCTET_MAX_CPU_ISA, set_max_cpu_isa), its caches and
// threads. The CPU is asked once.

#include "common/machine.hpp"

namespace octet::impl {

/// True if the machine has the level and the cap allows it.
bool isa_is_usable(cpu_isa level);

/// This machine, used up to a level that it has: what plans and generators are given.
machine machine_at(cpu_isa level);

/// This machine at the level in use.
machine machine_in_use();

/// From here on the machine has these features too (cpu_feature): for tests that emulate their instructions.
void pretend_cpu_features(unsigned features);

/// From here on plans do not count what the first products in tile registers of an execution cost more: for tests,
/// whose problems are small.
void ignore_gap_of_tiles(bool ignore);
bool is_gap_of_tiles_ignored();

/// From here on the machine has every level; the code of those that it lacks is that of the next one below.
/// For tests of what programs do with levels above those that they know.
void pretend_every_level();

} // namespace octet::impl
