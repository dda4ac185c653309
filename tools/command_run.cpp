// octet run: executes a network on raw tensors, and shows where the time goes.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "check/check.hpp"
#include "commands.hpp"
#include "model/network.hpp"
#include "print.hpp"
#include "tensor_file.hpp"
#include "tensor_text.hpp"

namespace octet::tools {
namespace {

struct run_options {
    std::string model, output_dir, rule = "automatic";
    std::vector<std::string> inputs;
    int repeat = 1, threads = 0;
    bool check = false;
};

constexpr int max_count = 1'000'000; ///< of runs, threads: rules out slips of the finger

using layer_times = std::vector<std::vector<double>>; ///< seconds of each run, per node

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// From the files, or pseudo-random; says which.
std::string fill_inputs(const model::network &net, const run_options &options) {
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

layer_times run_repeatedly(model::network &net, int repeat) {
    layer_times times(net.get_graph().nodes.size());
    const bool shows_progress = repeat > 1 && isatty(STDERR_FILENO) != 0;
    for (int r = 0; r < repeat; r++) {
        net.run([&](std::size_t node, double seconds) { times[node].push_back(seconds); });
        if (shows_progress)
            std::cerr << "\rrun " << r + 1 << " of " << repeat << (r + 1 == repeat ? "\n" : "");
    }
    return times;
}

void print_times(const model::network &net, const layer_times &times) {
    const model::graph &g = net.get_graph();
    double total = 0;
    for (const auto &layer : times)
        total += median(layer);
    using align = table::align;
    table report({{"node", align::right},
                  {"operator"},
                  {"output"},
                  {"implementation"},
                  {"ms", align::right},
                  {"share", align::right}});
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
        const double seconds = median(times[i]);
        const model::tensor &output = g.tensors[static_cast<std::size_t>(g.nodes[i].outputs[0])];
        report.add({std::to_string(i), g.nodes[i].op, model::to_text(output.dims),
                    net.get_step(i).implementation(), fixed(seconds * 1e3, 3),
                    fixed(total > 0 ? 100 * seconds / total : 0, 1) + " %"});
    }
    report.add({"", "total", "", "", fixed(total * 1e3, 3), ""});
    std::cout << '\n' << report.text();
}

void print_outputs(const model::network &net) {
    for (const int t : net.get_graph().outputs)
        std::cout << "\noutput " << tensor_text(net.get_graph(), t) << '\n'
                  << summary(net.get_graph().tensors[static_cast<std::size_t>(t)], net.get_memory(t));
}

void write_outputs(const model::network &net, const std::string &directory) {
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
    model::network net = model::load_network(options.model, {rule});
    const std::string source = fill_inputs(net, options);
    std::cout << options.model << ": " << net.get_graph().nodes.size() << " nodes, rule " << options.rule
              << ", " << get_num_threads() << " threads, " << to_string(get_effective_cpu_isa())
              << "\ninput: " << source << '\n';
    const layer_times times = run_repeatedly(net, options.repeat);
    if (options.repeat > 1)
        std::cout << "times: median of " << options.repeat << " runs\n";
    print_times(net, times);
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
    command->add_option("model", options->model, "A .tflite file")->required();
    command->add_option("--input", options->inputs,
                        "Raw tensors (little-endian, row-major), one file per input");
    command->add_option("--output-dir", options->output_dir,
                        "Write the outputs there as output_0.bin, output_1.bin, …");
    command->add_option("--repeat", options->repeat, "Number of runs; times are medians")
        ->check(CLI::Range(1, max_count));
    command->add_option("--rule", options->rule,
                        "Requantization rule of the accumulating operators: " + rule_names());
    command->add_option("--threads", options->threads, "Number of threads")->check(CLI::Range(1, max_count));
    command->add_flag("--check", options->check,
                      "Also compare every operator with the models.json beside the model");
    command->callback([options] { run(*options); });
}

} // namespace octet::tools
