// octet info: the version, what this machine offers, and which implementation each operation gets on it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/commands.hpp"
#include "commands/reference.hpp"
#include "octet/example_problems.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct cache {
    const char *name;
    int parameter;
};
const cache caches[] = {
    {"L1d", _SC_LEVEL1_DCACHE_SIZE}, {"L2", _SC_LEVEL2_CACHE_SIZE}, {"L3", _SC_LEVEL3_CACHE_SIZE}};

std::string caches_text() {
    std::vector<std::string> texts;
    for (const cache &c : caches) {
        const long bytes = sysconf(c.parameter);
        texts.push_back(std::string(c.name) + ' ' +
                        (bytes > 0 ? bytes_text(static_cast<std::size_t>(bytes)) : "unknown"));
    }
    return list_text(texts);
}

void print_implementations() {
    const engine cpu(engine::kind::cpu, 0);
    std::cout << "\nimplementations, each for a small problem\n";
    for (const example_problem &p : example_problems()) {
        const primitive_desc pd = primitive_desc_from_string(p.problem, cpu);
        std::cout << "  " << p.name << ": " << pd.impl_info_str() << '\n';
        for (const std::string &refusal : pd.refusals())
            std::cout << "    refused by " << refusal << '\n';
    }
}

void print_info() {
    std::cout << "octet " << version() << ", numerics version " << numerics_version() << '\n'
              << "  instruction sets  " << isa_names(get_available_cpu_isas()) << "; highest "
              << to_string(get_machine_cpu_isa()) << ", used " << to_string(get_effective_cpu_isa())
              << " (OCTET_MAX_CPU_ISA)\n";
    if (const std::string refusal = get_cpu_isa_refusal(); !refusal.empty())
        std::cout << "  absent            " << refusal << '\n';
    std::cout << "  threads           " << get_num_threads() << " (OCTET_NUM_THREADS)\n"
              << "  caches            " << caches_text() << '\n'
              << "  primitive cache   " << bytes_text(get_primitive_cache_capacity())
              << " (OCTET_PRIMITIVE_CACHE_CAPACITY)\n"
              << "  verbose           " << get_verbose() << " (OCTET_VERBOSE)\n"
              << "\nrequantization rules\n";
    for (const std::string &line : wrapped(rule_names(), widest_line - 2))
        std::cout << "  " << line << '\n';
    print_implementations();
}

json info_json() {
    json levels = json::array(), rules = json::array(), sizes, implementations = json::array();
    for (const cpu_isa level : get_available_cpu_isas())
        levels.push_back(to_string(level));
    for (const requantization_rule rule : all_requantization_rules())
        rules.push_back(to_string(rule));
    for (const cache &c : caches)
        sizes[c.name] = std::max(0L, sysconf(c.parameter));
    const engine cpu(engine::kind::cpu, 0);
    for (const example_problem &p : example_problems()) {
        const primitive_desc pd = primitive_desc_from_string(p.problem, cpu);
        implementations.push_back(
            {{"operation", p.name}, {"implementation", pd.impl_info_str()}, {"refusals", pd.refusals()}});
    }
    return {{"version", version()},
            {"numerics_version", numerics_version()},
            {"isas", levels},
            {"machine_isa", to_string(get_machine_cpu_isa())},
            {"isa", to_string(get_effective_cpu_isa())},
            {"absent_isa", get_cpu_isa_refusal()},
            {"threads", get_num_threads()},
            {"cache_bytes", sizes},
            {"primitive_cache_bytes", get_primitive_cache_capacity()},
            {"verbose", get_verbose()},
            {"rules", rules},
            {"implementations", implementations}};
}

struct info_options {
    machine_options machine;
    bool reference = false, json = false;
};

void info(const info_options &options) {
    if (options.json)
        reserve_standard_output();
    apply(options.machine);
    if (options.json)
        print(options.reference ? reference_json() : info_json());
    else
        options.reference ? print_reference() : print_info();
}

} // namespace

void add_info_command(CLI::App &app) {
    CLI::App *command =
        app.add_subcommand("info", "Print version, instruction sets, threads, caches and implementations");
    const auto options = std::make_shared<info_options>();
    command->add_flag(
        "--reference", options->reference,
        "Instead: problems that are left for the reference implementation, and who refused them why");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->callback([options] { info(*options); });
}

} // namespace octet::tools
