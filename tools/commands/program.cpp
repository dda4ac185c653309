// How every program of ours starts and ends: nothing runs if its results could not be printed, and whatever
// goes wrong is one line on stderr.
// SPDX-License-Identifier: Apache-2.0
#include "commands/program.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>
#include <unistd.h>

#include "base/files.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "commands/help.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

constexpr int exit_of_bad_request = 2;

int complain(const std::string &sentence) {
    std::cerr << inked("octet:", ink::bad, STDERR_FILENO) << ' ' << one_line(sentence, 10'000) << '\n';
    return exit_of_bad_request;
}

/// "info, inspect or run"
std::string command_names(const CLI::App &app) {
    const std::vector<const CLI::App *> commands = app.get_subcommands([](const CLI::App *) { return true; });
    std::string names;
    for (const CLI::App *command : commands)
        names += (names.empty() ? "" : command == commands.back() ? " or " : ", ") + command->get_name();
    return names;
}

int execute(CLI::App &app, int argc, char **argv) {
    try {
        refuse_empty_values(app);
        app.parse(argc, argv);
        if (app.get_subcommands().empty())
            throw CLI::RequiredError("a command (" + command_names(app) + ")");
        return 0;
    } catch (const CLI::Success &help) { // --help, --version
        return app.exit(help);
    } catch (const CLI::RuntimeError &verdict) { // the command has said all
        return verdict.get_exit_code();
    } catch (const CLI::ParseError &e) {
        return complain(usage_text(e, app));
    }
}

} // namespace

int run_program(CLI::App &app, int argc, char **argv) {
    try {
        require_standard_output();
        const int exit_code = execute(app, argc, argv);
        flush_standard_output();
        return exit_code;
    } catch (const octet::error &e) {
        return complain(e.what());
    } catch (const std::bad_alloc &) {
        return complain("not enough memory");
    } catch (const std::exception &e) {
        return complain(std::string("unexpected failure, please report it: ") + e.what());
    }
}

} // namespace octet::tools
