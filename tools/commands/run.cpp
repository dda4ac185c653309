// octet run: executes a network on raw tensors, and shows where the time goes.
//
// What can be wrong is found before the first run: the network and its inputs are read, then the files for
// results are opened, then it runs. The first run gives the outputs and warms up; the runs after it are
// timed. So outputs don't depend on the number of runs, even of networks with a state.

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>

#include "check/check.hpp"
#include "commands/commands.hpp"
#include "commands/files.hpp"
#include "commands/options.hpp"
#include "commands/print.hpp"
#include "commands/run_profile.hpp"
#include "commands/tensor_file.hpp"
#include "commands/tensor_text.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

constexpr int max_count = 1'000'000; ///< of runs and images: rules out slips of the finger

struct run_options {
    std::string model, output_dir, rule = "automatic", trace;
    std::vector<std::string> inputs;
    machine_options machine;
    int repeat = 0, batch = 0;
    bool check = false, no_fusion = false;
};

/// From the files, or pseudo-random; says which.
std::string fill_inputs(const network &net, const run_options &options) {
    const std::vector<int> &inputs = net.get_graph().inputs;
    if (options.inputs.empty()) {
        for (const int t : inputs)
            fill_pseudo_random(net.get_memory(t));
        return "pseudo-random values, the same in every run (no --input given)";
    }
    if (options.inputs.size() != inputs.size())
        throw error(status::invalid_arguments, "--input: " + std::to_string(options.inputs.size()) +
                                                   " files given, the inputs of " + options.model + " are " +
                                                   std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); i++)
        read_tensor_file(options.inputs[i], net.get_memory(inputs[i]),
                         tensor_text(net.get_graph(), inputs[i]));
    return "from " + std::to_string(inputs.size()) + (inputs.size() == 1 ? " file" : " files");
}

/// The goldens of a network: the models.json beside it, where `octet check` looks for them too.
std::string goldens_of(const std::string &model) {
    const std::filesystem::path goldens = std::filesystem::path(model).parent_path() / "models.json";
    std::error_code ignored;
    if (!std::filesystem::exists(goldens, ignored))
        throw error(status::invalid_arguments,
                    "--check needs " + goldens.string() + ", which does not exist");
    return goldens.string();
}

/// All files for results, open before the first run.
struct result_files {
    std::vector<output_file> outputs;
    std::optional<output_file> trace;
};

result_files open_files(const network &net, const run_options &options) {
    result_files files;
    if (!options.output_dir.empty()) {
        make_directory(options.output_dir);
        for (std::size_t i = 0; i < net.output_count(); i++)
            files.outputs.emplace_back(
                (std::filesystem::path(options.output_dir) / ("output_" + std::to_string(i) + ".bin"))
                    .string());
    }
    if (!options.trace.empty())
        files.trace.emplace(options.trace);
    return files;
}

/// Writes the outputs to their files, and tells them in words.
std::string take_outputs(const network &net, std::vector<output_file> &files) {
    std::string text;
    for (std::size_t i = 0; i < net.output_count(); i++) {
        const int t = net.get_graph().outputs[i];
        const memory m = net.get_memory(t);
        text += "\noutput " + tensor_text(net.get_graph(), t) + '\n' +
                summary(net.get_graph().tensors[static_cast<std::size_t>(t)], m);
        if (i < files.size())
            files[i].write(m.map_data<char>(), m.get_desc().get_size());
    }
    for (const output_file &file : files)
        text += "wrote " + file.path() + '\n';
    return text;
}

/// `repeat` runs; 0: as many as a second holds, at least one.
run_profile time_runs(network &net, int repeat) {
    constexpr int most_by_default = 100;
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::seconds(1);
    const auto is_enough = [&](int runs) {
        return repeat > 0 ? runs == repeat : runs == most_by_default || (runs > 0 && clock::now() >= end);
    };
    const progress_line progress;
    run_profile profile(net);
    for (int r = 0; !is_enough(r); r++) {
        profile.begin_run();
        net.run([&](std::size_t node, double seconds) { profile.add(node, seconds); });
        progress.show("run " + std::to_string(r + 1) + (repeat > 0 ? " of " + std::to_string(repeat) : ""));
    }
    return profile;
}

void run(const run_options &options) {
    const std::string goldens = options.check ? goldens_of(options.model) : "";
    apply(options.machine);
    const requantization_rule rule = requantization_rule_from_string(options.rule.c_str());
    network net(options.model, {rule, !options.no_fusion, options.batch});
    const std::string source = fill_inputs(net, options);
    result_files files = open_files(net, options);

    const int threads = get_num_threads();
    std::cout << options.model << ": " << net.get_graph().nodes.size() << " nodes, rule " << options.rule
              << ", " << threads << (threads == 1 ? " thread, " : " threads, ")
              << to_string(get_effective_cpu_isa()) << "\ninput: " << source << '\n';
    flush_standard_output();
    net.run();
    const std::string outputs = take_outputs(net, files.outputs);
    const run_profile profile = time_runs(net, options.repeat);

    std::cout << profile.runs_text() << '\n' << profile.nodes_text();
    if (files.trace) {
        files.trace->write(profile.trace());
        std::cout << '\n'
                  << profile.operators_text() << "\nwrote " << files.trace->path()
                  << ", a trace for chrome://tracing or ui.perfetto.dev\n";
    }
    std::cout << outputs;
    if (options.check) {
        check::options only;
        only.op = std::filesystem::path(options.model).stem().string();
        std::cout << "\ngoldens of " << goldens << '\n';
        if (!check::check_file(goldens, only, std::cout))
            throw CLI::RuntimeError(1);
    }
}

} // namespace

void add_run_command(CLI::App &app) {
    const auto options = std::make_shared<run_options>();
    CLI::App *command =
        app.add_subcommand("run", "Run an int8 network: raw tensors in and out, time per layer");
    command->add_option("MODEL", options->model, "A .tflite or .onnx file")->required()->type_name("");
    command
        ->add_option(
            "--input", options->inputs,
            "Raw tensors (little-endian, row-major), one file per input; without it numbers are made up")
        ->type_name("FILE");
    command
        ->add_option(
            "--output-dir", options->output_dir,
            "Write the outputs there as output_0.bin, output_1.bin, …; the directory is made if need be")
        ->type_name("DIR");
    command
        ->add_option("--repeat", options->repeat,
                     "Timed runs after a first one, which warms up and gives the outputs; by default as many "
                     "as one second holds, at most 100")
        ->type_name("N")
        ->check(whole_number(1, max_count));
    add_rule_option(*command, options->rule, "Requantization rule of the accumulating operators");
    command->add_option("--batch", options->batch, "Number of images at once, instead of the file's")
        ->type_name("N")
        ->check(whole_number(1, max_count));
    command->add_flag("--no-fusion", options->no_fusion,
                      "Run every operator by itself; joining them changes no output");
    command
        ->add_option("--profile", options->trace,
                     "Also show time per operator, and write all times as a Chrome trace to this file, by "
                     "default octet_profile.json")
        ->type_name("[FILE]")
        ->expected(0, 1)
        ->default_str("octet_profile.json");
    add_machine_options(*command, options->machine);
    command->add_flag("--check", options->check,
                      "Also compare every operator with the models.json beside the model");
    command->footer("Times are milliseconds: minimum, median and percentiles of the timed runs. P90 is the "
                    "shortest that 90 %\nof the runs do not exceed.");
    command->callback([options] { run(*options); });
}

} // namespace octet::tools
