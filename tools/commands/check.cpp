// octet check FILE: replays vectors and reports whether Octet makes the same bytes.

#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "check/check.hpp"
#include "commands/commands.hpp"

namespace octet::tools {

void add_check_command(CLI::App &app) {
    struct arguments {
        std::string file, impl;
        check::options opt;
    };
    const auto args = std::make_shared<arguments>();
    CLI::App &command =
        *app.add_subcommand("check", "replay operator vectors, check values or network goldens");
    command.add_option("FILE", args->file, "JSON file; the kind is recognised by its content")->required();
    command.add_option("--op", args->opt.op, "replay only this operator, rule or network");
    command.add_option("--isa", args->opt.isa,
                       "highest ISA level to use: ref, avx2, avx_vnni, avx512_core, avx512_vnni");
    command
        .add_option("--impl", args->impl,
                    "run only on such implementations: ref or jit; others count as failed")
        ->check(CLI::IsMember({"ref", "jit"}));
    command.add_flag("--verbose", args->opt.verbose, "one line per case, with the implementation it ran on");
    command.footer("Exit code 0: nothing failed; 1: some case failed; 2: the file cannot be replayed.");
    command.callback([args] {
        if (!args->impl.empty())
            args->opt.impl = args->impl == "ref" ? check::implementation::ref : check::implementation::jit;
        args->opt.show_progress = isatty(STDERR_FILENO) != 0;
        if (!check::check_file(args->file, args->opt, std::cout))
            throw CLI::RuntimeError(1);
    });
}

} // namespace octet::tools
