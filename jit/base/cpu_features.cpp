// Reads cpuid, and tries whether generated code can run at all. The system is asked for tile registers when
// they are wanted.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/cpu_features.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

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

/// Words of CPUID that name features. Xbyak's Cpu reads the topology, too: 0.1 ms in a virtual machine, whose host
/// answers each CPUID.
enum word { leaf_1_ecx, leaf_7_ebx, leaf_7_ecx, leaf_7_edx, leaf_7_1_eax, leaf_7_1_edx, words };

struct flag {
    word where;
    int bit;
};

constexpr flag fma{leaf_1_ecx, 12}, osxsave{leaf_1_ecx, 27}, f16c{leaf_1_ecx, 29}, avx2{leaf_7_ebx, 5},
    avx512f{leaf_7_ebx, 16}, avx512dq{leaf_7_ebx, 17}, avx512bw{leaf_7_ebx, 30}, avx512vl{leaf_7_ebx, 31},
    avx512_vbmi{leaf_7_ecx, 1}, avx512_vnni{leaf_7_ecx, 11}, amx_tile{leaf_7_edx, 24},
    amx_int8{leaf_7_edx, 25}, avx_vnni{leaf_7_1_eax, 4}, avx_vnni_int8{leaf_7_1_edx, 4};

/// Registers that the system saves, of XCR0.
constexpr std::uint64_t ymm_state = 0x6, zmm_state = 0xe6, tile_state = 0x60000;

class cpu_flags {
public:
    cpu_flags() {
        constexpr unsigned eax = 0, ebx = 1, ecx = 2, edx = 3;
        unsigned last_leaf[4], found[4];
        cpu::getCpuid(0, last_leaf);
        cpu::getCpuid(1, found);
        words_[leaf_1_ecx] = found[ecx];
        if (last_leaf[eax] < 7)
            return;
        cpu::getCpuidEx(7, 0, found);
        words_[leaf_7_ebx] = found[ebx];
        words_[leaf_7_ecx] = found[ecx];
        words_[leaf_7_edx] = found[edx];
        if (found[eax] < 1)
            return;
        cpu::getCpuidEx(7, 1, found);
        words_[leaf_7_1_eax] = found[eax];
        words_[leaf_7_1_edx] = found[edx];
    }

    bool has(const std::vector<flag> &flags) const {
        return std::all_of(flags.begin(), flags.end(),
                           [&](flag f) { return (words_[f.where] >> f.bit & 1) != 0; });
    }

    /// Whether the system saves these registers; tile registers only those of some processes.
    bool saves(std::uint64_t state) const { return has({osxsave}) && (~cpu::getXfeature() & state) == 0; }

private:
    using cpu = Xbyak::util::Cpu;
    unsigned words_[words] = {};
};

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

} // namespace

int ask_for_tile_registers() {
    constexpr long arch_req_xcomp_perm = 0x1023, tile_data_feature = 18;
    return syscall(SYS_arch_prctl, arch_req_xcomp_perm, tile_data_feature) == 0 ? 0 : errno;
}

unsigned detect_cpu_features() {
    if (!can_run_generated_code())
        return 0;
    struct {
        cpu_feature::bits feature;
        std::vector<flag> needs;
        std::uint64_t state;
    } const features[] = {
        {cpu_feature::avx2, {avx2, fma, f16c}, ymm_state},
        {cpu_feature::avx_vnni, {avx_vnni}, ymm_state},
        {cpu_feature::avx512_core, {avx512f, avx512dq, avx512bw, avx512vl}, zmm_state},
        {cpu_feature::avx512_vnni, {avx512_vnni}, zmm_state},
        {cpu_feature::avx512_vbmi, {avx512_vbmi}, zmm_state},
        {cpu_feature::avx_vnni_int8, {avx_vnni_int8}, ymm_state},
    };
    const cpu_flags here;
    unsigned has = 0;
    for (const auto &f : features)
        if (here.has(f.needs) && here.saves(f.state))
            has |= f.feature;
    if (here.has({amx_tile, amx_int8}) && here.saves(tile_state) && has_usual_tile_registers())
        has |= cpu_feature::amx_int8;
    return has;
}

} // namespace octet::impl::jit
