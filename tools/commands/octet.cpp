// The `octet` command. What a subcommand does is in its own file; here is only how all of them start and
// fail.

#include <CLI/CLI.hpp>
#include <iostream>

#include "commands/commands.hpp"
#include "octet/octet.hpp"

namespace {

constexpr int exit_of_bad_usage = 2;

int run(CLI::App &app, int argc, char **argv) {
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty())
            throw CLI::RequiredError("A command (info, run, bench, check, explain; see --help)");
        return 0;
    } catch (const CLI::Success &help) { // --help, --version
        return app.exit(help);
    } catch (const CLI::RuntimeError &verdict) { // the command has said all
        return verdict.get_exit_code();
    } catch (const std::exception &e) {
        std::cerr << "octet: " << e.what() << '\n';
        return exit_of_bad_usage;
    }
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Octet: bit-exact int8 inference on x86", "octet");
    app.set_version_flag("--version", std::string("octet ") + octet::version());
    app.require_subcommand(0, 1); // none is found out after unknown flags
    octet::tools::add_info_command(app);
    octet::tools::add_run_command(app);
    octet::tools::add_bench_command(app);
    octet::tools::add_check_command(app);
    octet::tools::add_explain_command(app);
    return run(app, argc, argv);
}
