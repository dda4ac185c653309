// Linked into a program, the machine has every feature from its start on, so that code of each level is generated.
// Code for features that are missing must not run (cpu/machine/isa.hpp). Little work has code of tile registers, too.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/isa.hpp"

namespace octet::impl {
namespace {

[[maybe_unused]] const bool is_pretended = (pretend_cpu_features(~0u), ignore_gap_of_tiles(true), true);

} // namespace
} // namespace octet::impl
