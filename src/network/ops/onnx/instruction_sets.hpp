#pragma once // SPDX-License-Identifier: Apache-2.0

// Which vectors the loops of operators may use: those that the CPU has, up to the level that is set (octet/settings.hpp).

#include "octet/settings.hpp"

namespace octet::model {

inline bool has_avx2() { return get_effective_cpu_isa() >= cpu_isa::avx2; } ///< and fma
/// The levels above do not imply it.
inline bool has_avx_vnni() { return get_effective_cpu_isa() == cpu_isa::avx_vnni; }
inline bool has_avx512() { return get_effective_cpu_isa() >= cpu_isa::avx512_core; }
inline bool has_avx512_vnni() { return get_effective_cpu_isa() >= cpu_isa::avx512_vnni; }

} // namespace octet::model
