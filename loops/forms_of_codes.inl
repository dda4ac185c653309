// Compiles the file OCTET_FORM once for each instruction set that loops over 8-bit codes differ by, as
// forms_of_floats.inl does.
// SPDX-License-Identifier: Apache-2.0

namespace for_every_cpu {
#define OCTET_TARGET
using vec = plain_codes;
using narrow = plain_codes;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace for_every_cpu

#if defined(__x86_64__)
namespace with_avx2 {
#define OCTET_TARGET __attribute__((target("avx2,fma")))
using vec = avx2_codes;
using narrow = avx2_narrow_codes;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace with_avx2

namespace with_avx_vnni {
#define OCTET_TARGET __attribute__((target("avx2,fma,avxvnni")))
using vec = avx_vnni_codes;
using narrow = avx_vnni_codes;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace with_avx_vnni

namespace with_avx512_vnni {
#define OCTET_TARGET __attribute__((target("avx512f,avx512bw,avx512vnni")))
using vec = avx512_codes;
using narrow = avx512_codes;
#include OCTET_FORM
#undef OCTET_TARGET
} // namespace with_avx512_vnni

inline auto code_in_use() {
    return fastest<decltype(&for_every_cpu::code)>({{cpu_isa::ref, &for_every_cpu::code},
                                                    {cpu_isa::avx2, &with_avx2::code},
                                                    {cpu_isa::avx_vnni, &with_avx_vnni::code},
                                                    {cpu_isa::avx512_vnni, &with_avx512_vnni::code}});
}
#else
inline auto code_in_use() { return &for_every_cpu::code; }
#endif
