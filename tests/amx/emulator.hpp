#pragma once

// Lets a test program run the level avx512_amx on machines without tile registers. A program that is linked with
// emulator.cpp has the level from its start on: each instruction of tile registers that such a CPU does not know
// raises SIGILL, whose handler executes it on tiles of the thread (instructions.hpp) and goes on behind it. That takes
// microseconds, so sizes are small. Where the machine has the level, or no AVX512-VNNI to stand under it, nothing is
// changed.

#include <cstdint>

namespace octet::test {

/// True if avx512_amx is there by emulation alone.
bool emulates_amx();
/// Products that were emulated so far: tests show by them that tile registers were used.
std::uint64_t emulated_products();

} // namespace octet::test
