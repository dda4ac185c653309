#pragma once // SPDX-License-Identifier: Apache-2.0

// Instruction sets that tests of generated code run over.

#include <algorithm>
#include <vector>

#include "cpu/machine/isa.hpp"

namespace octet::impl {

/// Every level with generated code, also those that this machine lacks: for plans, and names of tests.
inline std::vector<cpu_isa> generated_levels() {
    std::vector<cpu_isa> levels;
    for (const isa_facts &level : isa_table)
        if (level.level != cpu_isa::ref)
            levels.push_back(level.level);
    return levels;
}

/// Every level, without and with permutes of bytes where vectors can have them, and products of signed bytes.
inline std::vector<instruction_set> all_instruction_sets() {
    std::vector<instruction_set> sets;
    for (const cpu_isa level : generated_levels()) {
        sets.push_back({level});
        if (instruction_set_of(level, cpu_feature::avx512_vbmi).byte_permutes)
            sets.push_back({level, true});
        if (instruction_set_of(level, cpu_feature::avx_vnni_int8).signed_dot4)
            sets.push_back({level, false, true});
    }
    return sets;
}

/// The instruction sets that this machine can run.
inline std::vector<instruction_set> usable_instruction_sets() {
    const std::vector<cpu_isa> available = get_available_cpu_isas();
    std::vector<instruction_set> sets;
    for (const instruction_set isa : all_instruction_sets())
        if (std::find(available.begin(), available.end(), isa.level) != available.end() &&
            machine_at(isa.level).isa.level == isa.level && // else it is there by name alone
            (!isa.byte_permutes || machine_at(isa.level).isa.byte_permutes) &&
            (!isa.signed_dot4 || machine_at(isa.level).isa.signed_dot4))
            sets.push_back(isa);
    return sets;
}

} // namespace octet::impl
