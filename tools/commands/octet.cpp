// The `octet` command. What a subcommand does is in its own file.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/program.hpp"
#include "commands/serve_options.hpp"
#include "octet/octet.hpp"

namespace {

/// The server is a program of its own: its libraries would make every command start later. `arguments` begin
/// with the word "serve", whose place the program's name takes, as `ps` shows it. Returns if the program is
/// not there.
void become_server(char **arguments) {
    char name[] = "octet-serve";
    std::error_code ignored;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename(name);
    char *const word = std::exchange(arguments[0], name);
    execv(beside.c_str(), arguments);
    arguments[0] = word;
}

} // namespace

int main(int argc, char **argv) {
    using namespace octet::tools;
    if (argc > 1 && std::string(argv[1]) == "serve")
        become_server(argv + 1);
    CLI::App app("Octet: bit-exact int8 inference on x86", "octet");
    app.formatter(std::make_shared<help_formatter>());
    app.set_version_flag("--version", std::string("octet ") + octet::version());
    app.require_subcommand(0, 1); // none is found out after unknown flags
    add_info_command(app);
    add_inspect_command(app);
    add_run_command(app);
    add_save_command(app);
    add_serve_command(app, [](const serve_options &) {
        throw octet::error(
            octet::status::unimplemented,
            "serve: octet-serve is not beside this command; it is built where nghttp2, Boost, OpenSSL and "
            "prometheus-cpp are");
    });
    add_bench_command(app);
    add_check_command(app);
    add_profiles_command(app);
    add_explain_command(app);
    add_match_command(app);
    add_match_network_command(app);
    add_compare_profiles_command(app);
    add_verify_command(app);
    add_preload_command(app);
    add_onnxruntime_command(app);
    add_completion_command(app);
    app.footer("octet COMMAND --help shows the options of a command.\n"
               "Exit codes: 0 success; 1 a comparison found a difference (check, run --against, bench "
               "--compare, match,\n"
               "match-network); 2 the request or a file is wrong, or results cannot be written: one line on "
               "stderr says why.");
    return run_program(app, argc, argv);
}
