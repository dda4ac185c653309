// octet run: executes a network on raw tensors, and shows where the time goes.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "check/check.hpp"
#include "commands/commands.hpp"
#include "commands/print.hpp"
#include "commands/run_profile.hpp"
#include "commands/tensor_file.hpp"
#include "commands/tensor_text.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"

namespace octet::tools {
namespace {

struct run_options {
    std::string model, output_dir, rule = "automatic", trace;
    std::vector<std::string> inputs;
    int repeat = 1, threads = 0, batch = 0;
    bool check = false, no_fusion = false;
};

constexpr int max_count = 1'000'000; ///< of runs, threads, images: rules out slips of the finger

/// From the files, or pseudo-random; says which.
std::string fill_inputs(const network &net, const run_options &options) {
    const std::vector<int> &inputs = net.get_graph().inputs;
    if (options.inputs.empty()) {
        for (const int t : inputs)
            fill_pseudo_random(net.get_memory(t));
        return "pseudo-random values, the same in every run (no --input given)";
    }
    if (options.inputs.size() != inputs.size())
        throw error(status::invalid_arguments, "--input names " + std::to_string(options.inputs.size()) +
                                                   " files, the inputs of " + options.model + " are " +
                                                   std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); i++)
        read_tensor_file(options.inputs[i], net.get_memory(inputs[i]),
                         tensor_text(net.get_graph(), inputs[i]));
    return "from " + std::to_string(inputs.size()) + (inputs.size() == 1 ? " file" : " files");
}

run_profile run_repeatedly(network &net, int repeat) {
    run_profile profile(net);
    const bool shows_progress = repeat > 1 && isatty(STDERR_FILENO) != 0;
    for (int r = 0; r < repeat; r++) {
        profile.begin_run();
        net.run([&](std::size_t node, double seconds) { profile.add(node, seconds); });
        if (shows_progress)
            std::cerr << "\rrun " << r + 1 << " of " << repeat << (r + 1 == repeat ? "\n" : "");
    }
    return profile;
}

void print_outputs(const network &net) {
    for (const int t : net.get_graph().outputs)
        std::cout << "\noutput " << tensor_text(net.get_graph(), t) << '\n'
                  << summary(net.get_graph().tensors[static_cast<std::size_t>(t)], net.get_memory(t));
}

void write_outputs(const network &net, const std::string &directory) {
    const std::vector<int> &outputs = net.get_graph().outputs;
    for (std::size_t i = 0; i < outputs.size(); i++) {
        const std::string path =
            (std::filesystem::path(directory) / ("output_" + std::to_string(i) + ".bin")).string();
        write_tensor_file(path, net.get_memory(outputs[i]));
        std::cout << "wrote " << path << '\n';
    }
}

/// The goldens of this network in the models.json beside it, where `octet check` looks for them too.
void check_goldens(const run_options &options) {
    const std::filesystem::path model(options.model), goldens = model.parent_path() / "models.json";
    if (!std::filesystem::exists(goldens))
        throw error(status::invalid_arguments,
                    "--check needs " + goldens.string() + ", which does not exist");
    check::options only;
    only.op = model.stem().string();
    std::cout << "\ngoldens of " << goldens.string() << '\n';
    if (!check::check_file(goldens.string(), only, std::cout))
        throw CLI::RuntimeError(1);
}

void run(const run_options &options) {
    if (!options.output_dir.empty() && !std::filesystem::is_directory(options.output_dir))
        throw error(status::invalid_arguments,
                    "--output-dir: '" + options.output_dir + "' is not a directory");
    if (options.threads > 0)
        set_num_threads(options.threads);
    const requantization_rule rule = requantization_rule_from_string(options.rule.c_str());
    network net(options.model, {rule, !options.no_fusion, options.batch});
    const std::string source = fill_inputs(net, options);
    std::cout << options.model << ": " << net.get_graph().nodes.size() << " nodes, rule " << options.rule
              << ", " << get_num_threads() << " threads, " << to_string(get_effective_cpu_isa())
              << "\ninput: " << source << '\n';
    const run_profile profile = run_repeatedly(net, options.repeat);
    if (options.repeat > 1)
        std::cout << "times: median of " << options.repeat << " runs\n";
    std::cout << '\n' << profile.nodes_text();
    if (!options.trace.empty()) {
        std::cout << '\n' << profile.operators_text();
        profile.write_trace(options.trace);
        std::cout << "\nwrote " << options.trace << ", a trace for chrome://tracing or ui.perfetto.dev\n";
    }
    print_outputs(net);
    if (!options.output_dir.empty())
        write_outputs(net, options.output_dir);
    if (options.check)
        check_goldens(options);
}

} // namespace

void add_run_command(CLI::App &app) {
    const auto options = std::make_shared<run_options>();
    CLI::App *command =
        app.add_subcommand("run", "Run an int8 network: raw tensors in and out, time per layer");
    command->add_option("model", options->model, "A .tflite or .onnx file")->required();
    command->add_option("--input", options->inputs,
                        "Raw tensors (little-endian, row-major), one file per input");
    command->add_option("--output-dir", options->output_dir,
                        "Write the outputs there as output_0.bin, output_1.bin, …");
    command->add_option("--repeat", options->repeat, "Number of runs; times are medians")
        ->check(CLI::Range(1, max_count));
    command->add_option("--rule", options->rule,
                        "Requantization rule of the accumulating operators: " + rule_names());
    command->add_option("--batch", options->batch, "Number of images at once, instead of the file's")
        ->check(CLI::Range(1, max_count));
    command->add_flag("--no-fusion", options->no_fusion,
                      "Run every operator by itself; joining them changes no output");
    command
        ->add_option("--profile", options->trace,
                     "Also show time per operator, and write all times as a Chrome trace to this file "
                     "[octet_profile.json]")
        ->expected(0, 1)
        ->default_str("octet_profile.json");
    command->add_option("--threads", options->threads, "Number of threads")->check(CLI::Range(1, max_count));
    command->add_flag("--check", options->check,
                      "Also compare every operator with the models.json beside the model");
    command->callback([options] { run(*options); });
}

} // namespace octet::tools
