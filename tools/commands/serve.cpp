// octet serve: models behind HTTP and gRPC. The server itself is serve/; here are its options.

#include <iostream>

#include <CLI/CLI.hpp>

#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "octet/octet.hpp"

#ifdef OCTET_HAVE_SERVE
#include <filesystem>

#include "demo.hpp"
#include "server.hpp"
#endif

namespace octet::tools {

#ifdef OCTET_HAVE_SERVE
namespace {

constexpr long long day_ms = 86'400'000;

struct serve_options {
    serve::server_options server;
    std::vector<std::string> files;
    bool is_demo = false;
    long long poll = 5000, idle = 60'000, receive = 30'000, leave = 0, drain = 30'000, body_mib = 64,
              total_mib = 1024, connections = 1024;
    machine_options machine;
};

void serve_models(const serve_options &given) {
    namespace fs = std::filesystem;
    if (!given.machine.isa.empty())
        set_max_cpu_isa(available_isa(given.machine.isa));
    serve::server_options o = given.server;
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
    using ms = std::chrono::milliseconds;
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

void add_limits(CLI::App &command, serve_options &o) {
    const auto number = [&](const char *name, long long &value, long long low, long long high,
                            const char *what) {
        command.add_option(name, value, what)
            ->type_name("N")
            ->capture_default_str()
            ->check(whole_number(low, high));
    };
    number("--max-connections", o.connections, 1, 100'000, "Open connections of HTTP");
    number("--max-body-mib", o.body_mib, 1, 4095, "Bytes of one request");
    number("--max-receiving-mib", o.total_mib, 1, 1'000'000, "Bytes of all requests that are being received");
    number("--idle-ms", o.idle, 10, day_ms, "Time that a connection may be open without a request");
    number("--receive-ms", o.receive, 10, day_ms,
           "Time that a client may take to send a request, or to take a reply");
    number("--leave-ms", o.leave, 0, day_ms,
           "After SIGTERM: time to be not ready but serve on, while balancers notice");
    number("--drain-ms", o.drain, 0, day_ms, "Then: time to finish what was accepted");
    number("--poll-ms", o.poll, 0, day_ms, "Time between looks at the folder of models; 0: on SIGHUP only");
}

} // namespace

void add_serve_command(CLI::App &app) {
    const auto options = std::make_shared<serve_options>();
    serve::server_options &s = options->server;
    CLI::App *command =
        app.add_subcommand("serve", "Serve models by the Open Inference Protocol: HTTP and gRPC");
    command->add_option("MODEL", options->files, "Files to serve, under their names without the ending")
        ->type_name("");
    command->add_option("--models", s.models, "Folder of models: NAME/VERSION/model.tflite, .onnx or .octet")
        ->type_name("DIR");
    command->add_flag("--demo", options->is_demo, "Serve the digits network, and print how to ask it");
    command->add_option("--http", s.http, "Address and port of HTTP, or off")
        ->type_name("ADDRESS")
        ->capture_default_str();
    command->add_option("--grpc", s.grpc, "Address and port of gRPC, or off")
        ->type_name("ADDRESS")
        ->capture_default_str();
    command->add_option("--metrics", s.metrics, "Address and port of Prometheus' metrics, or off")
        ->type_name("ADDRESS")
        ->capture_default_str();
    command->add_option("--workers", s.workers, "Batches that run at once; 0: one on each CPU")
        ->type_name("N")
        ->capture_default_str()
        ->check(whole_number(0, 256));
    command->add_option("--io-threads", s.io_threads, "Threads that read and write; 0: one for two workers")
        ->type_name("N")
        ->capture_default_str()
        ->check(whole_number(0, 256));
    command->add_flag("--pin", s.is_pinned, "Keep each worker on a CPU of its own");
    command->add_option("--isa", options->machine.isa, "Highest instruction set, as of octet run")
        ->type_name("LEVEL");
    command->add_option("--tls-certificate", s.certificate, "Certificate chain in PEM: HTTPS")
        ->type_name("FILE");
    command->add_option("--tls-key", s.key, "Its private key in PEM")->type_name("FILE");
    command
        ->add_option("--token-file", s.token_file,
                     "Its first line is a bearer token that requests must carry")
        ->type_name("FILE");
    command->add_option("--access-log", s.access_log, "A JSON object per request; - is standard output")
        ->type_name("FILE");
    command->add_flag("--allow-repository-changes", s.may_change_models,
                      "Let clients load and unload models");
    command->add_flag("--profile", s.may_profile, "Let requests ask for times per operator");
    add_limits(*command, *options);
    command->callback([options, command] {
        if (options->is_demo) // what was not asked for stays on this machine
            for (const auto &[name, address] :
                 {std::pair("--http", &options->server.http), std::pair("--grpc", &options->server.grpc),
                  std::pair("--metrics", &options->server.metrics)})
                if (command->count(name) == 0)
                    address->replace(0, address->rfind(':'), "127.0.0.1");
        serve_models(*options);
    });
}

#else

void add_serve_command(CLI::App &app) {
    CLI::App *command = app.add_subcommand("serve", "Serve models (not in this build)");
    command->allow_extras();
    command->callback([] {
        throw error(status::unimplemented,
                    "serve: this command was built without gRPC, Boost, OpenSSL, prometheus-cpp or spdlog");
    });
}

#endif

} // namespace octet::tools
