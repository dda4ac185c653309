#pragma once

#include <cstdint>

#include "octet/settings.hpp"

namespace octet::impl {

/// True if the machine has the level and the cap allows it.
bool isa_is_usable(cpu_isa level);

/// AVX512_VBMI: permutes of bytes. No level implies it; it comes with avx512_core only.
bool has_byte_permutes();

/// Size of a core's second-level cache; 1 MiB if the system doesn't tell.
std::int64_t l2_cache_bytes();

} // namespace octet::impl
