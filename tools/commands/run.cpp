// octet run: executes a network on files of tensors or images, and shows where the time goes.
//
// Errors are found before the work: the file is read, then the inputs and what to compare with, then the
// files for results are opened; only then the network is made and runs. The first run gives the outputs and
// warms up; the runs after it are timed. So outputs don't depend on the number of runs, even of networks with
// a state.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/options.hpp"
#include "base/print.hpp"
#include "base/tensor_text.hpp"
#include "check/check.hpp"
#include "commands/commands.hpp"
#include "commands/network_file.hpp"
#include "commands/run_inputs.hpp"
#include "commands/run_outputs.hpp"
#include "commands/run_profile.hpp"
#include "octet/network.hpp"
#include "octet/octet.hpp"
#include "storage/replacement.hpp"

namespace octet::tools {
namespace {

constexpr int max_count = 1'000'000; ///< bound of --runs: rules out slips of the finger

struct run_options {
    network_file_options net;
    std::string output_dir, format = "raw", against, trace;
    input_options inputs;
    machine_options machine;
    float tolerance = 0;
    int repeat = 0;
    bool check = false, json = false;
};

/// The goldens of a network: the models.json beside it, where `octet check` looks for them too.
std::string goldens_of(const std::string &model) {
    const std::filesystem::path goldens = std::filesystem::path(model).parent_path() / "models.json";
    std::error_code ignored;
    if (!std::filesystem::exists(goldens, ignored))
        throw error(status::invalid_arguments,
                    "--check needs " + goldens.string() + ", which does not exist");
    return goldens.string();
}

/// The results of a run, beside the times.
struct run_results {
    std::string outputs;             ///< each in words
    std::vector<difference> against; ///< per output, with --against
    bool are_equal() const {
        return std::all_of(against.begin(), against.end(),
                           [](const difference &d) { return d.different == 0; });
    }
};

run_results take_outputs(const network &net, const run_options &options,
                         const std::optional<expected_outputs> &expected) {
    run_results results;
    for (std::size_t i = 0; i < net.output_count(); i++) {
        const int t = net.get_graph().outputs[i];
        results.outputs += "\noutput " + tensor_text(net.get_graph(), t) + '\n' +
                           summary(net.get_graph().tensors[static_cast<std::size_t>(t)], net.get_memory(t));
        if (!expected)
            continue;
        results.against.push_back(expected->compare(net, i, options.tolerance));
        results.outputs += "  against " + options.against + ": " +
                           to_text(results.against.back(), net.output(i).dims()) + '\n';
    }
    return results;
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

void print_head(const network &net, const run_inputs &inputs, const run_options &options) {
    const int threads = get_num_threads();
    std::cout << options.net.model << ": " << net.get_graph().nodes.size() << " nodes, " << arithmetic_of(net)
              << ", " << threads << (threads == 1 ? " thread, " : " threads, ")
              << to_string(get_effective_cpu_isa()) << '\n';
    if (inputs.is_made_up())
        std::cout << "input: pseudo-random values, the same in every run (no --input given)\n";
    else
        for (std::size_t i = 0; i < net.input_count(); i++)
            std::cout << "input " << net.input(i).text() << ": " << inputs.source(i) << '\n';
    flush_standard_output();
}

void print_results(const run_profile &profile, const run_results &results, const std::string &trace,
                   const std::vector<std::string> &written) {
    std::cout << profile.runs_text() << '\n' << profile.nodes_text();
    if (!trace.empty())
        std::cout << '\n'
                  << profile.operators_text() << "\nwrote " << trace
                  << ", a trace for chrome://tracing or ui.perfetto.dev\n";
    std::cout << results.outputs;
    for (const std::string &path : written)
        std::cout << "wrote " << path << '\n';
}

json results_json(const network &net, const run_inputs &inputs, const run_profile &profile,
                  const run_results &results, const std::vector<std::string> &written,
                  const run_options &options) {
    const model::graph &g = net.get_graph();
    json object = {{"model", options.net.model},
                   {"rule", to_string(net.options().rule)},
                   {"profile", net.options().profile},
                   {"threads", get_num_threads()},
                   {"isa", to_string(get_effective_cpu_isa())},
                   {"inputs", json::array()},
                   {"outputs", json::array()},
                   {"files", written}};
    for (std::size_t i = 0; i < g.inputs.size(); i++) {
        object["inputs"].push_back(to_json(g, g.inputs[i]));
        object["inputs"].back()["source"] = inputs.is_made_up() ? json() : json(inputs.source(i));
    }
    for (std::size_t i = 0; i < g.outputs.size(); i++) {
        json output = to_json(g, g.outputs[i]);
        if (i < results.against.size())
            output["against"] = to_json(results.against[i]);
        object["outputs"].push_back(std::move(output));
    }
    if (!results.against.empty())
        object["equal"] = results.are_equal();
    object.update(profile.to_json());
    return object;
}

void run(const run_options &options) {
    const std::string goldens = options.check ? goldens_of(options.net.model) : "";
    apply(options.machine);
    if (options.json)
        reserve_standard_output();
    model::graph g = read_graph(options.net);
    set_open_sizes(g, sizes_of_arrays(g, options.inputs), options.net);
    require_sizes(g, options.net);
    const run_inputs inputs(g, options.net.model, options.inputs);
    std::optional<expected_outputs> expected;
    std::optional<output_files> files;
    if (!options.against.empty())
        expected.emplace(g, options.against);
    if (!options.output_dir.empty())
        files.emplace(g, options.output_dir, options.format);
    if (!options.trace.empty())
        storage::require_replaceable(options.trace);

    network net = make_network(std::move(g), options.net);
    inputs.write_to(net);
    if (!options.json)
        print_head(net, inputs, options);
    net.run();
    if (files)
        files->write(net);
    const run_results results = take_outputs(net, options, expected);
    const run_profile profile = time_runs(net, options.repeat);
    if (!options.trace.empty()) {
        const std::string trace = profile.trace();
        storage::replace_file(options.trace, trace.data(), trace.size());
    }

    const std::vector<std::string> written = files ? files->paths() : std::vector<std::string>();
    json object;
    if (options.json)
        object = results_json(net, inputs, profile, results, written, options);
    else
        print_results(profile, results, options.trace, written);
    bool is_good = results.are_equal();
    if (options.check) {
        vectors::options only;
        only.op = std::filesystem::path(options.net.model).stem().string();
        if (!options.json)
            std::cout << "\ngoldens of " << goldens << '\n';
        is_good &= vectors::check_file(goldens, only, std::cout, options.json ? &object["check"] : nullptr);
    }
    if (options.json)
        print(object);
    if (!is_good)
        throw CLI::RuntimeError(1);
}

/// --trace was called --profile before there were runtimes of that name: a path is still understood.
void move_old_trace_option(run_options &options) {
    std::string &given = options.net.profile;
    const bool is_path = given.find('/') != std::string::npos ||
                         (given.size() >= 5 && given.compare(given.size() - 5, 5, ".json") == 0);
    if (is_path && options.trace.empty())
        std::swap(given, options.trace);
}

} // namespace

void add_run_command(CLI::App &app) {
    const auto options = std::make_shared<run_options>();
    CLI::App *command =
        app.add_subcommand("run", "Run a model on arrays or images; compare its outputs; time each operator");
    add_network_options(*command, options->net);
    command->get_option("MODEL")->required();
    add_input_options(*command, options->inputs);
    command
        ->add_option(
            "--output-dir", options->output_dir,
            "Write the outputs there as output_0.bin, output_1.bin, …; the directory is made if need be")
        ->type_name("DIR");
    command
        ->add_option("--format", options->format,
                     "Of the outputs: raw, npy (output_0.npy, …) or npz (outputs.npz, an array per name)")
        ->type_name("KIND")
        ->capture_default_str()
        ->check(word_of({"raw", "npy", "npz"}))
        ->needs("--output-dir");
    command
        ->add_option(
            "--against", options->against,
            "Compare the outputs with those of another framework: an .npz file with arrays of their "
            "names, a directory as --output-dir makes it, or a file for an only output; exit code 1 if "
            "they differ")
        ->type_name("PATH");
    command
        ->add_option(
            "--tolerance", options->tolerance,
            "Floats are equal to others up to this times max(1, |the other|); by default bit for bit")
        ->type_name("NUMBER")
        ->check(number_from_zero())
        ->needs("--against");
    command
        ->add_option("--repeat", options->repeat,
                     "Timed runs after a first one, which warms up and gives the outputs; by default as many "
                     "as one second holds, at most 100")
        ->type_name("N")
        ->check(whole_number(1, max_count));
    command
        ->add_option("--trace", options->trace,
                     "Also show time per operator, and write all times as a Chrome trace to this file, by "
                     "default octet_profile.json")
        ->type_name("[FILE]")
        ->expected(0, 1)
        ->default_str("octet_profile.json");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->add_flag("--check", options->check,
                      "Also compare every operator with the models.json beside the model");
    command->footer("Times are milliseconds: minimum, median and percentiles of the timed runs. P90 is the "
                    "shortest that 90 %\nof the runs do not exceed.");
    command->callback([options] {
        move_old_trace_option(*options);
        run(*options);
    });
}

} // namespace octet::tools
