#include "jit/base/cpu_features.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include <xbyak/xbyak_util.h>

#include "common/machine.hpp"
#include "jit/base/code_memory.hpp"

namespace octet::impl::jit {

namespace {

/// Whether what was written may become executable, as kernels do, which hardened systems can forbid.
bool can_run_generated_code() {
    constexpr std::uint8_t ret = 0xc3;
    try {
        return make_executable(&ret, sizeof ret, false) != nullptr;
    } catch (const Xbyak::Error &) {
        return false;
    }
}

/// Eight tile registers of 16 rows of 64 bytes, as all CPUs have them so far.
bool has_usual_tile_registers() {
    constexpr unsigned palettes = 0x1d, usual = 1;
    unsigned registers[4];
    Xbyak::util::Cpu::getCpuidEx(palettes, 0, registers);
    if (registers[0] < usual)
        return false;
    Xbyak::util::Cpu::getCpuidEx(palettes, usual, registers);
    const unsigned row_bytes = registers[1] & 0xffff, count = registers[1] >> 16,
                   rows = registers[2] & 0xffff;
    return row_bytes == 64 && count == 8 && rows == 16;
}

/// Whether this process may use tile registers. Linux saves their 8 KiB only for processes that ask.
bool may_use_tile_registers() {
    constexpr std::uint64_t tile_configuration = 1 << 17, tile_data = 1 << 18; // of XCR0
    constexpr long arch_req_xcomp_perm = 0x1023, tile_data_feature = 18;
    using cpu = Xbyak::util::Cpu;
    const bool are_saved =
        (~cpu::getXfeature() & (tile_configuration | tile_data)) == 0; // by some process of the system
    return are_saved && syscall(SYS_arch_prctl, arch_req_xcomp_perm, tile_data_feature) == 0;
}

} // namespace

// Xbyak reports a feature only where the system saves the registers that go with it, tile registers excepted.
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
        {cpu_feature::avx_vnni_int8, cpu::tAVX_VNNI_INT8},
    };
    const cpu here;
    unsigned has = 0;
    for (const auto &f : features)
        if (here.has(f.needs))
            has |= f.feature;
    if (here.has(cpu::tOSXSAVE | cpu::tAMX_TILE | cpu::tAMX_INT8) && has_usual_tile_registers() &&
        may_use_tile_registers())
        has |= cpu_feature::amx_int8;
    return has;
}

} // namespace octet::impl::jit
