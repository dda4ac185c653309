// The `octet` command. What a subcommand does is in its own file; here is only how all of them start and
// end: nothing runs if its results could not be printed, and whatever goes wrong is one line on stderr.

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>

#include "commands/commands.hpp"
#include "commands/files.hpp"
#include "commands/help.hpp"
#include "commands/options.hpp"
#include "commands/print.hpp"
#include "octet/octet.hpp"

namespace {

using namespace octet::tools;

constexpr int exit_of_bad_request = 2;

int complain(const std::string &sentence) {
    std::cerr << "octet: " << one_line(sentence, 10'000) << '\n';
    return exit_of_bad_request;
}

int execute(CLI::App &app, int argc, char **argv) {
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty())
            throw CLI::RequiredError(
                "a command (info, inspect, run, save, serve, bench, check, explain, preload or completion)");
        return 0;
    } catch (const CLI::Success &help) { // --help, --version
        return app.exit(help);
    } catch (const CLI::RuntimeError &verdict) { // the command has said all
        return verdict.get_exit_code();
    } catch (const CLI::ParseError &e) {
        return complain(usage_text(e, app));
    }
}

int run(CLI::App &app, int argc, char **argv) {
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

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Octet: bit-exact int8 inference on x86", "octet");
    app.formatter(std::make_shared<help_formatter>());
    app.set_version_flag("--version", std::string("octet ") + octet::version());
    app.require_subcommand(0, 1); // none is found out after unknown flags
    add_info_command(app);
    add_inspect_command(app);
    add_run_command(app);
    add_save_command(app);
    add_serve_command(app);
    add_bench_command(app);
    add_check_command(app);
    add_explain_command(app);
    add_preload_command(app);
    add_completion_command(app);
    app.footer("octet COMMAND --help shows the options of a command.\n"
               "Exit codes: 0 success; 1 check or run --against found a difference; 2 the request or a file "
               "is wrong,\n"
               "or results cannot be written: one line on stderr says why.");
    return run(app, argc, argv);
}
