// octet check FILE: replays vectors and reports whether Octet makes the same bytes.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/json.hpp"
#include "base/options.hpp"
#include "check/check.hpp"
#include "commands/commands.hpp"
#include "octet/profile.hpp"

namespace octet::tools {

void add_check_command(CLI::App &app) {
    struct arguments {
        std::string file, impl;
        machine_options machine;
        vectors::options opt;
        bool is_json = false;
    };
    const auto args = std::make_shared<arguments>();
    CLI::App &command = *app.add_subcommand("check", "Replay test vectors, check values or golden networks");
    command.add_option("FILE", args->file, "JSON file; the kind is recognised by its content")
        ->required()
        ->type_name("");
    command.add_option("--op", args->opt.op, "Replay only this operator, rule or network")->type_name("NAME");
    command
        .add_option("--impl", args->impl,
                    "Run only on such implementations, ref or jit; others count as failed")
        ->type_name("KIND")
        ->check(word_of({"ref", "jit"}));
    add_profile_option(command, args->opt.profile);
    add_machine_options(command, args->machine);
    add_json_option(command, args->is_json);
    command.add_flag("--verbose", args->opt.verbose, "One line per case, with the implementation it ran on");
    command.footer("Exit code 0: nothing failed; 1: some case failed; 2: the file cannot be replayed.");
    command.callback([args] {
        if (!args->impl.empty())
            args->opt.impl =
                args->impl == "ref" ? vectors::implementation::ref : vectors::implementation::jit;
        args->opt.show_progress = isatty(STDERR_FILENO) != 0;
        apply(args->machine);
        if (!args->opt.profile.empty())
            find_profile(args->opt.profile);
        json object;
        if (args->is_json)
            reserve_standard_output();
        const bool is_good =
            vectors::check_file(args->file, args->opt, std::cout, args->is_json ? &object : nullptr);
        if (args->is_json)
            print(object);
        if (!is_good)
            throw CLI::RuntimeError(1);
    });
}

} // namespace octet::tools
