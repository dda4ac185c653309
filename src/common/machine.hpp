#pragma once // SPDX-License-Identifier: Apache-2.0

// The machine as the library sees it: the one table of facts about instruction-set levels, and the value
// that plans, generators and costs are given. Nothing else asks what a level is called or what the CPU is:
// a generator asks what it can use (`lanes`, `has_dot4`), so that a new level is a new line below
// (CONTRIBUTING.md says what else), and a plan is a pure function of its problem and a `machine`. Detection
// and the cap are in cpu/machine/isa.cpp.

#include <cstddef>
#include <cstdint>

#include "octet/settings.hpp"

namespace octet::impl {

/// Features of CPUs, as sets of bits. A feature is set only if the operating system saves the registers that
/// it needs.
namespace cpu_feature {
enum bits : unsigned {
    avx2 = 1,           ///< with FMA and F16C
    avx_vnni = 2,       ///< vpdpbusd, VEX encoding
    avx512_core = 4,    ///< AVX512 F, DQ, BW and VL
    avx512_vnni = 8,    ///< vpdpbusd, EVEX encoding
    avx512_vbmi = 16,   ///< vpermb, vpermi2b: bytes over a whole vector. No level implies it, because
                        ///< machines of one level differ in it: Cascade Lake has none, Ice Lake does.
    amx_int8 = 32,      ///< tile registers and their products of bytes, which the system permits
    avx_vnni_int8 = 64, ///< vpdpbssd, VEX encoding. No level implies it: some machines with AVX-VNNI have it.
};
}

struct isa_facts {
    cpu_isa level;
    const char *name;
    int lanes;      ///< 32-bit lanes of a vector; 16 come with EVEX encodings and mask registers
    int registers;  ///< vectors
    bool has_dot4;  ///< vpdpbusd; else pairs of 16-bit products, as exact
    bool has_amx;   ///< tdpbusd and its like: products of 16 rows and 16 columns in tile registers
    unsigned needs; ///< cpu_feature
};

/// In ascending order of preference, the first one without generated code.
constexpr isa_facts isa_table[] = {
    {cpu_isa::ref, "ref", 0, 0, false, false, 0},
    {cpu_isa::avx2, "avx2", 8, 16, false, false, cpu_feature::avx2},
    {cpu_isa::avx_vnni, "avx_vnni", 8, 16, true, false, cpu_feature::avx2 | cpu_feature::avx_vnni},
    {cpu_isa::avx512_core, "avx512_core", 16, 32, false, false, cpu_feature::avx2 | cpu_feature::avx512_core},
    {cpu_isa::avx512_vnni, "avx512_vnni", 16, 32, true, false,
     cpu_feature::avx2 | cpu_feature::avx512_core | cpu_feature::avx512_vnni},
    {cpu_isa::avx512_amx, "avx512_amx", 16, 32, true, true,
     cpu_feature::avx2 | cpu_feature::avx512_core | cpu_feature::avx512_vnni | cpu_feature::amx_int8},
};

constexpr std::size_t isa_count = sizeof isa_table / sizeof isa_table[0];

constexpr bool is_isa(cpu_isa level) {
    return static_cast<int>(level) >= 0 && static_cast<std::size_t>(level) < isa_count;
}
constexpr const isa_facts &facts_of(cpu_isa level) { return isa_table[static_cast<std::size_t>(level)]; }

namespace machine_checks {
constexpr bool every_level_has_its_line() {
    for (std::size_t i = 0; i < isa_count; i++)
        if (isa_table[i].level != static_cast<cpu_isa>(i))
            return false;
    return isa_table[isa_count - 1].level == cpu_isa::all;
}
/// True if all levels have the vectors that emitter can encode.
constexpr bool vectors_are_ymm_or_zmm() {
    for (std::size_t i = 1; i < isa_count; i++) {
        const isa_facts &f = isa_table[i];
        const bool is_ymm = f.lanes == 8 && f.registers == 16 && (f.needs & cpu_feature::avx2);
        const bool is_zmm = f.lanes == 16 && f.registers == 32 && (f.needs & cpu_feature::avx512_core);
        if (!is_ymm && !is_zmm)
            return false;
    }
    return true;
}
} // namespace machine_checks
static_assert(machine_checks::every_level_has_its_line());
static_assert(machine_checks::vectors_are_ymm_or_zmm());

/// The instructions that generated code may use. Two equal values give the same code, so this is a member of
/// every kernel's spec, and thus of its key.
struct instruction_set {
    cpu_isa level = cpu_isa::avx2;
    bool byte_permutes = false; ///< tables of bytes and transpositions take one instruction
    bool signed_dot4 = false;   ///< vpdpbssd: products of signed bytes need no sign bits flipped

    constexpr const char *name() const { return facts_of(level).name; }
    constexpr bool has_vectors() const { return facts_of(level).lanes > 0; } ///< runs generated code at all
    constexpr int lanes() const { return facts_of(level).lanes; }
    constexpr int vector_bytes() const { return 4 * lanes(); }
    constexpr int registers() const { return facts_of(level).registers; }
    constexpr bool has_dot4() const { return facts_of(level).has_dot4; }
    constexpr bool has_amx() const { return facts_of(level).has_amx; }
};

/// A level on a CPU with these features.
constexpr instruction_set instruction_set_of(cpu_isa level, unsigned features) {
    const isa_facts &f = facts_of(level);
    return {level, f.lanes == 16 && (features & cpu_feature::avx512_vbmi),
            f.lanes == 8 && f.has_dot4 && (features & cpu_feature::avx_vnni_int8)};
}

/// The facts about a machine that plans depend on.
struct machine {
    instruction_set isa;
    std::int64_t l2_bytes = 1 << 20; ///< size of a core's second-level cache
    int threads = 1;                 ///< number of threads that a primitive may use
    std::int64_t fork_cycles = 4096; ///< cycles that starting a loop on them costs
};

} // namespace octet::impl
