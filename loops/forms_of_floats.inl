// Compiles the file OCTET_FORM once for each instruction set that loops over floats differ by, in namespaces
// of its own: OCTET_TARGET is the set's attribute, `vec` its vectors. The file ends with the functions that
// are called, as `code`; code_in_use() points to those of the level in use.
// SPDX-License-Identifier: Apache-2.0

namespace for_every_cpu {
#define OCTET_TARGET
using vec = plain_floats;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace for_every_cpu

#if defined(__x86_64__)
namespace with_avx2 {
#define OCTET_TARGET __attribute__((target("avx2,fma")))
using vec = avx2_floats;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace with_avx2

namespace with_avx512 {
#define OCTET_TARGET __attribute__((target("avx512f")))
using vec = avx512_floats;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace with_avx512

inline auto code_in_use() {
    return fastest<decltype(&for_every_cpu::code)>({{cpu_isa::ref, &for_every_cpu::code},
                                                    {cpu_isa::avx2, &with_avx2::code},
                                                    {cpu_isa::avx512_core, &with_avx512::code}});
}
#else
inline auto code_in_use() { return &for_every_cpu::code; }
#endif
