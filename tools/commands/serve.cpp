// The words of `octet serve`. What they start is in octet_serve.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <CLI/CLI.hpp>

#include "base/options.hpp"
#include "commands/commands.hpp"
#include "commands/serve_options.hpp"

namespace octet::tools {
namespace {

constexpr long long day_ms = 86'400'000;

void add_limits(CLI::App &command, serve_options &o) {
    const auto number = [&](const char *name, long long &value, long long low, long long high,
                            const char *what) {
        command.add_option(name, value, what)
            ->type_name("N")
            ->capture_default_str()
            ->check(whole_number(low, high));
    };
    number("--max-connections", o.connections, 1, 100'000, "Open connections, of HTTP and of gRPC");
    number("--max-body-mib", o.body_mib, 1, 4095, "Bytes of one request");
    number("--max-receiving-mib", o.total_mib, 0, 1'000'000,
           "Bytes of all requests that are being received; 0: a quarter of the memory, 1024 at most");
    number("--idle-ms", o.idle, 10, day_ms, "Time that a connection may be open without a request");
    number("--receive-ms", o.receive, 10, day_ms,
           "Time that a client may take to send a request, or to take a reply");
    number("--leave-ms", o.leave, 0, day_ms,
           "After SIGTERM: time to be not ready but serve on, while balancers notice");
    number("--drain-ms", o.drain, 0, day_ms, "Then: time to finish what was accepted");
    number("--load-ms", o.load, 10, day_ms, "Time that loading one model may take");
    number("--poll-ms", o.poll, 0, day_ms, "Time between looks at the folder of models; 0: on SIGHUP only");
}

} // namespace

void add_serve_command(CLI::App &app, const std::function<void(const serve_options &)> &serve) {
    const auto options = std::make_shared<serve_options>();
    serve::server_options &s = options->server;
    CLI::App *command =
        app.add_subcommand("serve", "Serve models by the Open Inference Protocol: HTTP and gRPC");
    command->add_option("MODEL", options->files, "Files to serve, under their names without the ending")
        ->type_name("");
    command->add_option("--models", s.models, "Folder of models: NAME/VERSION/model.tflite, .onnx or .octet")
        ->type_name("DIR");
    command->add_option("--model-name", s.model_name, "The folder is that of one model, which has this name")
        ->type_name("NAME")
        ->needs("--models");
    command
        ->add_option("--model-control", options->model_control,
                     "poll: all models of the folder; explicit: those that clients load")
        ->type_name("MODE")
        ->capture_default_str()
        ->check(word_of({"poll", "explicit"}));
    command->add_flag("--allow-empty", s.may_be_empty, "A folder that becomes empty ends its models");
    command->add_flag("--lax-readiness", s.is_lax, "Ready although some models could not be loaded");
    command->add_flag("--save-findings", s.saves_findings,
                      "Store what measuring found beside each model, for the next start");
    command->add_flag("--check", s.is_check, "Load everything, say what is wrong, and exit");
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
        ->add_option("--tls-client-ca", s.client_authority,
                     "Certificates in PEM: clients need one that these have signed")
        ->type_name("FILE");
    command->add_flag_callback(
        "--protect-metrics", [&s] { s.are_metrics_open = false; }, "Metrics need the token, too");
    command
        ->add_option("--token-file", s.token_file,
                     "Bearer tokens, one a line; a request must carry one. Names of models behind a token "
                     "limit it to them")
        ->type_name("FILE");
    command
        ->add_option("--cors-origin", s.cors_origins,
                     "Origin of web pages that may use the server, as https://example.org; *: all pages")
        ->type_name("ORIGIN")
        ->check(web_origin());
    command->add_option("--access-log", s.access_log, "A JSON object per request; - is standard output")
        ->type_name("FILE");
    command->add_flag("--allow-repository-changes", s.may_change_models,
                      "Let clients load and unload models");
    add_profile_option(*command, s.profile)
        ->description(
            "Runtime whose bytes .tflite models give (octet profiles lists them), unless their config.json "
            "names another; by default TensorFlow Lite Micro's");
    command->add_flag_callback(
        "--no-rows-alike", [&s] { s.rows_alike = false; },
        "Sum up single rows of .onnx models as ONNX Runtime does, unless their config.json says otherwise; "
        "their requests share no batches then");
    command->add_flag("--allow-profiling", s.may_profile, "Let requests ask for times per operator");
    add_limits(*command, *options);
    command->callback([options, serve] { serve(*options); });
}

} // namespace octet::tools
