// The level in use is the best one of the machine below the cap, which comes from the environment or from the program.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/machine/isa.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/environment.hpp"
#include "common/first_use.hpp"
#include "common/text.hpp"
#include "cpu/machine/parallel.hpp"
#include "jit/base/cpu_features.hpp"

namespace octet {

namespace impl {
namespace {

std::atomic<unsigned> &machine_features() {
    static std::atomic<unsigned> features{jit::detect_cpu_features()};
    return features;
}

/// The features that the machine lacks and that are only claimed for tests.
std::atomic<unsigned> nominal_features{0};

std::atomic<bool> pretends_tiles{false}, ignores_gap_of_tiles{false};

/// The system's error; asked at the first call.
int tile_refusal() {
    static first_use<int> failure;
    return failure.get(jit::ask_for_tile_registers);
}

/// The level whose code stands for this one: itself, but for levels that are there by name alone.
cpu_isa executable_level(cpu_isa level) {
    while (facts_of(level).needs & nominal_features)
        level = static_cast<cpu_isa>(static_cast<int>(level) - 1);
    return level;
}

std::string isa_names() {
    std::string names;
    for (const isa_facts &level : isa_table)
        names += (names.empty() ? "" : ", ") + std::string(level.name);
    return names;
}

cpu_isa cap_from_environment() {
    const char *value = std::getenv("OCTET_MAX_CPU_ISA");
    if (!value)
        return cpu_isa::all;
    try {
        return cpu_isa_from_string(value);
    } catch (const error &) {
        report_ignored("OCTET_MAX_CPU_ISA", value, isa_names().c_str());
        return cpu_isa::all;
    }
}

std::atomic<cpu_isa> &cap() {
    static std::atomic<cpu_isa> level{cap_from_environment()};
    return level;
}

/// Tile registers have a price, so that only those are asked for them who may use the level.
bool machine_has(const isa_facts &level) {
    if ((machine_features() & level.needs) != level.needs)
        return false;
    return !level.has_amx || level.level > cap().load() || tile_refusal() == 0 || pretends_tiles;
}

/// Size of a core's second-level cache; 1 MiB if the system doesn't tell.
std::int64_t l2_cache_bytes() {
    static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? bytes : 1 << 20;
}

} // namespace

void pretend_cpu_features(unsigned features) {
    machine_features() |= features;
    pretends_tiles = pretends_tiles || (features & cpu_feature::amx_int8) != 0;
}

void pretend_every_level() {
    for (const isa_facts &level : isa_table) {
        nominal_features |= level.needs & ~machine_features();
        machine_features() |= level.needs;
    }
    pretends_tiles = pretends_tiles || (nominal_features & cpu_feature::amx_int8) != 0;
}

void ignore_gap_of_tiles(bool ignore) { ignores_gap_of_tiles = ignore; }
bool is_gap_of_tiles_ignored() { return ignores_gap_of_tiles; }

bool isa_is_usable(cpu_isa level) { return level <= cap().load() && machine_has(facts_of(level)); }

machine machine_at(cpu_isa level) {
    return {instruction_set_of(executable_level(level), machine_features()), l2_cache_bytes(),
            get_num_threads(), fork_cycles()};
}

machine machine_in_use() { return machine_at(get_effective_cpu_isa()); }

} // namespace impl

inline namespace v0 {

const char *to_string(cpu_isa level) { return impl::is_isa(level) ? impl::facts_of(level).name : "unknown"; }

cpu_isa cpu_isa_from_string(const std::string &name) {
    for (const impl::isa_facts &level : impl::isa_table)
        if (name == level.name)
            return level.level;
    impl::throw_invalid("ISA level '", name, "', allowed: ", impl::isa_names());
}

std::vector<cpu_isa> get_available_cpu_isas() {
    std::vector<cpu_isa> levels;
    for (const impl::isa_facts &level : impl::isa_table)
        if (impl::machine_has(level))
            levels.push_back(level.level);
    return levels;
}

cpu_isa get_machine_cpu_isa() { return get_available_cpu_isas().back(); }

std::string get_cpu_isa_refusal() {
    for (const impl::isa_facts &level : impl::isa_table)
        if (level.has_amx && level.level <= impl::cap() &&
            (impl::machine_features() & level.needs) == level.needs && !impl::machine_has(level))
            return impl::text(
                level.name, ": the processor has tile registers, which the system refuses to this process: ",
                std::strerror(impl::tile_refusal()));
    return {};
}

cpu_isa get_effective_cpu_isa() {
    cpu_isa effective = impl::isa_table[0].level;
    for (const impl::isa_facts &level : impl::isa_table)
        if (impl::isa_is_usable(level.level))
            effective = level.level;
    return effective;
}

void set_max_cpu_isa(cpu_isa level) {
    if (!impl::is_isa(level))
        impl::throw_invalid("set_max_cpu_isa: level is ", static_cast<int>(level),
                            ", allowed: ", impl::isa_names());
    impl::cap() = level;
}

} // namespace v0
} // namespace octet
