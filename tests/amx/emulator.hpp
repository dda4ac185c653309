#pragma once // SPDX-License-Identifier: Apache-2.0

// Lets a test program run the level avx512_amx on machines without tile registers. A program that is linked
// with emulator.cpp has the level from its start on: each instruction of tile registers that such a CPU does
// not know raises SIGILL, whose handler executes it on tiles of the thread (instructions.hpp) and goes on
// behind it. That takes microseconds, so sizes are small. Where the machine has the level, or no AVX512-VNNI
// to stand under it, no level is added. Plans take tile registers for little work too, since that is what
// tests have. A program that is linked with signed_dot_emulator.cpp too has vpdpbssd at the level avx_vnni in
// the same way, on its registers as the signal has saved them.

#include <cstdint>

namespace octet::test {

/// True if avx512_amx is there by emulation alone.
bool emulates_amx();
/// What executes the instructions of tile registers in this program: the machine, the emulator, or nothing.
const char *executor_of_amx();
/// Products that were emulated so far: tests show by them that tile registers were used.
std::uint64_t emulated_products();

/// From here on the level avx_vnni has vpdpbssd, by emulation if the machine has AVX-VNNI alone. False if it
/// has not even that.
bool have_signed_dot4();
/// True if it is there by emulation, and how many were emulated so far.
bool emulates_signed_dot4();
std::uint64_t emulated_vector_products();

} // namespace octet::test
