#include "jit/base/cpu_features.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include <xbyak/xbyak_util.h>

#include "common/machine.hpp"

namespace octet::impl::jit {

namespace {

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

} // namespace

// Xbyak reports a feature only where the system saves the registers that go with it.
unsigned detect_cpu_features() {
    if (!can_run_generated_code())
        return 0;
    using cpu = Xbyak::util::Cpu;
    struct {
        cpu_feature::bits feature;
        cpu::Type needs;
    } const features[] = {
        {cpu_feature::avx2, cpu::tAVX2 | cpu::tFMA | cpu::tF16C},
        {cpu_feature::avx_vnni, cpu::tAVX_VNNI},
        {cpu_feature::avx512_core, cpu::tAVX512F | cpu::tAVX512DQ | cpu::tAVX512BW | cpu::tAVX512VL},
        {cpu_feature::avx512_vnni, cpu::tAVX512_VNNI},
        {cpu_feature::avx512_vbmi, cpu::tAVX512_VBMI},
    };
    const cpu here;
    unsigned has = 0;
    for (const auto &f : features)
        if (here.has(f.needs))
            has |= f.feature;
    return has;
}

} // namespace octet::impl::jit
