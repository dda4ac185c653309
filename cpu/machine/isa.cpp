#include "cpu/machine/isa.hpp"

#include <cpuid.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/environment.hpp"
#include "common/text.hpp"

namespace octet {

namespace impl {
namespace {

struct cpuid_leaf {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    cpuid_leaf(unsigned leaf, unsigned subleaf) { __get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx); }
};
bool bit(unsigned word, int n) { return word >> n & 1; }

/// Register state that the operating system saves (XCR0): bits 1, 2 for ymm; 5, 6, 7 for zmm and masks.
std::uint64_t enabled_state() {
    std::uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

struct features {
    bool avx2 = false, avx_vnni = false, avx512_core = false, avx512_vnni = false, avx512_vbmi = false;
};

/// Whether memory that was written may become executable, which hardened systems can forbid.
bool can_run_generated_code() {
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    *static_cast<unsigned char *>(page) = 0xc3; // ret
    const bool can = mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
    munmap(page, bytes);
    return can;
}

features detect() {
    features f;
    if (!can_run_generated_code())
        return f;
    const cpuid_leaf basic(1, 0), extended(7, 0), extended1(7, 1);
    const bool osxsave = bit(basic.ecx, 27), fma = bit(basic.ecx, 12);
    if (!osxsave || !bit(basic.ecx, 28))
        return f;
    const std::uint64_t state = enabled_state();
    f.avx2 = (state & 0x6) == 0x6 && fma && bit(extended.ebx, 5);
    f.avx_vnni = f.avx2 && bit(extended1.eax, 4);
    const bool f_dq_bw_vl =
        bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 30) && bit(extended.ebx, 31);
    f.avx512_core = f.avx2 && (state & 0xe6) == 0xe6 && f_dq_bw_vl;
    f.avx512_vnni = f.avx512_core && bit(extended.ecx, 11);
    f.avx512_vbmi = f.avx512_core && bit(extended.ecx, 1);
    return f;
}

const features &machine_features() {
    static const features f = detect();
    return f;
}

bool machine_has(cpu_isa level) {
    const features &f = machine_features();
    switch (level) {
    case cpu_isa::ref:
        return true;
    case cpu_isa::avx2:
        return f.avx2;
    case cpu_isa::avx_vnni:
        return f.avx_vnni;
    case cpu_isa::avx512_core:
        return f.avx512_core;
    case cpu_isa::avx512_vnni:
        return f.avx512_vnni;
    }
    return false;
}

constexpr cpu_isa all_levels[] = {cpu_isa::ref, cpu_isa::avx2, cpu_isa::avx_vnni, cpu_isa::avx512_core,
                                  cpu_isa::avx512_vnni};

cpu_isa cap_from_environment() {
    const char *value = std::getenv("OCTET_MAX_CPU_ISA");
    if (!value)
        return cpu_isa::avx512_vnni;
    try {
        return cpu_isa_from_string(value);
    } catch (const error &) {
        report_ignored("OCTET_MAX_CPU_ISA", value, "ref, avx2, avx_vnni, avx512_core, avx512_vnni");
        return cpu_isa::avx512_vnni;
    }
}

std::atomic<cpu_isa> &cap() {
    static std::atomic<cpu_isa> level{cap_from_environment()};
    return level;
}

} // namespace

bool isa_is_usable(cpu_isa level) { return level <= cap().load() && machine_has(level); }

bool has_byte_permutes() { return machine_features().avx512_vbmi; }
bool permutes_bytes(cpu_isa level) {
    return (level == cpu_isa::avx512_vnni || level == cpu_isa::avx512_core) && has_byte_permutes();
}

std::int64_t l2_cache_bytes() {
    static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? bytes : 1 << 20;
}

} // namespace impl

inline namespace v0 {

const char *to_string(cpu_isa level) {
    switch (level) {
    case cpu_isa::ref:
        return "ref";
    case cpu_isa::avx2:
        return "avx2";
    case cpu_isa::avx_vnni:
        return "avx_vnni";
    case cpu_isa::avx512_core:
        return "avx512_core";
    case cpu_isa::avx512_vnni:
        return "avx512_vnni";
    }
    return "unknown";
}

cpu_isa cpu_isa_from_string(const std::string &name) {
    for (const cpu_isa level : impl::all_levels)
        if (name == to_string(level))
            return level;
    impl::throw_invalid("ISA level '", name, "', allowed: ref, avx2, avx_vnni, avx512_core, avx512_vnni");
}

std::vector<cpu_isa> get_available_cpu_isas() {
    std::vector<cpu_isa> levels;
    for (const cpu_isa level : impl::all_levels)
        if (impl::machine_has(level))
            levels.push_back(level);
    return levels;
}

cpu_isa get_machine_cpu_isa() { return get_available_cpu_isas().back(); }

cpu_isa get_effective_cpu_isa() {
    cpu_isa effective = cpu_isa::ref;
    for (const cpu_isa level : impl::all_levels)
        if (impl::isa_is_usable(level))
            effective = level;
    return effective;
}

void set_max_cpu_isa(cpu_isa level) { impl::cap() = level; }

} // namespace v0
} // namespace octet
