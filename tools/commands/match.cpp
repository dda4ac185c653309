// octet match: which contracts a device has, by its outputs for inputs that Octet proposes.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/options.hpp"
#include "commands/commands.hpp"
#include "commands/match_files.hpp"
#include "match/finder.hpp"
#include "match/registry.hpp"

namespace octet::tools {
namespace {

struct match_options {
    std::string subject, inputs = ".", outputs, next;
    int propose = 0;
    bool registry = false, json = false;
};

bool is_model(const std::string &path) {
    const auto ends_with = [&](const std::string &end) {
        return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    };
    return ends_with(".tflite") || ends_with(".onnx");
}

match::subject subject_of(const std::string &path) {
    if (is_model(path))
        return match::make_subject(path);
    const std::vector<std::uint8_t> file = read_file(path);
    return match::make_subject(match::parse_description({file.begin(), file.end()}, path));
}

void propose(const match_options &options, const match::subject &s) {
    const match::inputs chosen = match::propose(s, static_cast<std::size_t>(options.propose));
    make_directory(options.inputs);
    const std::vector<std::string> files = write_inputs(chosen, options.inputs);
    const std::size_t results = match::row_count(chosen) * s.outputs_per_row();
    memory::dims dims = s.dst_row;
    dims.insert(dims.begin(), static_cast<dim_t>(match::row_count(chosen)));
    if (options.json)
        return print({{"files", files},
                      {"results", results},
                      {"output", {{"type", to_string(s.dst)}, {"dims", dims}}}});
    for (const std::string &file : files)
        std::cout << "wrote " << file << '\n';
    std::cout << "the device's output for them is " << to_string(s.dst) << ' ' << model::to_text(dims)
              << ": octet match " << options.subject << " --inputs " << options.inputs << " --outputs FILE\n";
}

void judge(const match_options &options, const match::subject &s) {
    const match::inputs given = read_inputs(s, options.inputs);
    const match::verdict v = match::judge(s, given, read_values(options.outputs));
    std::vector<std::string> files;
    if (!options.next.empty() && match::row_count(v.separating) > 0) {
        make_directory(options.next);
        files = write_inputs(v.separating, options.next);
    }
    if (options.json) {
        json object = json::parse(match::to_json_text(v, s));
        object["files"] = files;
        print(object);
    } else {
        std::cout << match::to_text(v, s);
        for (const std::string &file : files)
            std::cout << "wrote " << file << '\n';
    }
    if (v.consistent.empty())
        throw CLI::RuntimeError(1);
}

void run(const match_options &options) {
    if (options.json)
        reserve_standard_output();
    if (options.registry) {
        std::cout << match::registry_page();
        return;
    }
    if (options.subject.empty())
        throw CLI::RequiredError("DESCRIPTION");
    if ((options.propose > 0) == !options.outputs.empty())
        throw CLI::RequiredError("either --propose or --outputs");
    const match::subject s = subject_of(options.subject);
    if (options.propose > 0)
        propose(options, s);
    else
        judge(options, s);
}

} // namespace

void add_match_command(CLI::App &app) {
    const auto options = std::make_shared<match_options>();
    CLI::App *command = app.add_subcommand("match", "Name the contract of a device by its outputs");
    command
        ->add_option("DESCRIPTION", options->subject,
                     "The operator: a JSON file (doc/match.md), or a .tflite or .onnx file with one operator")
        ->type_name("");
    command
        ->add_option("--propose", options->propose,
                     "Write inputs for N results, chosen where contracts differ, to the folder of --inputs")
        ->type_name("N")
        ->check(whole_number(16, 1024));
    command->add_option("--inputs", options->inputs, "Folder of the inputs, NAME.npy each")
        ->type_name("DIR")
        ->capture_default_str();
    command->add_option("--outputs", options->outputs, "What the device computed for them, a .npy file")
        ->type_name("FILE");
    command
        ->add_option("--next", options->next,
                     "With --outputs: folder for inputs that separate the contracts that remain")
        ->type_name("DIR");
    CLI::Option *registry = command->add_flag(
        "--registry", options->registry,
        "Print the tables of doc/contracts.md instead: formulas, and how often contracts differ");
    add_json_option(*command, options->json);
    for (const char *other : {"DESCRIPTION", "--propose", "--inputs", "--outputs", "--next", "--json"})
        registry->excludes(command->get_option(other));
    command->footer(
        "Exit code 0: some contract is consistent; 1: none is; 2: the request or a file is wrong.");
    command->callback([options] { run(*options); });
}

} // namespace octet::tools
