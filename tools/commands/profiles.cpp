// octet profiles: the runtimes whose bytes networks can give, and what each does with every operator.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/commands.hpp"
#include "octet/profile.hpp"

namespace octet::tools {
namespace {

struct profiles_options {
    std::string name, op;
    bool json = false;
};

json to_json(const profile &p) {
    json entries = json::array();
    for (const profile_entry &e : p.entries)
        entries.push_back({{"operator", e.op},
                           {"condition", e.condition},
                           {"kernel", e.kernel},
                           {"rule", e.rule ? json(to_string(*e.rule)) : json()},
                           {"arithmetic", e.arithmetic},
                           {"derivation", e.derivation},
                           {"source", e.source}});
    return {{"name", p.name}, {"framework", p.framework}, {"summary", p.summary}, {"entries", entries}};
}

void print_list() {
    table t({{"profile"}, {"networks"}, {"what"}});
    for (const profile &p : all_profiles())
        t.add({p.name, p.framework.empty() ? "-" : p.framework, p.summary});
    std::cout << t.text();
}

void print_profile(const profile &p, const std::string &op) {
    std::cout << p.name << ": " << p.summary << '\n';
    bool has_op = false;
    for (const profile_entry &e : p.entries) {
        if (!op.empty() && e.op != op)
            continue;
        has_op = true;
        std::cout << '\n' << e.op << (e.condition.empty() ? "" : ", " + e.condition) << '\n';
        std::cout << "  kernel      " << e.kernel << " (" << e.source << ")\n";
        if (e.rule)
            std::cout << "  rule        " << to_string(*e.rule) << '\n';
        std::cout << "  arithmetic  " << e.arithmetic << '\n';
        if (!e.derivation.empty())
            std::cout << "  multiplier  " << e.derivation << '\n';
    }
    if (!has_op && !op.empty())
        throw error(status::invalid_arguments, "profile " + p.name + " says nothing of operator '" + op +
                                                   "'; without --op all of it is shown");
}

void profiles(const profiles_options &options) {
    if (options.json)
        reserve_standard_output();
    if (options.name.empty() && options.json) {
        json all = json::array();
        for (const profile &p : all_profiles())
            all.push_back(to_json(p));
        print(all);
    } else if (options.name.empty()) {
        print_list();
    } else if (options.json) {
        print(to_json(find_profile(options.name)));
    } else {
        print_profile(find_profile(options.name), options.op);
    }
}

} // namespace

void add_profiles_command(CLI::App &app) {
    const auto options = std::make_shared<profiles_options>();
    CLI::App *command =
        app.add_subcommand("profiles", "List the runtimes whose bytes a .tflite model can give");
    command->add_option("NAME", options->name, "Only this one, with every operator")->type_name("");
    command->add_option("--op", options->op, "Only this operator of it")->type_name("OPERATOR");
    add_json_option(*command, options->json);
    command->callback([options] { profiles(*options); });
}

} // namespace octet::tools
