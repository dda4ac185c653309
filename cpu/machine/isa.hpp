#pragma once

// What this machine has, as far as plans depend on it: instruction sets up to the cap that a user may set
// (OCTET_MAX_CPU_ISA, set_max_cpu_isa), and the size of the cache that a core has for itself.
//
// A level (cpu_isa) stands for all that its kernels need; byte permutes (AVX512-VBMI) are asked for apart,
// because machines of one level differ in them (Cascade Lake has none, Ice Lake does).

#include <cstdint>

#include "octet/settings.hpp"

namespace octet::impl {

/// True if the machine has the level and the cap allows it.
bool isa_is_usable(cpu_isa level);

/// True if AVX512-VBMI permutes bytes over a whole vector, which no level implies.
bool has_byte_permutes();
/// True if moreover the level has such vectors.
bool permutes_bytes(cpu_isa level);

/// Size of a core's second-level cache; 1 MiB if the system doesn't tell.
std::int64_t l2_cache_bytes();

} // namespace octet::impl
