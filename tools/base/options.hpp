#pragma once // SPDX-License-Identifier: Apache-2.0

// Options that several subcommands have: one name, one range, one wording for each of them.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "octet/octet.hpp"

namespace octet::tools {

/// Options that say where primitives run.
struct machine_options {
    int threads = -1; ///< as the environment says
    std::string isa;  ///< highest level; empty: as the environment says
};

void add_machine_options(CLI::App &command, machine_options &options);
/// Settings of the process. Throws octet::error for a level that this machine lacks.
void apply(const machine_options &options);

/// Options of a machine for several counts of threads, which take turns: --threads 1,2.
struct bench_machine_options {
    std::vector<int> threads; ///< as given; none: as the environment says
    std::string isa;
};
void add_machine_options(CLI::App &command, bench_machine_options &options);
/// Sets the level. Returns the counts, at least one, each at least 1. Throws octet::error for one given twice, too.
std::vector<int> apply(const bench_machine_options &options);
/// The level of that name. Throws octet::error if there is none, or if this machine does not run it.
cpu_isa available_isa(const std::string &name);

/// --profile: the runtime whose bytes a .tflite network gives. Who makes the network checks it.
CLI::Option *add_profile_option(CLI::App &command, std::string &profile);
CLI::Option *add_rule_option(CLI::App &command, std::string &rule, const std::string &description);

/// Whole numbers of an interval, for CLI::Option::check.
CLI::Validator whole_number(long long low, long long high);
/// A number that is neither negative nor infinite.
CLI::Validator number_from_zero();
/// "*", or what browsers send as Origin: a scheme and a host, perhaps with a port, and nothing behind.
CLI::Validator web_origin();
/// One of some words.
CLI::Validator word_of(const std::vector<std::string> &words);
/// The words that a check allows; none if the check is another one.
std::vector<std::string> allowed_words(const CLI::Validator &check);

/// Refuses '' as the value of any option of the commands: it is a shell's variable that was not set, and an
/// option that is taken as not given may be one that protects.
void refuse_empty_values(CLI::App &app);

/// A line that says what is wrong with the arguments, and where to read on.
std::string usage_text(const CLI::ParseError &e, const CLI::App &app);

} // namespace octet::tools
