// Linked into a test program, the machine has every level from its start on, those that it lacks by name
// alone (cpu/machine/isa.hpp): what a program takes for the highest level is not the highest one.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/isa.hpp"

namespace octet::impl {
namespace {

[[maybe_unused]] const bool is_pretended = (pretend_every_level(), true);

} // namespace
} // namespace octet::impl
