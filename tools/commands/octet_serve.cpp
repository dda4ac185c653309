// octet-serve, which `octet serve` becomes: models behind HTTP and gRPC. The server itself is serve/.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/program.hpp"
#include "commands/serve_options.hpp"
#include "core/trial.hpp"
#include "demo.hpp"
#include "octet/octet.hpp"
#include "server.hpp"

namespace {

using namespace octet;
using namespace octet::tools;

void serve_models(const serve_options &given) {
    namespace fs = std::filesystem;
    if (!given.machine.isa.empty())
        set_max_cpu_isa(available_isa(given.machine.isa));
    serve::server_options o = given.server;
    o.trial_program = "/proc/self/exe";
    if (given.is_demo)
        o.sources.push_back(serve::demo_model());
    for (const std::string &file : given.files) {
        const fs::path path = file;
        o.sources.push_back({path.stem().string(), "1", file, ""});
    }
    if (o.sources.empty() && o.models.empty())
        throw error(status::invalid_arguments,
                    "serve needs a MODEL, --models or --demo (see octet serve --help)");
    if (o.certificate.empty() != o.key.empty())
        throw error(status::invalid_arguments, "--tls-certificate and --tls-key belong together");
    if (!o.client_authority.empty() && o.certificate.empty())
        throw error(status::invalid_arguments, "--tls-client-ca needs --tls-certificate");
    using ms = std::chrono::milliseconds;
    o.load = ms(given.load);
    o.is_explicit = given.model_control == "explicit";
    o.poll = ms(given.poll);
    o.idle = ms(given.idle);
    o.receive = ms(given.receive);
    o.leave = ms(given.leave);
    o.most_drain = ms(given.drain);
    o.most_body_bytes = static_cast<std::size_t>(given.body_mib) << 20;
    o.most_total_bytes = static_cast<std::size_t>(given.total_mib) << 20;
    o.most_connections = static_cast<std::size_t>(given.connections);
    std::string greeting;
    if (given.is_demo && o.http != "off")
        greeting = serve::demo_greeting((o.certificate.empty() ? "http://" : "-k https://") + o.http);
    const int code = serve::server::run(o, greeting);
    if (code != 0)
        throw CLI::RuntimeError(code);
}

} // namespace

int main(int argc, char **argv) {
    if (argc > 1 && std::string(argv[1]) == serve::trial_option)
        return serve::run_trial(argc - 2, argv + 2);
    CLI::App app("Octet: bit-exact int8 inference on x86", "octet");
    app.formatter(std::make_shared<help_formatter>());
    app.set_version_flag("--version", std::string("octet ") + octet::version());
    add_serve_command(app, serve_models);
    // The same words, whether it was started by its name or became it.
    std::string program = "octet", command = "serve";
    std::vector<char *> arguments{program.data(), command.data()};
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    arguments.push_back(nullptr);
    return run_program(app, argc + 1, arguments.data());
}
