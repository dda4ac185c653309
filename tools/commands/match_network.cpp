// octet match-network: under which runtime or rule a whole network gives the tensors of a device.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/json.hpp"
#include "base/options.hpp"
#include "commands/commands.hpp"
#include "commands/match_files.hpp"
#include "commands/network_file.hpp"
#include "match/networks.hpp"

namespace octet::tools {
namespace {

struct match_network_options {
    network_file_options net;
    std::string outputs;
    machine_options machine;
    bool json = false;
};

match::values numbered(const std::string &directory, const std::string &kind, std::size_t number) {
    return read_values(directory + '/' + kind + '_' + std::to_string(number) + ".npy");
}

/// output_N.npy of every output, tensor_INDEX.npy of those between that there are.
match::known_tensors read_tensors(const model::graph &g, const std::string &directory) {
    match::known_tensors known;
    for (std::size_t i = 0; i < g.outputs.size(); i++)
        known[g.outputs[i]] = numbered(directory, "output", i);
    for (std::size_t i = 0; i < g.tensors.size(); i++)
        if (std::filesystem::exists(directory + "/tensor_" + std::to_string(i) + ".npy"))
            known[static_cast<int>(i)] = numbered(directory, "tensor", i);
    return known;
}

json to_json(const match::network_match &m) {
    const bool has_first = !m.first.empty();
    return {{"profile", m.name},
            {"compared", m.compared},
            {"different", m.different},
            {"first", has_first ? json(m.first) : json()},
            {"refusal", m.refused.empty() ? json() : json(m.refused)},
            {"substituted", m.substituted.empty() ? json() : json(m.substituted)}};
}

void match_network(const match_network_options &options) {
    if (options.json)
        reserve_standard_output();
    if (!std::filesystem::is_directory(options.outputs))
        throw error(status::invalid_arguments, "--outputs: '" + options.outputs +
                                                   "' given, allowed: a folder with input_0.npy, …, "
                                                   "output_0.npy, …");
    apply(options.machine);
    const model::graph g = read_graph(options.net);
    require_sizes(g, options.net);
    match::inputs given;
    for (std::size_t i = 0; i < g.inputs.size(); i++)
        given.push_back(numbered(options.outputs, "input", i));
    const std::vector<match::network_match> all =
        match::match_network(g, given, read_tensors(g, options.outputs));
    const bool is_found = all.front().is_equal();
    if (options.json) {
        json object = {{"model", options.net.model}, {"equal", json::array()}, {"profiles", json::array()}};
        for (const match::network_match &m : all) {
            if (m.is_equal())
                object["equal"].push_back(m.name);
            object["profiles"].push_back(to_json(m));
        }
        print(object);
    } else {
        if (!is_found)
            std::cout << "none is equal; the nearest are first\n";
        for (const match::network_match &m : all) {
            std::cout << m.name << ": ";
            if (!m.refused.empty())
                std::cout << m.refused;
            else if (m.is_equal())
                std::cout << "equal (" << m.compared << " elements)";
            else
                std::cout << m.different << " of " << m.compared << " elements differ; " << m.first;
            if (!m.substituted.empty())
                std::cout << "; with a substitute: " << m.substituted;
            std::cout << '\n';
        }
    }
    if (!is_found)
        throw CLI::RuntimeError(1);
}

} // namespace

void add_match_network_command(CLI::App &app) {
    const auto options = std::make_shared<match_network_options>();
    CLI::App *command = app.add_subcommand(
        "match-network", "Name the runtime of a network by the tensors that a device computed");
    command->add_option("MODEL", options->net.model, "A .tflite or .onnx file")->required()->type_name("");
    command->add_option("--batch", options->net.batch, "First dimension of the inputs, instead of the file's")
        ->type_name("N")
        ->check(whole_number(1, 1'000'000));
    command
        ->add_option("--outputs", options->outputs,
                     "What the device was given and computed: input_0.npy, …, output_0.npy, …, and, to find "
                     "the first operator that "
                     "differs, tensor_INDEX.npy with the numbers of octet inspect")
        ->required()
        ->type_name("DIR");
    add_machine_options(*command, options->machine);
    add_json_option(*command, options->json);
    command->footer("Exit code 0: some runtime or rule gives every element; 1: none does; 2: the request or "
                    "a file is wrong.");
    command->callback([options] { match_network(*options); });
}

} // namespace octet::tools
