// Settings of the process, in oneDNN's units.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/library/handles.hpp"
#include "onednn/names.hpp"

using namespace octet::onednn;
using octet::cpu_isa;
using octet::status;

namespace {

/// Bytes per entry of oneDNN's cache: its default of 1024 entries is Octet's default of 64 MiB.
constexpr std::size_t bytes_per_entry = std::size_t{1} << 16;

struct level {
    dnnl_cpu_isa_t isa;
    cpu_isa of_octet;
};
/// In Octet's ascending order; the first of a level is what dnnl_get_effective_cpu_isa() answers.
constexpr level levels[] = {{dnnl_cpu_isa_sse41, cpu_isa::ref},
                            {dnnl_cpu_isa_avx, cpu_isa::ref},
                            {dnnl_cpu_isa_avx2, cpu_isa::avx2},
                            {dnnl_cpu_isa_avx512_mic, cpu_isa::avx2},
                            {dnnl_cpu_isa_avx512_mic_4ops, cpu_isa::avx2},
                            {dnnl_cpu_isa_avx2_vnni, cpu_isa::avx_vnni},
                            {dnnl_cpu_isa_avx512_core, cpu_isa::avx512_core},
                            {dnnl_cpu_isa_avx512_core_vnni, cpu_isa::avx512_vnni},
                            {dnnl_cpu_isa_avx512_core_bf16, cpu_isa::avx512_vnni},
                            {dnnl_cpu_isa_avx512_core_amx, cpu_isa::avx512_amx},
                            {dnnl_cpu_isa_all, cpu_isa::all}};

dnnl_fpmath_mode_t default_mode = dnnl_fpmath_mode_strict;
dnnl_cpu_isa_hints_t hints_given = dnnl_cpu_isa_no_hints;

} // namespace

const dnnl_version_t *dnnl_version() {
    static const dnnl_version_t version{DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH,
                                        DNNL_VERSION_HASH,  DNNL_CPU_RUNTIME,   DNNL_GPU_RUNTIME};
    return &version;
}

dnnl_status_t dnnl_set_verbose(int level) {
    return guarded([&] { octet::set_verbose(level); });
}
dnnl_status_t dnnl_set_jit_dump(int enable) {
    return guarded([&] { octet::set_jit_dump(enable != 0 ? "." : ""); });
}
dnnl_status_t dnnl_set_jit_profiling_flags(unsigned flags) {
    return guarded([&] {
        if ((flags & ~DNNL_JIT_PROFILE_LINUX_PERFMAP) != 0)
            refuse(status::unimplemented,
                   "jit profiling: flags " + std::to_string(flags) +
                       ", allowed: DNNL_JIT_PROFILE_LINUX_PERFMAP, DNNL_JIT_PROFILE_NONE");
        octet::set_jit_profile(flags != 0 ? "perf" : "");
    });
}
dnnl_status_t dnnl_set_jit_profiling_jitdumpdir(const char *) {
    return guarded([&] { refuse(status::unimplemented, "jit profiling: there are no jitdump files"); });
}

dnnl_status_t dnnl_set_max_cpu_isa(dnnl_cpu_isa_t isa) {
    return guarded([&] {
        for (const level &l : levels)
            if (l.isa == isa)
                return octet::set_max_cpu_isa(l.of_octet);
        refuse(status::invalid_arguments, "cpu_isa " + std::to_string(isa) + " is none");
    });
}
dnnl_cpu_isa_t dnnl_get_effective_cpu_isa() {
    for (const level &l : levels)
        if (l.of_octet == octet::get_effective_cpu_isa())
            return l.isa;
    return dnnl_cpu_isa_all;
}
dnnl_status_t dnnl_set_cpu_isa_hints(dnnl_cpu_isa_hints_t hints) {
    hints_given = hints;
    return dnnl_success;
}
dnnl_cpu_isa_hints_t dnnl_get_cpu_isa_hints() { return hints_given; }

dnnl_status_t dnnl_get_default_fpmath_mode(dnnl_fpmath_mode_t *mode) {
    return guarded([&] { *needed(mode, "mode") = default_mode; });
}
dnnl_status_t dnnl_set_default_fpmath_mode(dnnl_fpmath_mode_t mode) {
    default_mode = mode;
    return dnnl_success;
}

dnnl_status_t dnnl_get_primitive_cache_capacity(int *capacity) {
    return guarded([&] {
        *needed(capacity, "capacity") =
            static_cast<int>(octet::get_primitive_cache_capacity() / bytes_per_entry);
    });
}
dnnl_status_t dnnl_set_primitive_cache_capacity(int capacity) {
    return guarded([&] {
        if (capacity < 0)
            refuse(status::invalid_arguments, "primitive cache: capacity " + std::to_string(capacity));
        octet::set_primitive_cache_capacity(static_cast<std::size_t>(capacity) * bytes_per_entry);
    });
}
